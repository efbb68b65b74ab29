import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { randomSecret, sha256Hex } from "../../ground/platform/files/hash.ts";
import type { Caller, TokenScope } from "./scopes.ts";

/** A code as its maker gets it, once. */
interface OneTimeCode {
  code: string;
  /** RFC 3339, UTC. */
  expires_at: string;
}

/** Maker and scope of the token that a code is traded for. */
interface Promised {
  maker: Caller;
  scope: TokenScope;
}

/** Time in which a code must be used: a program prints it, and a browser opens it. Milliseconds. */
const validMs = 60_000;
/** Codes that wait at once. */
const mostCodes = 32;

/** Codes that a page trades for a token, each once. They are kept in memory alone, and only their hashes. */
export class OneTimeCodes {
  readonly #waiting = new Map<string, Promised & { until: number }>();

  /** @throws {BulkheadError} `limit_exceeded` while too many wait, `forbidden` for a page of the console */
  create({ maker, scope }: Promised): OneTimeCode {
    // Else a page could outlive its 12 hours, through one page after another.
    if (maker.isPage) {
      throw new BulkheadError("forbidden", "Cannot make a code: a page of the console opens no other.", {
        hint: "Run: bulkhead console",
      });
    }
    this.#dropOld();
    if (this.#waiting.size >= mostCodes) {
      throw new BulkheadError("limit_exceeded", `Cannot make a code: ${mostCodes} codes wait to be used.`, {
        hint: "Try again in a minute.",
        details: { retry_after: validMs / 1000 },
      });
    }
    const code = randomSecret();
    // A clock that is set back makes no code last longer.
    const until = performance.now() + validMs;
    this.#waiting.set(sha256Hex(code), { maker, scope, until });
    return { code, expires_at: new Date(Date.now() + validMs).toISOString() };
  }

  /** Uses a code up; null for an unknown, used or old one. */
  take(code: string): Promised | null {
    this.#dropOld();
    // By its hash, so that the time of the look-up tells nothing about the codes that wait.
    const digest = sha256Hex(code);
    const found = this.#waiting.get(digest);
    this.#waiting.delete(digest);
    return found ?? null;
  }

  #dropOld(): void {
    for (const [digest, { until }] of this.#waiting) if (until <= performance.now()) this.#waiting.delete(digest);
  }
}
