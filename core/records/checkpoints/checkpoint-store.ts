import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { mkdir, readdir, rm } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import type { HeldLock } from "../../ground/platform/state/lock-file.ts";
import { type ArtifactList, type DescribedChanges, describeTrees } from "../git/artifacts.ts";
import { type GitDeadline, reasonOf, withDeadline } from "../git/deadline.ts";
import { KnownRepositories } from "../git/known-repositories.ts";
import { type ShadowCall, type ShadowRepository, topOf } from "../git/shadow-repository.ts";
import { realFolder } from "../git/snapshot.ts";
import { type BlobChange, treeChanges, treesOf } from "./blob-changes.ts";
import { type CallTime, openPathsOf } from "./claimed-paths.ts";
import { blobsOf, dropPacks, keepObjects, newSince, packsIn, rewriteObjects } from "./kept-objects.ts";
import { OwnIndex, ownIndex, type OwnLook } from "./own-index.ts";
import { headOf, planFiles, type RewindOptions, type RewindPlan, runPlan } from "./rewind-files.ts";
import { mendSwap } from "./mend-swap.ts";
import { folderOf, lockStore, type StoreLimits, type StorePlace, usualLimits } from "./store-place.ts";
import { newRecord, readStoreRecord, type StoredTurn, type StoreRecord, writeStoreRecord } from "./store-record.ts";
import { belowTop, neededObjects, type StoreWork } from "./store-work.ts";
import { dropOpen, type OpenTurn, writeOpen } from "./turn-files.ts";

export type { RewindPlan };

/** Options of {@link openCheckpoints}. */
export interface CheckpointsOptions extends StorePlace {
  workdir: string;
  /** Real absolute paths of which nothing is ever stored: secrets, the host's own state. */
  exclude: readonly string[];
  /** Earlier answers of git; default: none. */
  known?: KnownRepositories;
  limits?: Partial<StoreLimits>;
}

/** Signs of who changed what in a turn. */
export interface TurnClaims {
  /** Paths that events of the turn name, absolute or relative to the working directory. */
  named: readonly string[];
  calls: readonly CallTime[];
}

/** The end of a turn: its changes, and the tree after it. */
type TurnFiles = ArtifactList & {
  /** Tree of the files after the turn; null where it cannot be taken back. */
  checkpoint: string | null;
  /** Why there is none: `too_large`, `objects_gone`, `git_missing`, `workdir_missing`, or a sentence. */
  checkpoint_reason?: string;
};

/**
 * Opens the store of a conversation, or makes it. No other process has it until it is closed. Finishes a swap that a
 * killed host left, and begins again where the store is not whole.
 * @throws {BulkheadError} `busy` while another one has it, `workdir_missing`, `git_missing`, `invalid_request`, `io_error`
 */
