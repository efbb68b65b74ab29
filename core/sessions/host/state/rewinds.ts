import type { RewindReport, RewindRequest, TurnDiff } from "../../../../plugin-sdk/conversation.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { openCheckpoints, type RewindPlan } from "../../../records/checkpoints/checkpoint-store.ts";
import { hasCheckpoints, keptConversations, removeCheckpoints } from "../../../records/checkpoints/store-place.ts";
import { changedByOthers } from "./changed-by-others.ts";
import { readTurnDiff } from "../../../records/checkpoints/turn-diff.ts";
import type { LiveSession } from "../live-sessions.ts";

interface RewindsDeps {
  stateDir: string;
  /** Folder of the stores of all conversations. */
  folder: string;
  /** Real absolute paths of which nothing is ever stored. */
  exclude: readonly string[];
  ofConversation(id: string): LiveSession | undefined;
  /** Whether every session of the conversation was deleted. */
  isGone(conversation: string): Promise<boolean>;
  /** Resolves when an ended session has left its place. */
  left(sessionId: string): Promise<void>;
  /** Returns the ids of the sessions that share the folder of one that has not ended. */
  sharedWith(live: LiveSession): Promise<string[]>;
  /** Resolves once the events so far are durable. */
  written(): Promise<void>;
  /** Returns the ids of the sessions at work in a folder, of this host and others. */
  workingIn(workdir: string): Promise<string[]>;
}

/** The newest session of a conversation, and the real absolute path of the folder that it worked in. */
interface RewindPlace {
  head: string;
  workdir: string;
}

/** Longest wait for a rewind of many files. Milliseconds. */
const timeoutMs = 300_000;
/** Longest wait for the diff of a turn. Milliseconds. */
const diffMs = 20_000;

/** Takes the files of conversations back to what they were after an earlier turn. */
export class Rewinds {
  readonly #deps: RewindsDeps;

  constructor(deps: RewindsDeps) {
    this.#deps = deps;
  }

  /**
   * Takes files back, which ends a session that is kept, or tells what that would do, which changes nothing.
   * @throws {BulkheadError} `busy` while a turn runs, or another session works in the folder; `conflict` with the paths in
   * `details.paths`; `not_found` without checkpoints, or for a turn that is not among them; `invalid_request`
   */
  async rewind(
    conversation: string,
    { workdir, head, request, onPlan }: RewindPlace & {
      request: RewindRequest;
      /** Told before the first file is written. */
      onPlan?(plan: Pick<RewindReport, "before" | "after">): Promise<void>;
    },
  ): Promise<RewindReport> {
    const { to, dry_run: dryRun = false, keep_theirs: keepTheirs, unclaimed } = request;
    const { folder, exclude } = this.#deps;
    if (!await hasCheckpoints({ folder, conversation })) throw noCheckpoints(conversation);
    const options = { keepTheirs: keepTheirs === true, unclaimed: unclaimed === true };
    const goal = async () =>
      to === undefined
        ? { undo: true as const, ...options }
        : { to, ...options, others: await this.#others(conversation, to) };
    const live = this.#resting(conversation);
    const asked = dryRun && await live?.session.changes.plan(await goal(), { timeoutMs }) || null;
    if (asked !== null) return reportOf(conversation, { plan: asked, dryRun });
    if (!dryRun) await this.rest(conversation, { workdir, head, movesFiles: true });
    else {
      // It has let go of its store, and is about to end.
      await live?.result.catch(() => undefined);
      await this.#deps.left(head);
    }
    const store = await openCheckpoints({ folder, conversation, workdir, exclude, timeoutMs });
    try {
      const plan = await store.plan(await goal(), { timeoutMs });
      if (!dryRun) {
        await onPlan?.({ before: plan.now, after: plan.want });
        await store.rewind(plan, { timeoutMs });
      }
      return reportOf(conversation, { plan, dryRun });
    } finally {
      await store.close();
    }
  }

  /** Paths that sessions in the same folder changed since a turn. */
  async #others(conversation: string, to: number): Promise<string[]> {
    const { ofConversation, sharedWith, stateDir, written } = this.#deps;
    const live = ofConversation(conversation);
    await written();
    const met = live === undefined ? [] : await sharedWith(live);
    return await changedByOthers(stateDir, { conversation, to, met });
  }

