import { nullIfMissing } from "../../../ground/errors/write-fault.ts";
import { open, rename, rm } from "../../../ground/platform/files/files.ts";
import { dirname } from "../../../ground/platform/files/paths.ts";
import { openSqlite } from "../../../ground/platform/state/sqlite.ts";
import { syncFolder } from "../../../ground/platform/files/synced-file.ts";
import { repairDraft } from "../check-journal.ts";
import type { Numbers } from "../chain.ts";
import { migrate } from "../journal-schema.ts";
import { isThere } from "../../git/look-at.ts";
import { asidePath, type DamageReport, damageReports, listedSessions, writeReport } from "./damage-report.ts";
import { Draft } from "./draft.ts";
import { type ReadFile, readRows, sideTables } from "./read-rows.ts";
import { settleChain, type SettledChain } from "./settle-chain.ts";
import { type LostEvents, SettledSessions } from "./settle-sessions.ts";

interface SetAsideOptions {
  key: Uint8Array;
  /** True where the key that made the chain is gone. */
  isKeyLost?: boolean;
  problem: string;
  /** Numbers that are known to have been given out; null where the file alone tells. */
  numbers?: Numbers | null;
  busyTimeoutMs: number;
}

interface SetAside extends Pick<LostEvents, "tails" | "free"> {
  report: DamageReport;
}

/**
 * Sets a damaged journal aside and replaces it with a new one that holds all readable content. No process may have it
 * open. The damaged files are only read until the new one is complete: a partial one would give numbers out again.
 * Works in portions, so that other work goes on meanwhile.
 * @throws {Error} of the file system, or of SQLite for the new file; the damaged one stays as it was
 */
export async function setAside(file: string, options: SetAsideOptions): Promise<SetAside> {
  const draft = repairDraft(file);
  await removeDraft(draft);
  try {
    const filled = await fill(draft, file, options);
    const report = await reportOf(file, { ...filled, problem: options.problem });
    await writeReport(file, report);
    await rename(draft, repairedFile(file));
    await moveIn(file, report.aside);
    return { report, tails: filled.lost.tails, free: filled.lost.free };
  } catch (error) {
    await removeDraft(draft).catch(() => {});
    throw error;
  }
}

interface Filled {
  read: ReadFile;
  chain: SettledChain;
  lost: LostEvents;
  isKeyLost: boolean;
}

async function fill(
  path: string,
  file: string,
  { key, isKeyLost = false, numbers = null, busyTimeoutMs }: SetAsideOptions,
): Promise<Filled> {
  const database = await openSqlite(path, { busyTimeoutMs });
  try {
    const draft = new Draft(database);
    migrate(database, { file, key });
    database.exec(sideTables);
    const read = await readRows(file, draft);
    const sessions = new SettledSessions(database);
    const known = numbers ?? read.numbers;
    const chain = await settleChain({
      draft,
      key,
      isKeyLost,
      numbers: known,
      onBatch: (row) => sessions.take(row),
      onLost: (from, to) => sessions.hole(from, to),
    });
    draft.begin();
    const lost = await sessions.finish(draft, { lastGseq: known?.last_gseq ?? 0, isInUse: numbers !== null });
    await draft.aside("DROP TABLE was_session; DROP TABLE was_lost_event; DROP TABLE was_lost_link;");
    await draft.finish();
    return { read: { ...read, numbers: known }, chain, lost, isKeyLost: isKeyLost || chain.isRenewed };
  } finally {
    database.close();
  }
}

async function reportOf(
  file: string,
  { read, chain, lost, isKeyLost, problem }: Filled & { problem: string },
): Promise<DamageReport> {
  const at = new Date().toISOString();
  const most = [...lost.sessions].sort(([, one], [, other]) => other - one).slice(0, listedSessions);
  return {
    v: 1,
    at,
    problem,
    aside: await isThere(file) ? asidePath(file, at) : null,
    events: chain.events,
    lost_events: [...lost.sessions.values()].reduce((sum, events) => sum + events, 0),
    lost_sessions: lost.sessions.size,
    at_most: lost.isBound,
    lost_links: chain.lostLinks,
    is_known: read.numbers !== null,
    sessions: most.map(([session_id, events]) => ({ session_id, events })),
    key_lost: isKeyLost,
  };
}

/**
 * Finishes what a host began that was killed between its last write and its end.
 * @returns path of the damaged journal; null when there was nothing to finish
 */
export async function finishSetAside(file: string): Promise<string | null> {
  if (!(await isThere(repairedFile(file)))) return null;
  const report = (await damageReports(file, { alsoMoving: true })).at(-1);
  const isMoving = report?.aside != null && !(await isThere(report.aside));
  return await moveIn(file, isMoving ? report.aside : asidePath(file, new Date().toISOString()));
}

function repairedFile(file: string): string {
  return `${file}.repaired`;
}

async function moveIn(file: string, aside: string | null): Promise<string> {
  // The text of the new file must be on the disk before its name is.
  const draft = await open(repairedFile(file), "r+");
  await draft.sync().finally(() => draft.close());
  const to = aside ?? asidePath(file, new Date().toISOString());
  for (const end of ["-wal", "-shm", ""]) {
    await rename(`${file}${end}`, `${to}${end}`).catch(nullIfMissing);
  }
  await rename(repairedFile(file), file);
  await syncFolder(dirname(file));
  return to;
}

async function removeDraft(draft: string): Promise<void> {
  for (const end of ["", "-journal", "-wal", "-shm"]) await rm(`${draft}${end}`, { force: true });
}