export async function openCheckpoints(options: CheckpointsOptions & GitDeadline): Promise<CheckpointStore> {
  const lock = await lockStore(options);
  try {
    return await withDeadline(options, async (signal) => {
      const workdir = await realFolder(options.workdir);
      const store = new CheckpointStore(lock, { ...options, workdir });
      await store.begin(signal);
      return store;
    });
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/**
 * Files of one conversation, before and after each of its turns. It has an index of its own, so that a look that finds
 * nothing is cheap, and packs of what the turns changed, so that no clean-up of the repository takes them away. Its acts run one
 * after the other.
 */
export class CheckpointStore {
  readonly #lock: HeldLock;
  readonly #options: CheckpointsOptions;
  readonly #limits: StoreLimits;
  readonly #known: KnownRepositories;
  readonly #folder: string;
  #record: StoreRecord | null = null;
  #facts = "";
  /** As in a look, of those within the turn under way. */
  #hasNewRules = false;
  #unread: ReadonlySet<string> = new Set();
  #place: Pick<StoreWork, "shadow" | "index" | "settings"> | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #saved: Promise<void> = Promise.resolve();

  /** @param options `workdir` is a real path */
  constructor(lock: HeldLock, options: CheckpointsOptions) {
    this.#lock = lock;
    this.#options = options;
    this.#limits = { ...usualLimits, ...options.limits };
    this.#known = options.known ?? new KnownRepositories();
    this.#folder = folderOf(options);
  }

  /** Reads what is there, once; the store is of no use before. @throws {BulkheadError} as {@link openCheckpoints} */
  async begin(signal: AbortSignal): Promise<void> {
    this.#record = await readStoreRecord(this.#folder);
    await this.#sweep();
    await this.#work(signal);
  }

  /**
   * Looks at the files, and keeps what is there.
   * @throws {BulkheadError} `too_large` for a plain folder of too many files, `timeout`, `io_error`
   */
  look(options: GitDeadline = {}): Promise<OwnLook> {
    return this.#alone(options, (work) => work.index.look(work));
  }

  /**
   * Keeps the files as they are before a turn.
   * @param options `isLate`: the agent has begun the turn by itself, so that what came since the last one is its own
   * @returns their tree
   * @throws {BulkheadError} as {@link look}
   */
  beginTurn(turn: number, options: GitDeadline & { isLate?: boolean } = {}): Promise<string> {
    return this.#alone(options, async (work) => {
      const { record } = work;
      const at = Date.now();
      const last = options.isLate === true ? record.turns.at(-1)?.after ?? null : null;
      const tree = last ?? (await work.index.look(work)).tree;
      this.#hasNewRules = false;
      this.#unread = work.index.unread;
      const { begun } = record;
      // A killed host has left it. Nothing shows who has changed what since. One of this number has never been.
      if (begun !== null && begun.turn !== turn) {
        const cut = { turn: begun.turn, before: begun.before, after: tree, head_before: begun.head };
        await this.#keepTurn(work, { ...cut, head_after: await headOf(work) }, { open: "all" });
      }
      record.begun = { turn, before: tree, head: await headOf(work), at };
      // The turn does not wait for the disk: its end does.
      void this.#save().catch(() => {});
      return tree;
    }).then((tree) => {
      // While the agent works.
      void this.#alone({}, (work) => this.#settle(work, tree)).catch(() => {});
      return tree;
    });
  }

  async #settle({ shadow, index, record, signal }: StoreWork, tree: string): Promise<void> {
    await index.freshen(signal);
    if (record.owned === tree) return;
    const call: ShadowCall = { index: "none", signal };
    await keepObjects(shadow, { ids: new Set(await treesOf(shadow, { from: record.owned, to: tree, call })), call });
    record.owned = tree;
  }

  /**
   * Keeps the files as they are after the turn under way, and lists what has changed in it. Rejects only with the reason
   * of `signal`: every problem is in the answer.
   * @param claims `all` where no one else works, as in a worktree
   */
  async endTurn(claims: TurnClaims | "all", options: GitDeadline = {}): Promise<TurnFiles> {
    const begun = this.#record?.begun ?? null;
    if (begun === null) {
      return { artifacts: null, reason: "not_started", head: null, checkpoint: null, checkpoint_reason: "not_started" };
    }
    let head = begun.head;
    try {
      const end = await this.#alone(options, async (work) => {
        const { names } = await packsIn(work.shadow);
        const [{ tree, isStored, hasNewRules }, now] = [await work.index.look(work), await headOf(work)];
        head = now;
        const pair = { from: begun.before, to: tree };
        const described = this.#describe(work, pair);
        described.catch(() => {});
        const { changes, trees } = await treeChanges(work.shadow, { ...pair, call: callOf(work) });
        const open = await openPathsOf(changes, {
          signs: claims === "all" ? claims : { ...claims, named: new Set(belowTop(work.shadow, claims.named)) },
          top: topOf(work.shadow),
          since: begun.at,
          maySurface: hasNewRules || this.#hasNewRules,
          unread: this.#unread,
        });
        const stored = {
          turn: begun.turn,
          before: begun.before,
          after: tree,
          head_before: begun.head,
          head_after: now,
        };
        const { isKept, pack } = await this.#keepTurn(work, stored, { open, changes, trees });
        // What this look stored is in the turn's own pack as well.
        if (isKept && pack !== null) {
          await dropPacks(work.shadow, (await newSince(work.shadow, names)).filter((name) => name !== pack));
        }
        const reason = isStored ? "objects_gone" : "too_large";
        const checkpoint = isKept ? { checkpoint: tree } : { checkpoint: null, checkpoint_reason: reason };
        return { ...await described, head: now, ...checkpoint };
      });
      void this.#alone({}, (work) => this.#tidy(work)).catch(() => {});
      return end;
    } catch (error) {
      options.signal?.throwIfAborted();
      const reason = reasonOf(error);
      await this.#loseTurn(head).catch(() => {});
      return { artifacts: null, reason, head, checkpoint: null, checkpoint_reason: reason };
    }
  }

  /**
   * Lists the changes from one tree to what is there now, as a result of a session has them.
   * @throws {BulkheadError} as {@link look}
   */
  changesSince(tree: string, options: GitDeadline = {}): Promise<DescribedChanges & { head: string | null }> {
    return this.#alone(options, async (work) => {
      const { tree: now, hasNewRules } = await work.index.look(work);
      this.#hasNewRules ||= hasNewRules;
      return { ...await this.#describe(work, { from: tree, to: now }), head: await headOf(work) };
    });
  }

  /**
   * Plans to take the files back to what they were after a turn (0: before all), or to undo the last time that was done.
   * @throws {BulkheadError} `busy` during a turn; as {@link planFiles}
   */
  plan(goal: ({ to: number } | { undo: true }) & RewindOptions, options: GitDeadline = {}): Promise<RewindPlan> {
    return this.#alone(options, async (work) => {
      refuseInTurn(work.record);
      return await planFiles(work, goal);
    });
  }

  /** Does a plan. @throws {BulkheadError} `busy` during a turn; as {@link runPlan} */
  rewind(plan: RewindPlan, options: GitDeadline = {}): Promise<void> {
    return this.#alone(options, async (work) => {
      refuseInTurn(work.record);
      await runPlan(work, plan, () => this.#save());
    });
  }

  /** Returns the rewinds of which no session has told yet. They count as told once the next turn has begun. */
  takeRewinds(): StoreRecord["rewinds"] {
    const untold = (this.#record?.rewinds ?? []).filter(({ is_told }) => is_told !== true);
    for (const swap of untold) swap.is_told = true;
    return untold;
  }

  /** Whether the last rewind went from one tree to another. A rewind that was cut off is finished by now. */
  hasRewound({ before, after }: { before: string; after: string }): boolean {
    const last = this.#record?.rewinds.at(-1);
    return last?.now === before && last.want === after;
  }

  /** Ends all work, and lets others have the store. */
  async close(): Promise<void> {
    await this.#last.catch(() => {});
    await this.#saved.catch(() => {});
    await this.#lock.release();
  }

  async #alone<T>(options: GitDeadline, act: (work: StoreWork) => Promise<T>): Promise<T> {
    const before = this.#last;
    const doing = before.catch(() => {}).then(() =>
      withDeadline(options, async (signal) => await act(await this.#work(signal)))
    );
    this.#last = doing;
    return await doing;
  }

  async #work(signal: AbortSignal): Promise<StoreWork> {
    const { workdir, exclude } = this.#options;
    const { repository, settings } = await this.#known.find({ workdir, signal });
    const { head: _, ...own } = repository ?? { head: null };
    const facts = JSON.stringify([own, [...settings]]);
    const place = { workdir, top: repository?.top ?? workdir, object_format: repository?.objectFormat ?? "sha1" };
    const record = this.#record;
    if (record === null || !isSamePlace(record, place)) await this.#reset(place);
    if (this.#place === null || this.#facts !== facts) {
      const most = { files: this.#limits.turn_files, bytes: this.#limits.turn_bytes };
      const shadow: ShadowRepository = { folder: this.#folder, workdir, repository };
      this.#place = { shadow, settings, index: new OwnIndex(shadow, { settings, most }) };
      this.#facts = facts;
    }
    const work = { ...this.#place, record: this.#record!, exclude: [...exclude, this.#options.folder], signal };
    if (work.record.swap !== null) await mendSwap(work, () => this.#save());
    return work;
  }

  async #describe(
    { shadow, signal }: StoreWork,
    { from, to }: { from: string; to: string },
  ): Promise<DescribedChanges> {
    return await describeTrees(shadow, {
      before: { tree: from, stored: true },
      after: { tree: to, stored: true },
      call: { index: ownIndex, signal },
      workdir: shadow.workdir,
    });
  }

  async #keepTurn(
    work: StoreWork,
    turn: Omit<StoredTurn, "is_kept" | "has_open"> & { after: string },
    { open, ...found }: { open: OpenTurn; changes?: readonly BlobChange[]; trees?: readonly string[] },
  ): Promise<{ isKept: boolean; pack: string | null }> {
    const { shadow, record } = work;
    const call = callOf(work);
    const { before, after } = turn;
    const { changes = [], trees = [] } = "trees" in found
      ? found
      : await treeChanges(shadow, { from: before, to: after, call });
    const ids = new Set([...blobsOf(changes), ...trees]);
    if (record.owned !== before) {
      for (const id of await treesOf(shadow, { from: record.owned, to: before, call })) ids.add(id);
    }
    const { missing, pack } = await keepObjects(shadow, { ids, call });
    record.owned = after;
    const isKept = missing.size === 0;
    const hasOpen = await writeOpen(shadow.folder, turn.turn, open);
    record.turns.push({ ...turn, is_kept: isKept, has_open: hasOpen });
    record.line.push(turn.turn);
    record.begun = null;
    await this.#save();
    return { isKept, pack };
  }

  /** The files after a turn are not known: no rewind goes past it. */
  async #loseTurn(head: string | null): Promise<void> {
    const record = this.#record;
    if (record === null || record.begun === null) return;
    const { turn, before, head: head_before } = record.begun;
    const lost = { turn, before, after: null, is_kept: false, has_open: false, head_before, head_after: head };
    record.turns.push(lost);
    record.line.push(turn);
    record.begun = null;
    await this.#save();
  }

  /** Holds the store to its bounds: the oldest turns go first. */
  async #tidy(work: StoreWork): Promise<void> {
    const { shadow, record } = work;
    const { turns, bytes, packs } = this.#limits;
    if (record.turns.length > turns) await this.#drop(record, record.turns.length - Math.ceil(turns * 0.9));
    for (;;) {
      const { names, bytes: taken } = await packsIn(shadow);
      if (names.length <= packs && taken <= bytes) return;
      const { tree } = await work.index.look(work);
      await rewriteObjects(shadow, {
        ids: await neededObjects(work, tree),
        call: { index: ownIndex, signal: work.signal },
      });
      record.owned = tree;
      if ((await packsIn(shadow)).bytes <= bytes || record.turns.length === 0) return;
      await this.#drop(record, Math.ceil(record.turns.length / 10));
    }
  }

  async #drop(record: StoreRecord, count: number): Promise<void> {
    const gone = record.turns.splice(0, count).map(({ turn }) => turn);
    record.dropped = Math.max(record.dropped, ...gone);
    record.line = record.line.filter((turn) => turn > record.dropped);
    await this.#save();
    await dropOpen(this.#folder, gone);
  }

  #save(): Promise<void> {
    const record = structuredClone(this.#record!);
    return this.#saved = this.#saved.catch(() => {}).then(() => writeStoreRecord(this.#folder, record));
  }

  /** Begins with nothing, in another place or after damage. */
  async #reset(place: Pick<StoreRecord, "workdir" | "top" | "object_format">): Promise<void> {
    await removeTree(this.#folder);
    for (const name of ["objects/info", "objects/pack", "refs", "info"]) {
      await mkdir(join(this.#folder, name), { recursive: true, mode: 0o700 });
    }
    this.#record = newRecord(place);
    this.#place = null;
  }

  /** Removes what a killed host's git left half written. */
  async #sweep(): Promise<void> {
    const half = /\.lock$|^(?:index|spare)-|^tmp_|\.tmp$/;
    for (const folder of [this.#folder, join(this.#folder, "objects/pack")]) {
      for (const name of await readdir(folder).catch(() => [])) {
        if (half.test(name)) await rm(join(folder, name), { force: true });
      }
    }
  }
}

function callOf({ signal }: StoreWork): ShadowCall {
  return { index: ownIndex, signal };
}

function isSamePlace(one: StoreRecord, other: Pick<StoreRecord, "workdir" | "top" | "object_format">): boolean {
  return one.workdir === other.workdir && one.top === other.top && one.object_format === other.object_format;
}

function refuseInTurn({ begun }: StoreRecord): void {
  if (begun === null) return;
  throw new BulkheadError("busy", `Cannot take the files back: turn ${begun.turn} is under way.`, {
    hint: "Wait for its end, or stop it.",
  });
}
