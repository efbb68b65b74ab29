import { Type } from "@sinclair/typebox";
import { BulkheadError, isErrorCode } from "../../../plugin-sdk/errors.ts";
import { fieldsOrNone, parseJson, stringOf } from "../../../plugin-sdk/json-fields.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { AttachmentPart } from "../../../plugin-sdk/messages.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { exactly } from "../../../plugin-sdk/schema.ts";
import { lazyCheck, parseChecked } from "../../ground/checks/lazy-check.ts";
import { randomId, sha256Hex } from "../../ground/platform/files/hash.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import { checkRequest } from "../../sessions/host/check-request.ts";
import { digestOf, keyTakenError } from "../../sessions/host/idempotency.ts";
import type { SessionRecord } from "../../records/journal/session-record.ts";
import type { RunSessionOptions, SessionHandle, SessionHost } from "../../sessions/host/session-host.ts";
import type { MachineFacts, OfferedAgent } from "./machine.ts";
import type { RunOf } from "./run-ends.ts";
import type { Note, SharedNotes } from "./shared-notes.ts";
import type { WaitingSession } from "./waiting-sessions.ts";
import { hasLabels, type WorkQueue } from "./work-queue.ts";

/** Collaborators of {@link ClusterStarts}. */
export interface ClusterStartsDeps {
  own: Pick<SessionHost, "start" | "open">;
  notes: SharedNotes;
  queue: WorkQueue;
  facts(): MachineFacts;
  /** Agents of this machine, with their code as it is now. */
  agents(): Promise<readonly OfferedAgent[]>;
  /** Returns a session that is known here, from any machine; null for any other. */
  recordOf(sessionId: string): Promise<SessionRecord | null>;
  /** Whether a run of a machine begins no more sessions, and all that it began are known here. */
  isOver(run: RunOf): Promise<boolean>;
  /** How long the key of a session that has ended stands for it. Milliseconds. */
  keyMs(): number;
  /**
   * Puts images and files where the machine that takes the session can read them: any one, unless it is named.
   * @throws {BulkheadError} as `CarriedAttachments.carry`; `unsupported` for a machine that would not find them
   */
  carry(
    parts: readonly AttachmentPart[],
    to: { machine: string | undefined; caller: Pick<RunSessionOptions, "client" | "mayRead"> },
  ): Promise<void>;
  /** Why no session can start now, nor in a moment; null when one can. */
  problem(): Promise<string | null>;
  signal: AbortSignal;
}

/** How long a session waits for a machine that fits, where the request does not say. Milliseconds. */
const defaultWaitMs = 600_000;
/** How often a waiting session is looked for. Milliseconds. */
const lookEveryMs = 25;
/** Starts that were given up and are remembered. */
const mostGivenUp = 1024;
/** How often the machine that holds a key is looked for. Milliseconds. */
const holderEveryMs = 200;

/** The start of sessions in a cluster: here or elsewhere, and once only for a key, whichever machine is asked. */
export class ClusterStarts {
  readonly #deps: ClusterStartsDeps;
  readonly #waiting = new Set<string>();
  /** Sessions whose start was given up here although their key's claim may stand; the newest ones. */
  readonly #givenUp = new Set<string>();
  /** Why sessions that waited could not be started, by session. */
  readonly #failed = new Map<string, string>();

  constructor(deps: ClusterStartsDeps) {
    this.#deps = deps;
  }

