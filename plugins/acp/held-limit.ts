import type { AdapterContext, AdapterEvent, RateLimitEvent } from "bulkhead/plugin-sdk";

/** How long a limit on the error output waits for the turn's own error, which says the same. */
const waitMs = 1000;

/** Collaborators of {@link HeldLimit}. */
interface HeldLimitDeps {
  ctx: Pick<AdapterContext, "sleep">;
  /** Whether a tool of the agent printed the text. */
  isPrinted(text: string): boolean;
  /** Takes the limit that waited for an error in vain. */
  tell(events: AdapterEvent[]): void;
}

/**
 * A limit from the agent's error output, which waits for the turn's own error. An agent prints the error with which it
 * answers as well, before or after: then the answer alone is told.
 */
export class HeldLimit {
  readonly #deps: HeldLimitDeps;
  #limit: RateLimitEvent | null = null;
  #isTold = false;
  #lastWord: AdapterEvent | null = null;

  constructor(deps: HeldLimitDeps) {
    this.#deps = deps;
  }

  /** Takes a limit, and returns the events that report it now. */
  take(limit: RateLimitEvent): AdapterEvent[] {
    // Agents print the whole of an error, and a limit stands in many of its lines.
    if (this.#isTold || this.#limit !== null) return [];
    if (this.#lastWord !== null) {
      this.#isTold = true;
      return isLimit(this.#lastWord) ? [] : [limit];
    }
    this.#limit = limit;
    this.#deps.ctx.sleep(waitMs).then(() => this.#deps.tell(this.#release()), () => {});
    return [];
  }

  /** Takes the turn's last events, and returns them with the limit that they do not report. */
  end(events: AdapterEvent[]): AdapterEvent[] {
    this.#lastWord = events.at(-1) ?? null;
    const limit = this.#release();
    return this.#lastWord !== null && isLimit(this.#lastWord) ? events : [...limit, ...events];
  }

  #release(): AdapterEvent[] {
    const limit = this.#limit;
    this.#limit = null;
    // Nothing orders the two streams: the line may have come before the tool's result that holds it.
    if (limit === null || this.#deps.isPrinted(limit.message)) return [];
    this.#isTold = true;
    return [limit];
  }
}

function isLimit(event: AdapterEvent): boolean {
  return event.type === "error" && event.code === "rate_limit";
}
