import { toErrorData } from "../../../ground/errors/to-error-data.ts";
import { hostVersion } from "../../../ground/config/version.ts";
import { sessionPages } from "../../../records/journal/read-page.ts";
import type { Journal } from "../../../records/journal/journal.ts";
import { openJournal } from "../../../records/journal/open-journal.ts";
import { reapChildren, type Reaped } from "../../../ground/platform/processes/child-ledger.ts";
import { readdir, rm, stat } from "../../../ground/platform/files/files.ts";
import { randomId } from "../../../ground/platform/files/hash.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { Trash } from "../../../ground/platform/files/trash.ts";
import { startOfIdentity } from "../../../ground/platform/processes/system-id.ts";
import { killTrees } from "../../../ground/platform/processes/process-tree.ts";
import { clearKept } from "../../../walls/broker/session-walls.ts";
import {
  type AfterRestart,
  endInterrupted,
  type FormerHost,
  readInterrupted,
  type Resumable,
} from "../../session/interrupted-session.ts";
import { MergedLog } from "../../session/merged-log.ts";
import { takeOverOf } from "../../session/session-git.ts";
import type { LogRecord } from "../../../ground/log/log-record.ts";
import { alreadyResumed } from "../resume.ts";
import { leftOpenError } from "../session-handle.ts";
import { readListed } from "./moved-messages.ts";
import { readRewound, type RewoundTalk } from "./rewound-talks.ts";
import { journalFile, privateGitFolder } from "./state-folder.ts";
import { claimLeftParts } from "./state-claim.ts";

interface RecoverOptions {
  /** Result of {@link reapFormer}. */
  reaped: Reaped | null;
  journal: Journal;
  log: MergedLog;
  /**
   * Starts a session that continues one whose request wants it. Absent: none is resumed, and the log does not mention
   * it.
   */
  resume?: ((resumable: Resumable) => Promise<AfterRestart>) | undefined;
  writeLog(record: LogRecord): void;
  /** Folder with the private git folders of sessions. Absent: there are none here. */
  gitDir?: string | undefined;
}

interface ReapDeps extends Pick<RecoverOptions, "writeLog"> {
  trash: Trash;
}

/** From SIGTERM to SIGKILL for programs whose host is gone; their output is no longer read. Milliseconds. */
const orphanGraceMs = 1000;

/** Returns the path of the ledger of a part's children. */
export function ledgerFile(folder: string): string {
  return join(folder, "children.jsonl");
}

/** Opens the trash of a part. */
export function openTrash(folder: string, writeLog: RecoverOptions["writeLog"]): Trash {
  const onFailure = (error: unknown) => writeLog({ level: "warn", message: toErrorData(error).message });
  return new Trash(join(folder, "trash"), { onFailure });
}

/**
 * Cleans up after a host that was killed while it held this part of the state: ends its child processes with all their
 * descendants and removes its sessions' scratch files. Returns null when the host was not killed. Begins to remove what
 * any former host left in the trash.
 */
export async function reapFormer(folder: string, { trash, writeLog }: ReapDeps): Promise<Reaped | null> {
  const emptying = trash.empty();
  const reaped = await reapChildren(ledgerFile(folder), { graceMs: orphanGraceMs });
  if (!reaped) return null;
  for (const { pid, role, session_id } of reaped.found) {
    const message = `Ended a process of a host that was killed: ${role} ${pid}.`;
    writeLog({ level: "warn", message, ...(session_id === undefined ? {} : { session_id }) });
  }
  const scratch = join(folder, "scratch");
  await clearKept(scratch);
  await emptying;
  await trash.take(scratch).catch(() => {});
  return reaped;
}

/** Ends the programs and sessions that the previous host left. Failures are logged and keep no host from starting. */
export async function recover({ reaped, journal, log, writeLog, ...options }: RecoverOptions): Promise<void> {
  const isCopy = reaped?.hostLives === true;
  // Sessions of a host that still runs go on there.
  const { resume, gitDir }: Pick<RecoverOptions, "resume" | "gitDir"> = isCopy ? {} : options;
  if (!isCopy) await reapRecorded(journal, { mark: reaped?.head.mark ?? randomId(), writeLog });
  const runtime = reaped?.head.runtime ?? null;
  const former: FormerHost = { runtime, hostVersion: reaped?.head.host_version ?? hostVersion, end: "host_restarted" };
  await endOpenSessions({ journal, log, former, resume, writeLog, gitDir });
  if (gitDir !== undefined) await takeOverLeft(gitDir, writeLog);
}