  /**
   * Takes a note of another machine.
   * @throws {TypeError} for one that is none
   */
  hear({ kind, name, text }: Note): void {
    if (kind !== "failed" || !this.#waiting.has(name)) return;
    // A session whose start has failed waits no more: a note that says less ends no wait.
    if (!isErrorCode(fieldsOrNone(parseJson(text))["code"])) throw new TypeError("it is no error");
    this.#failed.set(name, text);
  }

  /** @throws {BulkheadError} as `SessionHost.start`; `unavailable` when no machine that fits has taken it in time */
  async start(request: SessionRequest, options: RunSessionOptions = {}): Promise<SessionHandle> {
    const problem = await this.#deps.problem();
    if (problem !== null) throw awayError(problem);
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
    const { session, claim } = await this.#claimKey(name, { request, key, digest, signal: options.signal });
    if (claim === null) return await own.open(session);
    try {
      return await this.#place(request, { ...options, sessionId: session });
    } catch (error) {
      // A session that could not start may be tried again.
      await notes.claim({ name, text: "" }, claim).catch(() => this.#giveUp(session));
      throw error;
    }
  }

  /** Returns the session that a key stands for, and the claim of this machine where it is the one to start it. */
  async #claimKey(
    name: string,
    { request, key, digest, signal }: KeyedRequest,
  ): Promise<{ session: string; claim: string | null }> {
    const { notes, facts, recordOf, signal: closing } = this.#deps;
    const { name: machine, run } = facts();
    const end = Date.now() + (request.place?.wait_ms ?? defaultWaitMs);
    let known: string | null = null;
    for (let session = randomId();;) {
      const text = JSON.stringify({ session_id: session, digest, machine, run });
      const held: string = await notes.claim({ name, text }, known).catch((cause: unknown) => {
        // The servers may have it.
        this.#giveUp(session);
        throw awayError("The cluster's servers do not answer.", cause);
      });
      if (held === text) return { session, claim: text };
      const holder = parseChecked(held, check);
      const record = holder === null ? null : await recordOf(holder.session_id);
      if (holder === null || (record !== null && this.#isPast(record))) {
        known = held;
        continue;
      }
      if (holder.digest !== digest) throw keyTakenError(key);
      if (record !== null) return { session: holder.session_id, claim: null };
      if (await this.#isLeft(holder)) {
        known = held;
        // It may still wait for a machine.
        if (this.#deps.queue.has(holder.session_id)) session = holder.session_id;
        continue;
      }
      if (signal?.aborted) throw stoppedError();
      if (closing.aborted) throw new BulkheadError("host_closed", "The host is shutting down.");
      if (Date.now() > end) throw this.#lateError(request);
      await wait(holderEveryMs, closing);
    }
  }

  /** Whether a session has not begun, and neither the machine that was asked nor one that took it can begin it. */
  async #isLeft(holder: Holder): Promise<boolean> {
    const { queue, isOver, recordOf } = this.#deps;
    const starter = await queue.starter(holder.session_id).catch(() => holder);
    const isOwn = holder.run === this.#deps.facts().run;
    if (starter === null && isOwn && this.#givenUp.has(holder.session_id)) return true;
    if (!(await isOver(starter ?? holder))) return false;
    return await recordOf(holder.session_id) === null;
  }

  /** Notes that this machine does not start a session, for when its key is asked for again. */
  #giveUp(sessionId: string): void {
    this.#givenUp.add(sessionId);
    if (this.#givenUp.size > mostGivenUp) this.#givenUp.delete(this.#givenUp.values().next().value!);
  }

  #isPast({ ended_at, deleted }: SessionRecord): boolean {
    return deleted !== null || (ended_at !== null && Date.now() - Date.parse(ended_at) >= this.#deps.keyMs());
  }

  async #place(request: SessionRequest, options: RunSessionOptions & { sessionId: string }): Promise<SessionHandle> {
    const { own, facts, carry } = this.#deps;
    const { place, ...plain } = request;
    const { name, labels } = facts();
    const isHere = place === undefined ||
      (place.machine === name && place.repository === undefined && hasLabels(labels, place));
    if (isHere) return await own.start(plain, options);
    const { content = [] } = request;
    if (content.length > 0) await carry(content, { machine: place.machine, caller: options });
    return await this.#wait(request, options);
  }

  async #wait(request: SessionRequest, options: RunSessionOptions & { sessionId: string }): Promise<SessionHandle> {
    const { own, queue, agents, recordOf, signal: closing } = this.#deps;
    const { sessionId, signal, adapter, require, artifacts, client } = options;
    const until = Date.now() + (request.place?.wait_ms ?? defaultWaitMs);
    this.#waiting.add(sessionId);
    try {
      const waiting: WaitingSession = {
        session_id: sessionId,
        request,
        options: { adapter, require, artifacts, client },
        agents: [...await agents()],
        until,
      };
      for (let losses = -1;;) {
        if (losses !== queue.losses) {
          losses = queue.losses;
          await queue.add(waiting);
        }
        if (await recordOf(sessionId) !== null) return interruptedBy(signal, await own.open(sessionId));
        const failed = this.#failed.get(sessionId);
        if (failed !== undefined) throw errorOf(failed);
        const isLate = Date.now() >= until;
        if ((isLate || signal?.aborted) && await queue.withdraw(waiting).catch(() => false)) {
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
      details: omitUndefined({ place }),
    });
  }
}

interface KeyedRequest {
  request: SessionRequest;
  key: string;
  digest: string;
  signal: AbortSignal | undefined;
}

/** Content of a key's claim. */
interface Holder extends RunOf {
  session_id: string;
  digest: string;
}

const short = Type.String({ minLength: 1, maxLength: 256 });
const check = lazyCheck(
  exactly<Holder>()(
    Type.Object({ session_id: short, digest: short, machine: short, run: short }),
  ),
);

function awayError(reason: string, cause?: unknown): BulkheadError {
  return new BulkheadError("unavailable", `Cannot start a session: ${reason.replace(/^T/, "t")}`, {
    hint: "Try again when they are back: bulkhead cluster status.",
    cause,
  });
}

function interruptedBy(signal: AbortSignal | undefined, session: SessionHandle): SessionHandle {
  const interrupt = () => void session.interrupt().catch(() => undefined);
  if (signal?.aborted) interrupt();
  signal?.addEventListener("abort", interrupt, { once: true });
  return session;
}

function errorOf(text: string): BulkheadError {
  const { code, message, hint, details } = fieldsOrNone(parseJson(text));
  return new BulkheadError(isErrorCode(code) ? code : "internal", stringOf(message) ?? "It could not start.", {
    hint: stringOf(hint) ?? undefined,
    details: { ...fieldsOrNone(details) },
  });
}

function stoppedError(): BulkheadError {
  return new BulkheadError("interrupted", "The session was interrupted before it started.");
}
