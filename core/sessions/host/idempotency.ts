import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { Journal } from "../../records/journal/journal.ts";
import type { SessionRecord } from "../../records/journal/session-record.ts";
import { sha256Hex, sortKeys } from "../../ground/platform/files/hash.ts";
import type { RunSessionOptions, SessionHandle } from "./session-host.ts";

interface KeyedSessionsDeps {
  /** The limits now: a reload changes them. */
  limits(): Pick<Limits, "idempotency_keys" | "idempotency_ms">;
  /** Returns the handle of a session that this host or an earlier one has started. */
  handleOf(sessionId: string): SessionHandle;
  /** Keeps the keys over restarts. */
  journal: Pick<Journal, "findKey" | "noteKey" | "session">;
  /** Milliseconds since some moment. */
  now?(): number;
}

/** Starts a session; `begins` is called with its id before anything of it is in the journal. */
type StartKeyed = (begins: ((sessionId: string) => Promise<void>) | undefined) => Promise<SessionHandle>;

const maxKey = 256;

/** The key of one session of several that a keyed request becomes: never longer than a key may be. */
export function derivedKey(key: string, part: string): string {
  const whole = `${key}#${part}`;
  return whole.length <= maxKey ? whole : `${sha256Hex(key)}#${part}`;
}

interface Keyed {
  digest: string;
  session: Promise<SessionHandle>;
  /** Null while it runs. */
  endedAt: number | null;
}

/**
 * Sessions by their idempotency key: the same request with the same key is the same session for every call of one
 * client, each of which reads its events for itself; also after a restart of the host, whose journal has the keys as long
 * as their sessions. Keys are forgotten some time after their session's end, and the oldest when there are too many.
 */
export class KeyedSessions {
  readonly #deps: KeyedSessionsDeps;
  readonly #now: () => number;
  /** Running ones and, in the order in which they ended, others. */
  readonly #known = new Map<string, Keyed>();

  constructor(deps: KeyedSessionsDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => performance.now());
  }

  get size(): number {
    return this.#known.size;
  }

  /**
   * The session of this request's key, started by `start` when there is none.
   * @throws {BulkheadError} `idempotency_conflict` for a key that stands for another request, and what `start` throws
   */
  async run(request: SessionRequest, options: RunSessionOptions, start: StartKeyed): Promise<SessionHandle> {
    const key = typeof request?.idempotency_key === "string" ? request.idempotency_key : null;
    const digest = key === null ? null : digestOf(request, options);
    if (key === null || digest === null) return await start(undefined);
    this.#forgetOld();
    const name = JSON.stringify([options.client ?? "", key]);
    const known = this.#known.get(name);
    if (known === undefined) return await this.#start(name, { key, digest, start });
    if (known.digest !== digest) throw keyTakenError(key);
    return await known.session;
  }

  #start(name: string, how: { key: string; digest: string; start: StartKeyed }): Promise<SessionHandle> {
    const keyed: Keyed = { digest: how.digest, session: this.#earlierOrNew(sha256Hex(name), how), endedAt: null };
    this.#known.set(name, keyed);
    const ended = () => {
      keyed.endedAt = this.#now();
      this.#known.delete(name);
      this.#known.set(name, keyed);
      this.#forgetOld();
    };
    // A session that could not start, or not be written, may be tried again: the journal knows which keys it has.
    const forget = () => void this.#known.delete(name);
    keyed.session.then((session) => session.result().then(ended, forget), forget);
    return keyed.session;
  }

  /** The session that an earlier host started for this key, or a new one. */
  async #earlierOrNew(
    name: string,
    { key, digest, start }: { key: string; digest: string; start: StartKeyed },
  ): Promise<SessionHandle> {
    const { journal } = this.#deps;
    const found = await journal.findKey(name);
    const record = found === null ? null : await journal.session(found.session_id);
    // A key that was written down and whose session never began stands for nothing.
    if (found !== null && record !== null && record.deleted === null && !this.#isPast(record)) {
      if (found.digest !== digest) throw keyTakenError(key);
      return this.#deps.handleOf(record.session_id);
    }
    return await start((session_id) =>
      journal.noteKey({ name, digest, session_id }, this.#deps.limits().idempotency_keys)
    );
  }

  #isPast({ ended_at }: SessionRecord): boolean {
    return ended_at !== null && Date.now() - Date.parse(ended_at) >= this.#deps.limits().idempotency_ms;
  }

  #forgetOld(): void {
    const { idempotency_keys, idempotency_ms } = this.#deps.limits();
    const before = this.#now() - idempotency_ms;
    for (const [name, { endedAt }] of this.#known) {
      if (endedAt === null) continue;
      if (this.#known.size <= idempotency_keys && endedAt > before) return;
      this.#known.delete(name);
    }
  }
}

/** Digest of a request and its options; null for a value that is no request, which the check refuses later. */
export function digestOf(request: SessionRequest, options: RunSessionOptions): string | null {
  const { adapter, artifacts = "git", require } = options;
  try {
    // A repeated call has a span of its own. The order of the fields says nothing.
    const { traceparent: _span, ...same } = request;
    return sha256Hex(JSON.stringify([adapter, artifacts, same, ...(require ? [require] : [])], sortKeys));
  } catch {
    return null;
  }
}

/** The error for a key that stands for another request. */
export function keyTakenError(key: string): BulkheadError {
  return new BulkheadError("idempotency_conflict", `The idempotency key "${key}" was used for another request.`, {
    hint: "Send the very same request again, or choose a new key.",
    details: { idempotency_key: key },
  });
}