/** Takes over the private git folders of sessions that have ended, or that no journal knows. */
async function takeOverLeft(gitDir: string, writeLog: RecoverOptions["writeLog"]): Promise<void> {
  for (const sessionId of await readdir(gitDir).catch(() => [])) {
    const event = await takeOverOf(join(gitDir, sessionId));
    for (const { name, outcome, command } of event?.changes ?? []) {
      const message = `Git of a session whose host was killed: ${name} ${outcome}${command ? `, ${command}` : ""}.`;
      writeLog({ level: "warn", message, session_id: sessionId });
    }
  }
}

interface EndOpenOptions extends Pick<RecoverOptions, "journal" | "log" | "resume" | "writeLog" | "gitDir"> {
  former: FormerHost;
}

/** Ends the sessions that are open in a journal, and starts those again that ask for it. */
export async function endOpenSessions(
  { journal, log, former, resume, writeLog, gitDir }: EndOpenOptions,
): Promise<void> {
  for (const sessionId of await journal.openSessions()) {
    try {
      const record = await journal.session(sessionId);
      const known = await readInterrupted(
        sessionPages(journal, sessionId, { skipDamaged: true }),
        record?.last_seq ?? 0,
      );
      if (!known.hasBeginning) {
        writeLog({ level: "error", message: leftOpenError(sessionId).message, session_id: sessionId });
        continue;
      }
      // A session that goes on with it begins at what it had done.
      const git = gitDir === undefined ? null : await takeOverOf(join(gitDir, sessionId));
      const { resumable } = known;
      // Messages that another session has taken have their outcome there, also where this host resumes none.
      const next = resumable && (await resume?.(resumable) ?? await alreadyResumed(journal, sessionId));
      await endInterrupted(known, { log, former, next, git });
    } catch (error) {
      const message = `Cannot end a session that its host left open: ${toErrorData(error).message}`;
      writeLog({ level: "error", message, session_id: sessionId });
    }
  }
  await log.settled();
}

/** Ends programs that are in the journal but not in the ledger, which may be damaged or missing. */
async function reapRecorded(
  journal: Pick<Journal, "leftChildren">,
  { mark, writeLog }: { mark: string } & Pick<RecoverOptions, "writeLog">,
): Promise<void> {
  const left = await journal.leftChildren();
  const roots = left.flatMap(({ pid, identity, session_id }) => {
    const startTime = identity === null ? null : startOfIdentity(pid, identity);
    return startTime === null ? [] : [{ pid, startTime, session_id }];
  });
  if (roots.length === 0) return;
  await killTrees({ roots, mark, graceMs: orphanGraceMs });
  for (const { pid, session_id } of roots) {
    writeLog({ level: "warn", message: `Ended a process of a host that was killed: agent ${pid}.`, session_id });
  }
}

/** Recovers the parts of other hosts that were killed; returns their sessions whose messages were not all taken. */
export async function recoverOthers(
  stateDir: string,
  { writeLog, resume }: Pick<RecoverOptions, "writeLog" | "resume">,
): Promise<LeftTalk> {
  const left: LeftTalk = { moved: [], rewound: [] };
  const isLeft = (folder: string) => stat(ledgerFile(folder)).then(() => true, () => false);
  const onFailure = (error: unknown): void => {
    const message = `Cannot clean up after a host that was killed: ${toErrorData(error).message}`;
    writeLog({ level: "error", message });
  };
  for await (const claim of claimLeftParts(stateDir, { isLeft, onFailure })) {
    try {
      const journal = await openJournal(journalFile(claim.folder), {
        onProblem: (message) => writeLog({ level: "error", message }),
      });
      const trash = openTrash(claim.folder, writeLog);
      try {
        const reaped = await reapFormer(claim.folder, { trash, writeLog });
        const gitDir = privateGitFolder(claim.folder);
        left.moved.push(...await readListed(journal));
        left.rewound.push(...await readRewound(journal));
        await recover({ reaped, journal, log: new MergedLog(journal), resume, writeLog, gitDir });
      } finally {
        await Promise.all([journal.close(), trash.settled()]);
      }
      await rm(ledgerFile(claim.folder), { force: true });
    } catch (error) {
      onFailure(error);
    } finally {
      await claim.release();
    }
  }
  return left;
}

/** Acts on conversations that killed hosts have left undone. */
interface LeftTalk {
  /** Sessions whose messages were not all taken. */
  moved: string[];
  rewound: RewoundTalk[];
}
