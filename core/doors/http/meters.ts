import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { TokenBucket } from "../../ground/checks/token-bucket.ts";
import type { HttpLimits } from "./door-options.ts";
import { type Caller, owner } from "./scopes.ts";

/** Callers and addresses to count at once; the least recently seen are evicted. */
const mostCounted = 4096;

/** Counts callers' requests against the limits of the door. */
export class Meters {
  readonly #limits: HttpLimits;
  readonly #requests: Buckets;
  readonly #refusals: Buckets;
  readonly #streams = new Map<string, number>();
  readonly #ends = new Set<() => void>();
  #closed = false;

  constructor(limits: HttpLimits) {
    this.#limits = limits;
    this.#requests = new Buckets(limits.http_requests_per_second);
    this.#refusals = new Buckets(limits.http_refusals_per_second);
  }

  get open(): number {
    return this.#ends.size;
  }

  /** @throws {BulkheadError} `limit_exceeded` */
  count({ id }: Caller): void {
    const waitMs = this.#requests.take(id);
    if (waitMs > 0) throw tooMany("Too many requests came with this token.", "http_requests_per_second", waitMs);
  }

  /** @throws {BulkheadError} `limit_exceeded` */
  countRefusal(address: string): void {
    const waitMs = this.#refusals.take(address);
    if (waitMs > 0) throw tooMany("Too many requests came without a valid token.", "http_refusals_per_second", waitMs);
  }

  /** Ends all streams; no more can open. */
  endStreams(): void {
    this.#closed = true;
    for (const end of this.#ends) end();
  }

  /**
   * Counts a stream of events as open.
   * @param end ends the stream
   * @returns a function that removes it from the count
   * @throws {BulkheadError} `limit_exceeded`, `host_closed`
   */
  openStream({ id }: Caller, end: () => void): () => void {
    if (this.#closed) throw hostClosed();
    const { http_streams, http_streams_per_token } = this.#limits;
    const own = this.#streams.get(id) ?? 0;
    if (id !== owner.id && own >= http_streams_per_token) {
      throw tooMany("This token has too many streams of events open.", "http_streams_per_token", 5000);
    }
    // The operator's programs leave room for those with other tokens.
    const left = id === owner.id && own > 0 ? http_streams_per_token : 0;
    if (this.open >= http_streams - left) throw tooMany("Too many streams of events are open.", "http_streams", 5000);
    this.#streams.set(id, own + 1);
    this.#ends.add(end);
    return () => {
      if (!this.#ends.delete(end)) return;
      const left = (this.#streams.get(id) ?? 1) - 1;
      if (left > 0) this.#streams.set(id, left);
      else this.#streams.delete(id);
    };
  }
}

/** A bucket for each key. A refused request costs nothing, so that a caller that keeps asking is served again. */
class Buckets {
  readonly #perSecond: number;
  readonly #buckets = new Map<string, { bucket: TokenBucket; closedUntil: number }>();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Takes one token; returns the milliseconds to wait for it, 0 for none. */
  take(key: string): number {
    const now = performance.now();
    const known = this.#buckets.get(key) ?? { bucket: new TokenBucket(this.#perSecond, now), closedUntil: 0 };
    this.#buckets.delete(key);
    this.#buckets.set(key, known);
    const oldest = this.#buckets.size > mostCounted ? this.#buckets.keys().next().value : undefined;
    if (oldest !== undefined) this.#buckets.delete(oldest);
    if (now < known.closedUntil) return known.closedUntil - now;
    // The refused request had reserved this token: it is available now.
    const waitMs = known.closedUntil === 0 ? known.bucket.take(1, now) : 0;
    known.closedUntil = waitMs === 0 ? 0 : now + waitMs;
    return waitMs;
  }
}

/** Creates the error for requests after the end. */
export function hostClosed(): BulkheadError {
  return new BulkheadError("host_closed", "Cannot serve the request: the host is shutting down.", {
    hint: "Try again when it is up.",
  });
}

function tooMany(what: string, limit: string, waitMs: number): BulkheadError {
  const retry_after = Math.max(1, Math.ceil(waitMs / 1000));
  return new BulkheadError("limit_exceeded", `Cannot serve the request: ${what}`, {
    hint: `Try again in ${retry_after} s, or raise the limit ${limit}.`,
    details: { limit, retry_after },
  });
}
