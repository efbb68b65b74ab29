import type { ProcessExit } from "./context.ts";
import { type ErrorCode, errorDataOf, isErrorCode } from "./errors.ts";
import type { AdapterEvent, CompletedEvent, ErrorEvent, RateLimitEvent } from "./events.ts";
import type { ExitMeaning } from "./manifest.ts";
import type { RateLimitDetector } from "./rate-limit.ts";

const tailLength = 4096;
const retryable: readonly string[] = ["rate_limit", "unavailable", "timeout", "crash"];

/** Rules that decide whether a program that has ended did its work. */
export interface EndingRules {
  meaning: ExitMeaning;
  /** True if a program without a last word has failed, even with exit code 0. */
  strict: boolean;
}

/** Makes the event for a text that shows a rate limit. */
export function rateLimitEvent(text: string, detector: RateLimitDetector): RateLimitEvent {
  const seconds = detector.extractWaitTime(text);
  return { type: "rate_limit", message: text.slice(0, tailLength), wait_ms: seconds === null ? null : seconds * 1000 };
}

/** Watches a session's events for its last word, which it holds back until the program has ended. */
export class CliEnding {
  readonly #detector: RateLimitDetector;
  readonly #changed = new Set<string>();
  #lastWord: CompletedEvent | ErrorEvent | null = null;
  #stderrTail = "";
  #reportedLimit: string | null = null;

  constructor(detector: RateLimitDetector) {
    this.#detector = detector;
  }

  /** Returns true once the program has reported its end. */
  get hasLastWord(): boolean {
    return this.#lastWord !== null;
  }

  /**
   * Takes events and returns those to pass on now. A last word that is replaced by a later one passes as `unparsed`.
   */
  take(events: readonly AdapterEvent[]): AdapterEvent[] {
    const passed: AdapterEvent[] = [];
    for (const event of events) {
      if (event.type === "completed" || event.type === "error") {
        if (this.#lastWord) passed.push({ type: "unparsed", data: this.#lastWord });
        this.#lastWord = event;
        continue;
      }
      if (event.type === "file_change") this.#changed.add(event.path);
      else if (event.type === "rate_limit") this.#reportedLimit = event.message;
      else if (event.type === "output" && event.stream === "stderr") this.#keepTail(event.data);
      passed.push(event);
    }
    return passed;
  }

  /** Returns the last events of a session that failed, or null if it did its work. */
  failure(exit: ProcessExit, rules: EndingRules): AdapterEvent[] | null {
    const last = this.#lastWord;
    if (last?.type === "error") return this.#failed(last);
    if (last) return last.success ? null : this.#unsuccessful(last);
    if (rules.meaning !== "completed") {
      const code = rules.meaning === "fatal" && exit.exit_code === null ? "crash" : rules.meaning;
      return this.#failedWith(code, `The program ${howItEnded(exit)}`);
    }
    return rules.strict ? this.#failedWith("crash", "The program ended without saying that it was done") : null;
  }

  /** Returns the last event of a session that did its work; `output` replaces the last word's output. */
  completed(output: string | undefined): CompletedEvent {
    const word = this.#lastWord?.type === "completed" ? this.#lastWord : null;
    const made: CompletedEvent = word ??
      { type: "completed", success: true, files_changed: [...this.#changed], tokens_used: null, cost: null };
    return output === undefined ? made : { ...made, output };
  }

  /** Returns the last events of a session that was stopped from outside, for the reason of its signal. */
  interrupted(reason: unknown): AdapterEvent[] {
    const data = errorDataOf(reason);
    const message = data?.message ?? "The session was interrupted.";
    return [{ type: "error", code: data?.code ?? "interrupted", message, recoverable: false }];
  }

  #keepTail(text: string): void {
    this.#stderrTail = (this.#stderrTail + text.slice(-tailLength)).slice(-tailLength);
  }

  /** Handles a result that reports its own failure: its text is a failure's text. */
  #unsuccessful(word: CompletedEvent): AdapterEvent[] {
    const text = word.output ?? "";
    if (!this.#detector.detect(text)) return [word];
    return this.#failed({ type: "error", code: "rate_limit", message: text, recoverable: true });
  }

  #failedWith(code: ErrorCode | "refused", what: string): AdapterEvent[] {
    const said = this.#stderrTail.trim().split("\n").slice(-5).join("\n");
    const limited = code !== "refused" && this.#detector.detect(this.#stderrTail);
    const message = said === "" ? `${what}.` : `${what}: ${said}`;
    const actual = limited ? "rate_limit" : code;
    return this.#failed({ type: "error", code: actual, message, recoverable: retryable.includes(actual) });
  }

  #failed(error: ErrorEvent): AdapterEvent[] {
    const known = isErrorCode(error.code) && error.code !== "fatal";
    const limited = error.code === "rate_limit" || (!known && this.#detector.detect(error.message));
    if (!limited) return [error];
    const event: ErrorEvent = { ...error, code: "rate_limit", recoverable: true };
    const reported = this.#reportedLimit !== null && error.message.includes(this.#reportedLimit);
    return reported ? [event] : [rateLimitEvent(error.message, this.#detector), event];
  }
}

function howItEnded(exit: ProcessExit): string {
  return exit.exit_code === null ? `was ended by ${exit.signal ?? "a signal"}` : `exited with code ${exit.exit_code}`;
}
