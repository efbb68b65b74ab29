import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { PermissionOption, PermissionRequestEvent, QuestionEvent } from "../../../plugin-sdk/events.ts";
import type { SessionHandle } from "../../sessions/host/session-host.ts";
import { cleanLine } from "../../ground/log/terminal-text.ts";
import type { Choice, Questions } from "./questions.ts";
import type { Terminal } from "../../ground/platform/terminal/terminal.ts";
import { askedText, shortInput } from "./render/input-text.ts";
import { createPaint } from "./render/paint.ts";
import { clockTime } from "./render/quantities.ts";

// Policy resolves a request in the very next event; the wait keeps such requests from being asked.
const policyHeadStartMs = 100;

const words = ["once", "always", "no", "never"] as const;

/** Stands for a person's wish to see all of what is asked; no id of an option is this one. */
const showAll = "\0show all";
/** Lines that are shown then at most. */
const mostWhole = 5000;
/** A deadline that is later than this is not told. Milliseconds. */
const soonMs = 12 * 3600 * 1000;

/** The words for the agent that asks, for the time until which it waits, and the signal that withdraws its question. */
interface Asking {
  who: string;
  until: string;
  signal: AbortSignal;
}

/** Puts an agent's permission requests and questions to the person at the terminal, and the answers to the session. */
export class AgentQuestions {
  readonly #session: Pick<SessionHandle, "answer">;
  readonly #questions: Pick<Questions, "choose" | "text">;
  readonly #terminal: Terminal;
  readonly #named: boolean;
  readonly #open = new Map<string, AbortController>();
  readonly #asked = new Set<Promise<void>>();
  /** Tools that the person has allowed, or denied, for the rest of the session. */
  readonly #kept = new Map<string, "always" | "never">();
  /** How long the session's host waits for an answer. Milliseconds. */
  #waitMs = Infinity;

  /** @param options.named whether to say which agent asks, where several run at once */
  constructor(
    session: Pick<SessionHandle, "answer">,
    { questions, terminal, named = false }: {
      questions: Pick<Questions, "choose" | "text">;
      terminal: Terminal;
      named?: boolean;
    },
  ) {
    this.#session = session;
    this.#questions = questions;
    this.#terminal = terminal;
    this.#named = named;
  }

  /** Notes an event. Returns at once. */
  see({ event, adapter, ts }: Pick<Envelope, "event" | "adapter" | "ts">): void {
    if (event.type === "session_started") this.#waitMs = event.effective.answer_timeout_ms ?? Infinity;
    if (event.type === "permission_resolved") return this.#close(event.request_id);
    const who = this.#named ? `${quoted(adapter.id)} asks` : "The agent asks";
    const until = this.#waitMs > soonMs
      ? ""
      : ` (until ${clockTime(new Date(Date.parse(ts) + this.#waitMs).toISOString())})`;
    if (event.type === "permission_request") {
      this.#later(event, (signal) => this.#askPermission(event, { who, until, signal }));
    } else if (event.type === "question") {
      this.#later(event, (signal) => this.#askQuestion(event, { who, until, signal }));
    }
  }

