import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { PermissionOption, PermissionRequestEvent, QuestionEvent } from "../../../plugin-sdk/events.ts";
import type { SessionHandle } from "../../sessions/host/session-host.ts";
import { cleanLine } from "../../ground/log/terminal-text.ts";
import type { Questions } from "./questions.ts";
import { shortInput } from "./render/short-json.ts";

// Policy resolves a request in the very next event; the wait keeps such requests from being asked.
const policyHeadStartMs = 100;

/** Puts an agent's permission requests and questions to the person at the terminal, and the answers to the session. */
export class AgentQuestions {
  readonly #session: Pick<SessionHandle, "answer">;
  readonly #questions: Questions;
  readonly #open = new Map<string, AbortController>();
  /** Tools that the person has allowed for the rest of the session. */
  readonly #always = new Set<string>();

  constructor(session: Pick<SessionHandle, "answer">, questions: Questions) {
    this.#session = session;
    this.#questions = questions;
  }

  /** Notes an event. Returns at once. */
  see(event: Envelope["event"]): void {
    if (event.type === "permission_resolved") this.#close(event.request_id);
    else if (event.type === "permission_request") this.#later(event, (signal) => this.#askPermission(event, signal));
    else if (event.type === "question") this.#later(event, (signal) => this.#askQuestion(event, signal));
  }

  /** Withdraws all open questions. */
  close(): void {
    for (const requestId of [...this.#open.keys()]) this.#close(requestId);
  }

  #close(requestId: string): void {
    this.#open.get(requestId)?.abort();
    this.#open.delete(requestId);
  }

  #later({ request_id }: { request_id: string }, ask: (signal: AbortSignal) => Promise<string | null>): void {
    const controller = new AbortController();
    const { signal } = controller;
    this.#open.set(request_id, controller);
    const timer = setTimeout(async () => {
      const answer = await ask(signal);
      // A request that was answered elsewhere meanwhile needs no answer.
      if (answer !== null && !signal.aborted) await this.#session.answer(request_id, answer).catch(() => false);
    }, policyHeadStartMs);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }

  async #askPermission(event: PermissionRequestEvent, signal: AbortSignal): Promise<string | null> {
    const { tool, title, input, options } = event;
    const plain = plainAnswers(options);
    if (plain !== null && this.#always.has(tool)) return plain.once;
    const about = input === undefined ? "" : `\n  ${shortInput(input)}`;
    const question = `The agent asks to use ${quoted(tool)}: ${quoted(title)}${about}`;
    if (plain === null) {
      // The options are more than yes or no, so show the agent's own words.
      const choices = options.map(({ id, label }, index) => ({ word: `${index + 1} ${label}`, value: id }));
      return await this.#questions.choose(question, { choices, signal });
    }
    const { once, always, no } = plain;
    const choices = [{ word: "once", value: once }, { word: "always", value: always }, { word: "no", value: no }];
    const choice = await this.#questions.choose(question, {
      choices: choices.map(({ word }) => ({ word, value: word })),
      signal,
    });
    if (choice === "always") this.#always.add(tool);
    return choices.find(({ word }) => word === choice)?.value ?? null;
  }

  async #askQuestion(event: QuestionEvent, signal: AbortSignal): Promise<string | null> {
    if (event.options === undefined || event.options.length === 0) {
      return await this.#questions.text(asked(event.question), signal);
    }
    const choices = event.options.map((option, index) => ({ word: `${index + 1} ${option}`, value: option }));
    return await this.#questions.choose(asked(event.question), { choices, signal });
  }
}

/**
 * Returns the ids behind once, always and no, where the options are exactly these; null elsewhere. An agent that
 * offers no "always" is answered "once" each time.
 */
function plainAnswers(options: readonly PermissionOption[]): { once: string; always: string; no: string } | null {
  const of = (kind: PermissionOption["kind"]) => options.filter((option) => option.kind === kind);
  const [once, always, no, never] = [of("allow_once"), of("allow_always"), of("reject_once"), of("reject_always")];
  if (of("other").length > 0 || [once, always, no, never].some(({ length }) => length > 1)) return null;
  const yes = once[0] ?? always[0];
  const refusal = no[0] ?? never[0];
  if (yes === undefined || refusal === undefined || (no[0] && never[0])) return null;
  return { once: yes.id, always: always[0]?.id ?? yes.id, no: refusal.id };
}

const shownCharacters = 600;

/** Quotes an agent's words on one line: on lines of their own they could pass for a question of the host. */
function quoted(text: string): string {
  return `"${cleanLine(text.replace(/[\r\n\t]+/g, " "), shownCharacters)}"`;
}

function asked(question: string): string {
  return `The agent asks: ${quoted(question)}`;
}
