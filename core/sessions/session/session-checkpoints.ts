import type { RewoundEvent } from "../../../plugin-sdk/envelope.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { ArtifactList } from "../../records/git/artifacts.ts";
import { pathText } from "../../records/git/raw-diff.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { CheckpointStore, RewindPlan, TurnClaims } from "../../records/checkpoints/checkpoint-store.ts";
import type { Admitted, RunningSessionDeps } from "./admitted.ts";

/** The tree of the files after a turn; `checkpoint_reason` says why there is none. */
export interface TurnCheckpoint {
  checkpoint: string | null;
  checkpoint_reason?: string;
}

/** The end of a turn whose session keeps files. */
export interface KeptTurn {
  kept: TurnCheckpoint;
  changed: ArtifactList;
}

/** Collaborators of {@link SessionCheckpoints}. */
export interface CheckpointsDeps extends Pick<RunningSessionDeps, "openCheckpoints"> {
  tell(event: RewoundEvent): void;
}

/** Files of a session before and after each of its turns, where they are kept. */
export class SessionCheckpoints {
  readonly #session: Admitted;
  readonly #deps: CheckpointsDeps;
  #store: CheckpointStore | null = null;
  #opening: Promise<CheckpointStore> | null = null;
  #isOver = false;
  #reason: string | null = null;
  /** Milliseconds since 1970. */
  #begunAt = 0;
  /** Tree before the turn under way, or the last one. */
  #before: string | null = null;

  constructor(session: Admitted, deps: CheckpointsDeps) {
    this.#session = session;
    this.#deps = deps;
  }

  /** Whether files are kept: as the request says, else where more turns than one are meant to come, or a replay, and changes are listed. */
  get #isAsked(): boolean {
    const { request: { checkpoints }, keepMs, artifacts, box } = this.#session;
    return checkpoints ?? ((keepMs > 0 || box !== null) && artifacts === "git");
  }

  /** Whether it keeps the files of the turn under way, and so can list what changed in it. */
  get isKeeping(): boolean {
    return this.#store !== null && this.#before !== null && this.#reason === null;
  }

  /** Returns the paths that have changed in the turn until now; null where they are not known. */
  async now(): Promise<string[] | null> {
    if (this.#store === null || this.#before === null) return null;
    const { artifacts, others } = await this.#store.changesSince(this.#before);
    return [...artifacts.map(({ path }) => path), ...others.map(({ path }) => pathText(path))];
  }

  /**
   * Keeps the files as they are before a turn. Throws only the reason of `signal`; a store that fails keeps nothing.
   * @param options `isLate`: the agent has begun it by itself
   */
  async beginTurn(
    turn: number,
    { signal, isLate = false }: { signal: AbortSignal; isLate?: boolean },
  ): Promise<void> {
    if (!this.#isAsked || this.#reason !== null) return;
    try {
      const store = this.#store ?? await this.#open({ signal });
      for (const { to, undo, at, now, want, files = 0, left = 0 } of store.takeRewinds()) {
        if (at !== undefined) this.#deps.tell({ type: "rewound", to, undo, at, before: now, after: want, files, left });
      }
      this.#before = await store.beginTurn(turn, { signal, isLate });
      this.#begunAt = Date.now();
    } catch (error) {
      await this.#close();
      signal.throwIfAborted();
      this.#reason = toErrorData(error).message;
    }
  }

  /**
   * Keeps the files as they are after the turn, and lists what changed in it; null where no files are kept.
   * @param options `ranPrograms`: the session started some, which write without asking the host
   */
  async endTurn(
    claims: TurnClaims,
    { ranPrograms }: { ranPrograms: boolean },
  ): Promise<KeptTurn | null> {
    if (!this.#isAsked) return null;
    const { place, candidates: [{ plugin }] } = this.#session;
    // Of a program whose agent tells no tools, the whole turn is one call.
    const isSilent = ranPrograms && claims.calls.length === 0 &&
      plugin.manifest.reports?.includes("tool_calls") !== true;
    const signs = isSilent ? { ...claims, calls: [{ from: this.#begunAt, to: Date.now() }] } : claims;
    if (this.#store === null || this.#reason !== null) {
      const reason = this.#reason ?? "not_started";
      return {
        kept: { checkpoint: null, checkpoint_reason: reason },
        changed: { artifacts: null, reason, head: null },
      };
    }
    const { checkpoint, checkpoint_reason, ...changed } = await this.#store.endTurn(
      place.workspaceDir === undefined ? signs : "all",
    );
    return { kept: { checkpoint, ...omitUndefined({ checkpoint_reason }) }, changed };
  }

  /**
   * Plans to take turns back. The session goes on as it was.
   * @returns null where it takes no more turns: others may have the store
   * @throws {BulkheadError} as {@link CheckpointStore.plan}
   */
  async plan(...asked: Parameters<CheckpointStore["plan"]>): Promise<RewindPlan | null> {
    if (this.#isOver) return null;
    const store = this.#store ?? await this.#open({});
    return this.#isOver ? null : await store.plan(...asked);
  }

  /** Lets others have the store: no turn comes any more. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#close();
  }

  async #open(options: { signal?: AbortSignal }): Promise<CheckpointStore> {
    const { follows, sessionId, place: { workdir } } = this.#session;
    const conversation = follows?.conversation_id ?? sessionId;
    const opening = this.#opening ??= this.#deps.openCheckpoints({ conversation, workdir, ...options });
    try {
      const store = await opening;
      if (this.#opening === opening) this.#store = store;
      return store;
    } catch (error) {
      if (this.#opening === opening) this.#opening = null;
      throw error;
    }
  }

  async #close(): Promise<void> {
    const opening = this.#opening;
    [this.#opening, this.#store] = [null, null];
    await (await opening?.catch(() => null))?.close();
  }
}
