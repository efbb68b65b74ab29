import type { RewindReport, RewindRequest } from "../../../../plugin-sdk/conversation.ts";
import { BulkheadError, errorDataOf } from "../../../../plugin-sdk/errors.ts";
import { toErrorData } from "../../../ground/errors/to-error-data.ts";
import type { LogRecord } from "../../../ground/log/log-record.ts";
import { randomId } from "../../../ground/platform/files/hash.ts";
import type { SessionRecord } from "../../../records/journal/session-record.ts";
import { unknownSession } from "../session-handle.ts";
import type { MessageCaller } from "../session-host.ts";
import type { Rewinds } from "../state/rewinds.ts";
import type { RewoundTalks } from "../state/rewound-talks.ts";
import type { NextSessions } from "./next-sessions.ts";

interface WholeRewindsDeps {
  files: Pick<Rewinds, "rewind" | "rest" | "hasRewound">;
  next: Pick<NextSessions, "turnsAfter" | "rewound">;
  listed: RewoundTalks;
  record(id: string): Promise<SessionRecord | null>;
  /** Returns the sessions of a conversation that were not deleted, in their order. */
  recordsOf(conversation: string): Promise<SessionRecord[]>;
  writeLog(record: LogRecord): void;
}

/** Rewinds of conversations: of their files, of their talk, and of both, which is done as a whole or not at all. */
export class WholeRewinds {
  readonly #deps: WholeRewindsDeps;

  constructor(deps: WholeRewindsDeps) {
    this.#deps = deps;
  }

  /** @throws {BulkheadError} as `Conversations.rewind` */
  async rewind(conversation: string, request: RewindRequest, caller: MessageCaller): Promise<RewindReport> {
    const { to, undo = false, files = true, talk = false, dry_run: dryRun = false } = request;
    if ((to === undefined) !== undo) throw unclear("give either the turn, or undo");
    if (undo && (talk || !files)) {
      throw unclear("an undo is of files alone; the talk comes back by its turn, with talk");
    }
    if (!files && !talk) throw unclear("neither files nor talk are to go back");
    await this.finish(conversation);
    const place = await this.#place(conversation);
    if (!talk || to === undefined) return await this.#deps.files.rewind(conversation, { ...place, request });
    const forgets = await this.#deps.next.turnsAfter(conversation, to);
    if (dryRun) {
      const report = files
        ? await this.#deps.files.rewind(conversation, { ...place, request })
        : noFiles(conversation, to);
      return { ...report, dry_run: true, talk: { forgets, session_id: null } };
    }
    await this.#deps.files.rest(conversation, { ...place, movesFiles: files });
    const begin = await this.#deps.next.rewound(conversation, { to, caller });
    const session_id = randomId();
    const told = { forgets, session_id };
    if (!files) {
      await begin(session_id);
      return { ...noFiles(conversation, to), talk: told };
    }
    const report = await this.#both(conversation, { place, request: { ...request, to }, session_id, caller, begin });
    return { ...report, talk: told };
  }

  /**
   * Finishes the rewind of files and talk that was cut off between the two: the talk follows where the files went back, and else
   * nothing is done.
   */
  async finish(conversation: string): Promise<void> {
    const { listed, files, next, record } = this.#deps;
    const left = listed.of(conversation);
    if (left === undefined) return;
    const { to, session_id, client, before, after } = left;
    // Deleted conversations go back nowhere.
    const isOver = await record(session_id) !== null || (await this.#deps.recordsOf(conversation)).length === 0;
    if (!isOver) {
      const place = await this.#place(conversation);
      await files.rest(conversation, { ...place, movesFiles: false });
      if (await files.hasRewound(conversation, { ...place, before, after })) {
        await (await next.rewound(conversation, { to, caller: { client } }))(session_id);
      }
    }
    await listed.end(conversation);
  }

  /** Finishes all that a killed host left. Failures are logged: the next act on the conversation tries again. */
  async finishLeft(inOrder: (conversation: string, act: () => Promise<void>) => Promise<void>): Promise<void> {
    for (const conversation of this.#deps.listed.conversations) {
      await inOrder(conversation, () => this.finish(conversation)).catch((error: unknown) => {
        const message = `Cannot finish the rewind of conversation ${conversation}: ${toErrorData(error).message}`;
        this.#deps.writeLog({ level: "error", message });
      });
    }
  }

  /** Files first: they are what may be refused. A talk that cannot follow has them brought back. */
  async #both(
    conversation: string,
    { place, request, session_id, caller, begin }: {
      place: { head: string; workdir: string };
      request: RewindRequest & { to: number };
      session_id: string;
      caller: MessageCaller;
      begin(sessionId: string): Promise<void>;
    },
  ): Promise<RewindReport> {
    const { files, listed } = this.#deps;
    const { client = "" } = caller;
    let isWritten = false;
    try {
      const onPlan = async (trees: Pick<RewindReport, "before" | "after">) => {
        await listed.begin({ conversation, to: request.to, session_id, client, ...trees });
      };
      const report = await files.rewind(conversation, { ...place, request, onPlan });
      isWritten = true;
      await begin(session_id);
      await listed.end(conversation);
      return report;
    } catch (error) {
      // Half written files are finished by the next act on the conversation, and the talk with them.
      if (errorDataOf(error)?.details?.["half_written"] === true) throw error;
      if (isWritten) await files.rewind(conversation, { ...place, request: { undo: true } });
      await listed.end(conversation);
      throw error;
    }
  }

  async #place(conversation: string): Promise<{ head: string; workdir: string }> {
    const { session_id: head, workdir } = (await this.#deps.recordsOf(conversation)).at(-1) ??
      unknownSession(conversation);
    return { head, workdir };
  }
}

function noFiles(conversation_id: string, to: number): RewindReport {
  const stays = { files: [], conflicts: [], unclaimed: [], left: [], objects_gone: [], under_way: null };
  return { conversation_id, to, undo: false, dry_run: false, before: "", after: "", ...stays, head_moved: false };
}

function unclear(why: string): BulkheadError {
  return new BulkheadError("invalid_request", `Cannot rewind the conversation: ${why}.`);
}
