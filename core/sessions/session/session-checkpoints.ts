import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { CheckpointStore, TurnClaims } from "../../records/checkpoints/checkpoint-store.ts";
import type { Admitted, RunningSessionDeps } from "./admitted.ts";

/** The tree of the files after a turn; `checkpoint_reason` says why there is none. */
export interface TurnCheckpoint {
  checkpoint: string | null;
  checkpoint_reason?: string;
}

/** Files of a session before and after each of its turns, where its request asks for them. */
export class SessionCheckpoints {
  readonly #session: Admitted;
  readonly #deps: Pick<RunningSessionDeps, "openCheckpoints">;
  #store: CheckpointStore | null = null;
  #reason: string | null = null;
  /** Milliseconds since 1970. */
  #begunAt = 0;

  constructor(session: Admitted, deps: Pick<RunningSessionDeps, "openCheckpoints">) {
    this.#session = session;
    this.#deps = deps;
  }

  /**
   * Keeps the files as they are before a turn. Throws only the reason of `signal`; a store that fails keeps nothing.
   * @param options `isLate`: the agent has begun it by itself
   */
  async beginTurn(
    turn: number,
    { signal, isLate = false }: { signal: AbortSignal; isLate?: boolean },
  ): Promise<void> {
    const { request, follows, sessionId, place: { workdir } } = this.#session;
    if (request.checkpoints !== true || this.#reason !== null) return;
    try {
      const conversation = follows?.conversation_id ?? sessionId;
      this.#store ??= await this.#deps.openCheckpoints({ conversation, workdir, signal });
      await this.#store.beginTurn(turn, { signal, isLate });
      this.#begunAt = Date.now();
    } catch (error) {
      await this.close();
      signal.throwIfAborted();
      this.#reason = toErrorData(error).message;
    }
  }

  /**
   * Keeps the files as they are after the turn; null where the request asks for none.
   * @param options `ranPrograms`: the session started some, which write without asking the host
   */
  async endTurn(
    claims: TurnClaims,
    { ranPrograms }: { ranPrograms: boolean },
  ): Promise<TurnCheckpoint | null> {
    const { request, place, candidates: [{ plugin }] } = this.#session;
    if (request.checkpoints !== true) return null;
    // Of a program whose agent tells no tools, the whole turn is one call.
    const isSilent = ranPrograms && claims.calls.length === 0 &&
      plugin.manifest.reports?.includes("tool_calls") !== true;
    const signs = isSilent ? { ...claims, calls: [{ from: this.#begunAt, to: Date.now() }] } : claims;
    if (this.#store === null) return { checkpoint: null, checkpoint_reason: this.#reason ?? "not_started" };
    const { checkpoint, checkpoint_reason } = await this.#store.endTurn(
      place.workspaceDir === undefined ? signs : "all",
    );
    return { checkpoint, ...(checkpoint_reason === undefined ? {} : { checkpoint_reason }) };
  }

  /** Lets others have the store. */
  async close(): Promise<void> {
    const store = this.#store;
    this.#store = null;
    await store?.close();
  }
}
