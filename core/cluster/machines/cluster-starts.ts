import { BulkheadError, type ErrorCode } from "../../../plugin-sdk/errors.ts";
import { fieldsOrNone, stringOf } from "../../../plugin-sdk/json-fields.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { randomId, sha256Hex } from "../../ground/runtime/hash.ts";
import { wait } from "../../ground/runtime/wait.ts";
import { checkRequest } from "../../sessions/host/check-request.ts";
import { digestOf, keyTakenError } from "../../sessions/host/idempotency.ts";
import type { RunSessionOptions } from "../../sessions/host/run-session.ts";
import type { SessionHandle, SessionHost } from "../../sessions/host/session-host.ts";
import { hasLabels, type WorkQueue } from "./work-queue.ts";
import type { MachineFacts } from "./machine-facts.ts";
import type { Note, SharedNotes } from "./shared-notes.ts";

/** Collaborators of {@link ClusterStarts}. */
export interface ClusterStartsDeps {
  own: Pick<SessionHost, "start" | "open">;
  notes: SharedNotes;
  queue: WorkQueue;
  facts(): MachineFacts;
  /** Whether a session is known here, from any machine. */
  isKnown(sessionId: string): Promise<boolean>;
  signal: AbortSignal;
}

/** How long a session waits for a machine that fits, where the request does not say. Milliseconds. */
const defaultWaitMs = 600_000;
/** How often a waiting session is looked for. Milliseconds. */
const lookEveryMs = 25;
/** How long the session of a key may take to be seen here. Milliseconds. */
const seenMs = 5000;

/** The start of sessions in a cluster: here or elsewhere, and once only for a key, whichever machine is asked. */
export class ClusterStarts {
  readonly #deps: ClusterStartsDeps;
  readonly #waiting = new Set<string>();
  /** Why sessions that waited could not be started, by session. */
  readonly #failed = new Map<string, string>();

  constructor(deps: ClusterStartsDeps) {
    this.#deps = deps;
  }

  /** Takes a note of another machine. */
  hear({ kind, name, text }: Note): void {
    if (kind === "failed" && this.#waiting.has(name)) this.#failed.set(name, text);
  }

  /** @throws {BulkheadError} as `SessionHost.start`; `unavailable` when no machine that fits has taken it in time */
  async start(request: SessionRequest, options: RunSessionOptions = {}): Promise<SessionHandle> {
    const checked = checkRequest(request);
    const key = checked.idempotency_key;
    const digest = key === undefined ? null : digestOf(checked, options);
    if (key === undefined || digest === null) return await this.#place(checked, { ...options, sessionId: randomId() });
    return await this.#startKeyed(checked, { options, key, digest });
  }

  async #startKeyed(
    request: SessionRequest,
    { options, key, digest }: { options: RunSessionOptions; key: string; digest: string },
  ): Promise<SessionHandle> {
    const { notes, own } = this.#deps;
    const name = `key-${sha256Hex(JSON.stringify([options.client ?? "", key]))}`;
    const sessionId = randomId();
    const text = JSON.stringify({ session_id: sessionId, digest });
    for (let known: string | null = null;;) {
      const held: string = await notes.claim({ name, text }, known);
      if (held === text) break;
      const { session_id, digest: other } = fieldsOrNone(JSON.parse(held));
      if (other !== digest) throw keyTakenError(key);
      const id = stringOf(session_id) ?? "";
      if (await this.#isSeen(id)) return await own.open(id);
      // Its machine was lost before the session had begun.
      known = held;
    }
    try {
      return await this.#place(request, { ...options, sessionId });
    } catch (error) {
      // A session that could not start may be tried again.
      await notes.set({ kind: "claim", name, text: "" }).catch(() => undefined);
      throw error;
    }
  }

  async #isSeen(sessionId: string): Promise<boolean> {
    for (const end = performance.now() + seenMs; performance.now() < end;) {
      if (await this.#deps.isKnown(sessionId)) return true;
      await wait(lookEveryMs, this.#deps.signal);
    }
    return false;
  }

  async #place(request: SessionRequest, options: RunSessionOptions & { sessionId: string }): Promise<SessionHandle> {
    const { own, facts } = this.#deps;
    const { place, ...plain } = request;
    const { name, labels } = facts();
    const isHere = place === undefined ||
      (place.machine === name && place.repository === undefined && hasLabels(labels, place));
    if (isHere) return await own.start(plain, options);
    return await this.#wait(request, options);
  }

  async #wait(request: SessionRequest, options: RunSessionOptions & { sessionId: string }): Promise<SessionHandle> {
    const { own, queue, facts, isKnown, signal: closing } = this.#deps;
    const { sessionId, signal, adapter, require, artifacts, client } = options;
    const until = Date.now() + (request.place?.wait_ms ?? defaultWaitMs);
    this.#waiting.add(sessionId);
    try {
      await queue.add({
        session_id: sessionId,
        request,
        options: {
          ...(adapter === undefined ? {} : { adapter }),
          ...(require === undefined ? {} : { require }),
          ...(artifacts === undefined ? {} : { artifacts }),
          ...(client === undefined ? {} : { client }),
        },
        agents: facts().agents,
        until,
      });
      for (;;) {
        if (await isKnown(sessionId)) return interruptedBy(signal, await own.open(sessionId));
        const failed = this.#failed.get(sessionId);
        if (failed !== undefined) throw errorOf(failed);
        const isLate = Date.now() >= until;
        if ((isLate || signal?.aborted) && await queue.withdraw(sessionId)) {
          throw isLate ? this.#lateError(request) : stoppedError();
        }
        if (closing.aborted) {
          throw new BulkheadError("host_closed", "The host is shutting down; the session still waits.");
        }
        await wait(lookEveryMs, closing);
      }
    } finally {
      this.#waiting.delete(sessionId);
      this.#failed.delete(sessionId);
    }
  }

  #lateError({ place }: SessionRequest): BulkheadError {
    return new BulkheadError("unavailable", "No machine of the cluster that fits has taken the session in time.", {
      hint: "Look at the machines, their labels and agents: bulkhead cluster status.",
      details: { ...(place === undefined ? {} : { place }) },
    });
  }
}

function interruptedBy(signal: AbortSignal | undefined, session: SessionHandle): SessionHandle {
  const interrupt = () => void session.interrupt().catch(() => undefined);
  if (signal?.aborted) interrupt();
  signal?.addEventListener("abort", interrupt, { once: true });
  return session;
}

function errorOf(text: string): BulkheadError {
  const { code, message, hint, details } = fieldsOrNone(JSON.parse(text));
  return new BulkheadError((stringOf(code) ?? "internal") as ErrorCode, stringOf(message) ?? "It could not start.", {
    hint: stringOf(hint) ?? undefined,
    details: { ...fieldsOrNone(details) },
  });
}

function stoppedError(): BulkheadError {
  return new BulkheadError("interrupted", "The session was interrupted before it started.");
}
