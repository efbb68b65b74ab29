import { readdir, readFile, rm } from "../../../ground/platform/files/files.ts";
import { isThere } from "../../git/look-at.ts";
import { basename, dirname, join } from "../../../ground/platform/files/paths.ts";
import { replaceFile } from "../../../ground/platform/files/replace-file.ts";

/** Account of a damaged journal. It stands beside it until the operator has taken note. */
export interface DamageReport {
  v: 1;
  at: string;
  problem: string;
  /** Path of the damaged file; null where there was none. */
  aside: string | null;
  /** Events that could be read, which the new journal holds. */
  events: number;
  /** Events that are known to be missing, and of how many sessions. */
  lost_events: number;
  lost_sessions: number;
  /** True where these are the most that can be missing: it is not known how much a running session had said. */
  at_most: boolean;
  /** Links of the chain that are missing: of batches of events that are lost or were deleted before, and of deletions. */
  lost_links: number;
  /** False where it cannot be told how much was in the file. */
  is_known: boolean;
  /** The sessions that are missing most, with how many events. */
  sessions: { session_id: string; events: number }[];
  /** True where the key was gone, so that nothing from before can be verified. */
  key_lost: boolean;
}

/** Sessions that are listed. */
export const listedSessions = 100;

/** Path of the file that is set aside at a time. */
export function asidePath(file: string, at: string): string {
  return `${file}.damaged-${at.replace(/[:.]/g, "-")}`;
}

/** Writes a report, before the files are moved: a process that is killed then leaves it for the next one. */
export async function writeReport(file: string, report: DamageReport): Promise<void> {
  await replaceFile(`${asidePath(file, report.at)}.json`, `${JSON.stringify(report, null, 2)}\n`);
}

/**
 * Reports of a journal that the operator has neither acknowledged nor removed the damaged file of, the oldest first.
 * @param options `alsoMoving`: also one whose file was not moved yet
 */
export async function damageReports(
  file: string,
  { alsoMoving = false }: { alsoMoving?: boolean } = {},
): Promise<DamageReport[]> {
  const found = await Promise.all((await reportFiles(file)).map(readReport));
  const reports = found.filter((report) => report !== null);
  if (alsoMoving) return reports;
  const kept = await Promise.all(reports.map(async (report) => report.aside === null || await isThere(report.aside)));
  return reports.filter((_, at) => kept[at]);
}

/** Forgets the reports of a journal; returns how many. The damaged files stay. */
export async function acknowledgeDamage(file: string): Promise<number> {
  const reports = await reportFiles(file);
  for (const report of reports) await rm(report, { force: true });
  return reports.length;
}

async function reportFiles(file: string): Promise<string[]> {
  const names = await readdir(dirname(file)).catch(() => []);
  const start = `${basename(file)}.damaged-`;
  const wanted = names.filter((name) => name.startsWith(start) && name.endsWith(".json")).sort();
  return wanted.map((name) => join(dirname(file), name));
}

async function readReport(path: string): Promise<DamageReport | null> {
  try {
    const report = JSON.parse(await readFile(path, "utf8")) as DamageReport;
    return report.v === 1 && Array.isArray(report.sessions) ? report : null;
  } catch {
    return null;
  }
}

/** Describes a damage and what it cost. */
export function damageSentence(report: DamageReport, file: string): string {
  const { problem, aside, events, key_lost } = report;
  const moved = aside === null
    ? "There was nothing to read."
    : `It was set aside as "${aside}". ${counted(events)} could be read and ` +
      `${events === 1 ? "is" : "are"} in a new one.`;
  const key = key_lost ? " Its key was lost, so that what was written before can no longer be verified." : "";
  return `The journal "${file}" was damaged (${problem}). ${moved} ${lostSentence(report)}${key}`;
}

function lostSentence({ lost_events, lost_sessions, lost_links, at_most, is_known, sessions }: DamageReport): string {
  const shown = sessions.slice(0, 5).map(({ session_id, events }) => `${session_id} (${events})`);
  const more = lost_sessions > shown.length ? [`${lost_sessions - shown.length} more`] : [];
  const of = lost_sessions === 0
    ? ""
    : ` of ${lost_sessions === 1 ? "1 session" : `${lost_sessions} sessions`}: ${[...shown, ...more].join(", ")}`;
  if (!is_known) {
    const least = lost_events === 0 ? "" : ` At least ${counted(lost_events)} ${isOrAre(lost_events)} missing${of}.`;
    return `How much is missing cannot be told.${least}`;
  }
  if (lost_events === 0 && lost_links === 0) return "Nothing is missing.";
  const links = `${lost_links === 1 ? "1 link" : `${lost_links} links`} of the chain ${isOrAre(lost_links)} missing`;
  if (lost_events === 0) {
    return `No event of a known session is missing, but ${links}: events were deleted before, or of sessions that are not known.`;
  }
  return `${at_most ? "Up to " : ""}${counted(lost_events)} ${isOrAre(lost_events)} missing${of}${
    lost_links === 0 ? "" : `; ${links}`
  }.`;
}

function counted(events: number): string {
  return events === 1 ? "1 event" : `${events} events`;
}

function isOrAre(count: number): string {
  return count === 1 ? "is" : "are";
}
