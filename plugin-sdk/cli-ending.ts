import type { ProcessExit } from "./context.ts";
import { type ErrorCode, errorDataOf, isErrorCode } from "./errors.ts";
import type { AdapterEvent, CompletedEvent, ErrorEvent, RateLimitEvent } from "./events.ts";
import { ErrorOutput } from "./error-output.ts";
import type { ExitMeaning, FailureMeaning } from "./manifest.ts";
import type { LastWord } from "./mapping-rule.ts";
import { omitUndefined } from "./optional-fields.ts";
import { OpenWork } from "./open-work.ts";
import { statesLimit } from "./limit-words.ts";
import type { RateLimitDetector } from "./rate-limit.ts";
import { TextTail } from "./text-tail.ts";

const maxMessage = 4096;
/** Longest silence in milliseconds of a program that cleans up after its last word. */
const settleMs = 2000;
/** Longest silence with an open call; an agent that said something after it is likely to have the result. */
const callMs = 10_000;
/** Longest silence after the work that made a result an interim one: another result follows, as a rule. */
const nextResultMs = 30_000;
/** Longest silence while nothing but tasks run that may not end. */
const lastingMs = 60_000;
/** Last statements of the error output that can tell why a program failed. */
const lastStatements = 3;
/** UTF-16 units of the output's end in which a limit is looked for. */
const printedLength = 1000;
/** UTF-16 units of an answer that no last word repeats. */
const answerLength = 64 * 1024;
/** Lines of the error output that are shown, of each statement and in all. */
const shownLines = 5;
const retryable: readonly string[] = ["rate_limit", "unavailable", "timeout", "crash"];

/** Rules that decide whether a program that has ended did its work. */
interface EndingRules {
  meaning: ExitMeaning;
  /** True if a program without a last word has failed, even with exit code 0. */
  strict: boolean;
  /** True for a program that goes on after its turn, and so do its tasks. */
  kept?: boolean | undefined;
}

/** Makes the event for a text that shows a rate limit. */
export function rateLimitEvent(text: string, detector: RateLimitDetector): RateLimitEvent {
  const seconds = detector.extractWaitTime(text);
  return { type: "rate_limit", message: text.slice(0, maxMessage), wait_ms: seconds === null ? null : seconds * 1000 };
}

/** Reads what a program says of its failure. */
interface FailureReader {
  detector: RateLimitDetector;
  meaningOf(text: string): FailureMeaning | null;
  /** Which last word counts if there are several. */
  lastWord?: LastWord;
  /** The agent's work that is not over; default: its open calls. */
  work?: OpenWork;
}

/** Watches a session's events for its last word, which it holds back until the program has ended. */
export class CliEnding {
  readonly #reader: FailureReader;
  readonly #changed = new Set<string>();
  readonly #errorOutput = new ErrorOutput();
  #lastWord: CompletedEvent | ErrorEvent | null = null;
  #reportedLimit: RateLimitEvent | null = null;
  /** End of its output. */
  readonly #printed = new TextTail(printedLength);
  readonly #work: OpenWork;
  /** Whether work was open when the last word came. */
  #isInterim = false;
  /** Whether the agent did anything after the last word. */
  #wentOn = false;
  readonly #changedLate = new Set<string>();
  /** Words of the agent since its last word. */
  readonly #saidSince = new TextTail(answerLength);

  constructor(reader: FailureReader) {
    this.#reader = reader;
    this.#work = reader.work ?? new OpenWork();
  }