  /** @throws {BulkheadError} `not_found` without checkpoints of the turn */
  async turnDiff(conversation: string, turn: number): Promise<TurnDiff> {
    const { folder } = this.#deps;
    if (!await hasCheckpoints({ folder, conversation })) throw noCheckpoints(conversation);
    return { conversation_id: conversation, ...await readTurnDiff({ folder, conversation, turn, timeoutMs: diffMs }) };
  }

  /** Removes what is kept of conversations whose sessions were all deleted. Never rejects. */
  async sweep(): Promise<void> {
    const { folder, isGone } = this.#deps;
    for (const conversation of await keptConversations(folder)) {
      if (await isGone(conversation).catch(() => false)) {
        await removeCheckpoints({ folder, conversation }).catch(() => {});
      }
    }
  }

  /**
   * Whether the last rewind of a conversation's files was from this tree to that one. Finishes one that was cut off.
   * @throws {BulkheadError} as {@link rewind}
   */
  async hasRewound(
    conversation: string,
    { workdir, ...trees }: Pick<RewindPlace, "workdir"> & Pick<RewindReport, "before" | "after">,
  ): Promise<boolean> {
    const { folder, exclude } = this.#deps;
    if (!await hasCheckpoints({ folder, conversation })) return false;
    const store = await openCheckpoints({ folder, conversation, workdir, exclude, timeoutMs });
    const isDone = store.hasRewound(trees);
    await store.close();
    return isDone;
  }

  /**
   * Ends a session of the conversation that is kept, and waits until it has left its folder.
   * @throws {BulkheadError} `busy` while a turn runs, or another session works in the folder whose files move
   */
  async rest(
    conversation: string,
    { workdir, head, movesFiles }: RewindPlace & { movesFiles: boolean },
  ): Promise<void> {
    const live = this.#resting(conversation);
    // Its agent would go on from files that are no longer there.
    live?.session.talk.retire();
    await live?.result.catch(() => undefined);
    await this.#deps.left(head);
    const [other] = movesFiles ? await this.#deps.workingIn(workdir) : [];
    if (other !== undefined) throw working(other, "it works in the same folder");
  }

  /** Returns the session of a conversation that rests, or is about to end; undefined where none is there. */
  #resting(conversation: string): LiveSession | undefined {
    const live = this.#deps.ofConversation(conversation);
    if (live === undefined) return undefined;
    const { isOver, talk: { current, pending } } = live.session;
    if (!isOver && (current !== null || pending > 0)) throw working(live.id, "a turn of it runs");
    return live;
  }
}

function reportOf(conversation_id: string, { plan, dryRun }: { plan: RewindPlan; dryRun: boolean }): RewindReport {
  const { to, undo, now, want, files, conflicts, unclaimed, left, objects_gone, under_way, head_moved } = plan;
  const stays = { conflicts, unclaimed, left, objects_gone, under_way, head_moved };
  return { conversation_id, to, undo, dry_run: dryRun, before: now, after: want, files, ...stays };
}

function working(sessionId: string, why: string): BulkheadError {
  return new BulkheadError("busy", `Cannot rewind the conversation while session "${sessionId}" runs: ${why}.`, {
    hint: "Wait for its end, or stop it.",
    details: { session_id: sessionId },
  });
}

function noCheckpoints(conversation: string): BulkheadError {
  return new BulkheadError("not_found", `Nothing is kept of the files of conversation "${conversation}".`, {
    hint: "Sessions keep them that are started with checkpoints: true (--checkpoints), or wait for messages (--keep).",
  });
}