  /** Withdraws all open questions. Returns once the terminal shows none of them, nor holds anything for them. */
  async close(): Promise<void> {
    for (const requestId of [...this.#open.keys()]) this.#close(requestId);
    await Promise.all(this.#asked);
  }

  #close(requestId: string): void {
    this.#open.get(requestId)?.abort();
    this.#open.delete(requestId);
  }

  #later({ request_id }: { request_id: string }, ask: (signal: AbortSignal) => Promise<string | null>): void {
    const controller = new AbortController();
    const { signal } = controller;
    this.#open.set(request_id, controller);
    const put = async () => {
      const answer = await ask(signal);
      // A request that was answered elsewhere meanwhile needs no answer.
      if (answer !== null && !signal.aborted) await this.#session.answer(request_id, answer).catch(() => false);
    };
    const timer = setTimeout(() => {
      const asked = put().finally(() => this.#asked.delete(asked));
      this.#asked.add(asked);
    }, policyHeadStartMs);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }

  async #askPermission(event: PermissionRequestEvent, { who, until, signal }: Asking): Promise<string | null> {
    const { tool, title, input, options } = event;
    const plain = plainAnswers(options);
    // The host asks about each place of the network by itself.
    const what = tool === "network" ? JSON.stringify([tool, input]) : tool;
    const kept = this.#kept.get(what);
    if (plain !== null && kept !== undefined) return kept === "always" ? plain.once : plain.no;
    // A title that is the command stands below.
    const named = sameWords(title, shortInput(input)) ? "" : `: ${quoted(title)}`;
    const question = `${who} to use ${quoted(tool)}${named}${until}`;
    // Where the options are more than yes or no, the agent's own words are shown.
    const choices = plain === null
      ? options.map(({ id, label }, index) => ({ word: `${index + 1} ${label}`, value: id }))
      : words.map((word) => ({ word, value: word }));
    const choice = await this.#chooseBelow(question, { choices, input, signal });
    if (choice === null || plain === null) return choice;
    if (choice === "always" || choice === "never") this.#kept.set(what, choice);
    return plain[choice as keyof PlainAnswers];
  }

  /** Asks with what the tool would do below; of a long one the beginning, and the rest where the person asks for it. */
  async #chooseBelow(
    question: string,
    { choices, input, signal }: { choices: readonly Choice<string>[]; input: unknown; signal: AbortSignal },
  ): Promise<string | null> {
    const { colours, stderr } = this.#terminal;
    const looks = { paint: createPaint(colours.stderr), columns: stderr.columns || 100 };
    const [below, whole] = [askedText(input, looks), askedText(input, { ...looks, most: mostWhole })];
    if (below === whole) return await this.#questions.choose(question, { choices, below, signal });
    const more = [...choices, { word: "show all", value: showAll }];
    const choice = await this.#questions.choose(question, { choices: more, below, signal });
    return choice === showAll ? await this.#questions.choose(question, { choices, below: whole, signal }) : choice;
  }

  async #askQuestion(event: QuestionEvent, { who, until, signal }: Asking): Promise<string | null> {
    const question = `${who}: ${quoted(event.question)}${until}`;
    if (event.options === undefined || event.options.length === 0) {
      return await this.#questions.text(question, signal);
    }
    const choices = event.options.map((option, index) => ({ word: `${index + 1} ${option}`, value: option }));
    return await this.#questions.choose(question, { choices, signal });
  }
}

/** The ids of an agent's options that stand for four plain words. */
type PlainAnswers = Record<"once" | "always" | "no" | "never", string>;

/**
 * Returns the ids behind once, always, no and never, where the options are exactly these; null elsewhere. An agent that
 * offers no "always" is answered "once" each time, and one that offers no "never" is answered "no".
 */
function plainAnswers(options: readonly PermissionOption[]): PlainAnswers | null {
  const of = (kind: PermissionOption["kind"]) => options.filter((option) => option.kind === kind);
  const [once, always, no, never] = [of("allow_once"), of("allow_always"), of("reject_once"), of("reject_always")];
  if (of("other").length > 0 || [once, always, no, never].some(({ length }) => length > 1)) return null;
  const yes = once[0] ?? always[0];
  const refusal = no[0] ?? never[0];
  if (yes === undefined || refusal === undefined) return null;
  return { once: yes.id, always: always[0]?.id ?? yes.id, no: refusal.id, never: never[0]?.id ?? refusal.id };
}

const shownCharacters = 600;

/** Quotes an agent's words on one line: on lines of their own they could pass for a question of the host. */
function quoted(text: string): string {
  return `"${cleanLine(text.replace(/[\r\n\t]+/g, " "), shownCharacters)}"`;
}

/** Whether two texts are the same but for blanks. */
function sameWords(one: string, other: string): boolean {
  const folded = (text: string) => text.replace(/\s+/g, " ").trim();
  return folded(one) === folded(other);
}