  /** Returns true once the program has reported its end and must not go on. */
  get isOver(): boolean {
    if (this.#lastWord === null) return false;
    return this.#lastWord.type === "completed" || this.#reader.lastWord !== "first_error";
  }

  /**
   * Returns for how many milliseconds the program may be silent from now on: null while it may go on as long as it likes.
   * @param isLeft its input is closed: it has been told that nothing else comes
   * @param endsAlone nothing keeps it but its work
   */
  patience(isLeft: boolean, endsAlone: boolean): number | null {
    if (!this.isOver) return null;
    const settle = isLeft ? settleMs : 0;
    if (this.#lastWord?.type === "error") return settle;
    const { kind, spokeSince } = this.#work;
    if (kind === "task") return null;
    if (kind === "call") return endsAlone ? null : isLeft ? nextResultMs : spokeSince ? settleMs : callMs;
    if (kind === "lasting") return isLeft ? settleMs : lastingMs;
    return this.#isInterim ? nextResultMs : settle;
  }

  /**
   * Takes events and returns those to pass on now. Of several last words, those that do not count pass as `unparsed`,
   * except one that only repeats the other.
   */
  take(events: readonly AdapterEvent[]): AdapterEvent[] {
    for (const event of events) {
      this.#work.take(event);
      if (event.type === "output" && event.stream === "stdout") this.#printed.add(event.data);
    }
    const passed: AdapterEvent[] = [];
    for (const event of events) {
      if (this.#lastWord !== null) this.#noteLate(event);
      if (isSaid(event)) {
        passed.push(event);
        continue;
      }
      this.#errorOutput.take(event);
      if (event.type === "completed" || event.type === "error") {
        passed.push(...this.#takeWord(event));
        continue;
      }
      if (event.type === "file_change") {
        this.#changed.add(event.path);
        if (this.#lastWord) this.#changedLate.add(event.path);
      } else if (event.type === "rate_limit") this.#reportedLimit = event;
      passed.push(event);
    }
    return passed;
  }

  /** Returns the last events of a session that failed, or null if it did its work. */
  failure(exit: ProcessExit, rules: EndingRules): AdapterEvent[] | null {
    const last = this.#lastWord;
    if (last?.type === "error") return this.#failed(last);
    if (last?.success && rules.kept && this.#work.kind === "task") return null;
    if (last) return last.success ? this.#brokenOff(last.output) : this.#unsuccessful(last);
    if (rules.meaning !== "completed") {
      const code = rules.meaning === "fatal" && exit.exit_code === null ? "crash" : rules.meaning;
      return this.#failedWith(code, `The program ${howItEnded(exit)}`);
    }
    if (rules.strict) return this.#failedWith("crash", "The program ended without saying that it was done");
    return this.#brokenOff();
  }

  /**
   * Returns the last event of a session that did its work. `output` replaces the last word's output; `answer` stands
   * in for one that it lacks.
   */
  completed(output: string | undefined, answer?: string): CompletedEvent {
    const word = this.#lastWord?.type === "completed" ? this.#lastWord : null;
    const made: CompletedEvent = word ??
      { type: "completed", success: true, files_changed: [...this.#changed], tokens_used: null, cost: null };
    const said = output ?? made.output ?? answer;
    const files_changed = [...new Set([...made.files_changed, ...this.#changedLate])];
    return { ...made, files_changed, ...(said === undefined ? {} : { output: said }) };
  }

  /** Returns the last events of a session that was stopped from outside, for the reason of its signal. */
  interrupted(reason: unknown): AdapterEvent[] {
    const data = errorDataOf(reason);
    const message = data?.message ?? "The session was interrupted.";
    return [{ type: "error", code: data?.code ?? "interrupted", message, recoverable: false }];
  }

  #noteLate(event: AdapterEvent): void {
    this.#wentOn ||= isWork(event);
    if (event.type === "output" && event.stream === "stdout" && event.agent_id === undefined) {
      this.#saidSince.add(event.data);
    }
  }

  /** Takes a last word, and returns what becomes of it and of the one before. */
  #takeWord(word: CompletedEvent | ErrorEvent): AdapterEvent[] {
    const before = this.#lastWord;
    const wasInterim = this.#isInterim;
    const counts = before === null || this.#replaces(before, word);
    const open = word.type === "completed" && word.success ? this.#work.openAt(word) : null;
    if (counts) {
      this.#lastWord = before === null ? word : withKnown(word, before, this.#saidSince.text.trim());
      this.#isInterim = open !== null;
      this.#wentOn = false;
      this.#saidSince.clear();
    }
    const other = before === null || isSame(before, word) ? null : counts ? before : word;
    // The end of an interim turn was told when it came.
    const lost: AdapterEvent[] = other && !(wasInterim && other !== word) ? [{ type: "unparsed", data: other }] : [];
    if (!counts || open === null) return lost;
    return [...lost, { type: "progress", message: `Its turn ended, and its work goes on: ${open}.` }];
  }

  #replaces(before: CompletedEvent | ErrorEvent, word: CompletedEvent | ErrorEvent): boolean {
    const { lastWord = "last" } = this.#reader;
    if (lastWord === "first_error") return before.type === "completed" || word.type === "completed";
    return lastWord === "last" && !this.#saysNothing(before, word);
  }

  /** Whether a word is that of a turn in which nothing was done: it says nothing of the good one before. */
  #saysNothing(before: CompletedEvent | ErrorEvent, word: CompletedEvent | ErrorEvent): boolean {
    if (before.type !== "completed" || !before.success || this.#wentOn || this.#isInterim) return false;
    return word.type === "error" || !word.success || !word.output;
  }

  /** Returns the last events of a session whose agent ended in the middle of its work; null if it did not. */
  #brokenOff(output = ""): AdapterEvent[] | null {
    if (!this.#work.brokeOff(output)) return null;
    const message = `The agent ended in the middle of its work: ${this.#work.description} had no result.`;
    return [{ type: "error", code: "unavailable", message, recoverable: true }];
  }

  /** Handles a result that reports its own failure: its text is a failure's text. */
  #unsuccessful(word: CompletedEvent): AdapterEvent[] {
    const message = word.output ?? "";
    const code = this.#reader.meaningOf(message);
    return code === null ? [word] : this.#failed({ type: "error", code, message, recoverable: isRetryable(code) });
  }

  /** Returns the last line that the program printed, if that states a limit: some print it instead of an answer. */
  #printedLimit(): string | null {
    const line = this.#printed.text.trimEnd().split("\n").at(-1)?.trim() ?? "";
    const isError = /^\W{0,8}(?:\w{1,20} ){0,2}error\b/i.test(line) && this.#reader.meaningOf(line) === "rate_limit";
    return isError || statesLimit(line) ? line : null;
  }

  #failedWith(code: ErrorCode | "refused", what: string): AdapterEvent[] {
    const statements = this.#errorOutput.statements(lastStatements);
    const meanings = statements.map((text) => this.#reader.meaningOf(text));
    const at = code === "refused" ? -1 : meanings.findIndex((meaning) => meaning !== null);
    const printed = at < 0 && (code === "fatal" || code === "unavailable") ? this.#printedLimit() : null;
    if (printed !== null) return this.#limited({ type: "error", code, message: printed, recoverable: true }, printed);
    const actual = meanings[at] ?? code;
    const shown = statements.map((text) => text.split("\n").slice(0, shownLines).join("\n")).reverse().join("\n");
    const said = shown === "" ? this.#errorOutput.tail(shownLines) : shown;
    const message = said === "" ? `${what}.` : `${what}: ${said}`;
    const error: ErrorEvent = { type: "error", code: actual, message, recoverable: isRetryable(actual) };
    if (actual !== "rate_limit") return [error];
    // Lines above the one that states the reason may belong to an earlier failure.
    const why = statements.slice(0, at + 1).reverse().join("\n");
    return this.#limited(error, why === "" ? `${what}.` : why);
  }

  #failed(error: ErrorEvent): AdapterEvent[] {
    const known = isErrorCode(error.code) && error.code !== "fatal";
    const meaning = known ? null : this.#reader.meaningOf(error.message);
    if (error.code === "rate_limit" || meaning === "rate_limit") return this.#limited(error, error.message);
    if (error.code !== "fatal" || meaning === null) return [error];
    return [{ ...error, code: meaning, recoverable: isRetryable(meaning) }];
  }

  /** @param why the text that reports the limit and its wait */
  #limited(error: ErrorEvent, why: string): AdapterEvent[] {
    const event: ErrorEvent = { ...error, code: "rate_limit", recoverable: true };
    const limit = rateLimitEvent(why, this.#reader.detector);
    return this.#hasReported(limit, why) ? [event] : [limit, event];
  }

  #hasReported({ wait_ms }: RateLimitEvent, why: string): boolean {
    const before = this.#reportedLimit;
    if (before === null || !why.includes(before.message)) return false;
    // A point in time that the adapter was told counts more than one that is read out of a text.
    // A wait for a time of the day shrinks from one reading to the next.
    return before.reset_at !== undefined || wait_ms === null || Math.abs(wait_ms - (before.wait_ms ?? NaN)) <= 5000;
  }
}

/** Whether an event is text of the agent: most events are, and nothing of how a session ends is seen in them. */
function isSaid(event: AdapterEvent): boolean {
  return event.type === "thinking" || (event.type === "output" && event.stream === "stdout");
}

/** Whether an event shows the agent at work. */
export function isWork(event: AdapterEvent): boolean {
  return isSaid(event) || event.type === "tool_call" || event.type === "tool_result" || event.type === "file_change";
}

/** A later word with what an earlier one knew and it does not; `said` came between them, and so is the newer answer. */
function withKnown(
  word: CompletedEvent | ErrorEvent,
  before: CompletedEvent | ErrorEvent,
  said: string,
): CompletedEvent | ErrorEvent {
  if (word.type !== "completed" || before.type !== "completed") return word;
  const output = word.output || said || before.output;
  return {
    ...word,
    ...(output === undefined ? {} : { output }),
    ...omitUndefined({
      structured_output: word.structured_output ?? before.structured_output,
      metadata: word.metadata ?? before.metadata,
    }),
    tokens_used: word.tokens_used ?? before.tokens_used,
    cost: word.cost ?? before.cost,
  };
}

function isRetryable(code: string): boolean {
  return retryable.includes(code);
}

function isSame(one: CompletedEvent | ErrorEvent, other: CompletedEvent | ErrorEvent): boolean {
  // A word may be given again when more of the same answer has come.
  if (one.type === "completed" && other.type === "completed") {
    return other.output?.startsWith(one.output ?? "") ?? false;
  }
  if (one.type === "completed" || other.type === "completed") return false;
  return one.code === other.code && one.message === other.message;
}

function howItEnded(exit: ProcessExit): string {
  return exit.exit_code === null ? `was ended by ${exit.signal ?? "a signal"}` : `exited with code ${exit.exit_code}`;
}
