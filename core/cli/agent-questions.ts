import type { Envelope } from "../../plugin-sdk/envelope.ts";
import type { PermissionRequestEvent, QuestionEvent } from "../../plugin-sdk/events.ts";
import type { Session } from "../host/host.ts";
import { cleanLine } from "../log/terminal-text.ts";
import type { Questions } from "./questions.ts";
import { shortInput } from "./render/short-json.ts";

// What policy answers is resolved by the next event; only what is still open then is asked.
const policyHeadStartMs = 100;

/** Puts an agent's permission requests and questions to the person at the terminal, and their answers to the session. */
export class AgentQuestions {
  readonly #session: Session;
  readonly #questions: Questions;
  readonly #open = new Map<string, AbortController>();

  constructor(session: Session, questions: Questions) {
    this.#session = session;
    this.#questions = questions;
  }

  /** Takes notice of an event. Returns at once. */
  see(event: Envelope["event"]): void {
    if (event.type === "permission_resolved") this.#close(event.request_id);
    else if (event.type === "permission_request") this.#later(event, (signal) => this.#askPermission(event, signal));
    else if (event.type === "question") this.#later(event, (signal) => this.#askQuestion(event, signal));
  }

  /** Takes all open questions back. */
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
      if (answer !== null && !signal.aborted) this.#session.answer(request_id, answer);
    }, policyHeadStartMs);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }

  async #askPermission(event: PermissionRequestEvent, signal: AbortSignal): Promise<string | null> {
    const about = event.input === undefined ? "" : `\n  ${shortInput(event.input)}`;
    const choices = event.options.map((option, index) => ({
      word: `${index + 1} ${option.label}`,
      value: option.id,
    }));
    return await this.#questions.choose(`The agent asks to use ${quoted(event.tool)}: ${quoted(event.title)}${about}`, {
      choices,
      signal,
    });
  }

  async #askQuestion(event: QuestionEvent, signal: AbortSignal): Promise<string | null> {
    if (event.options === undefined || event.options.length === 0) {
      return await this.#questions.text(asked(event.question), signal);
    }
    const choices = event.options.map((option, index) => ({ word: `${index + 1} ${option}`, value: option }));
    return await this.#questions.choose(asked(event.question), { choices, signal });
  }
}

const shownCharacters = 600;

/** What an agent says, on one line and in quotes: on lines of its own it could pass for a question of the host. */
function quoted(text: string): string {
  return `"${cleanLine(text.replace(/[\r\n\t]+/g, " "), shownCharacters)}"`;
}

function asked(question: string): string {
  return `The agent asks: ${quoted(question)}`;
}
