import { lstat } from "../platform/files/files.ts";
import { dirname, isBelow, wayUp } from "../platform/files/paths.ts";
import type { ActedOnKind } from "./acted-on-kinds.ts";
import { absent, type Content, type ContentLook, lookAt, readContent } from "./content-state.ts";
import { type ExposedFolder, noteEnd, type Sessions, sessionsOf } from "./exposed-folders.ts";
import { placesOnTheWay, type Road, roadIn } from "./places-on-the-way.ts";
import { type ActedOnRecord, allRecords, compare, flagRecord, readRecord, writeRecord } from "./records.ts";

/** Coarsest step of a file system's clock. Milliseconds. */
const clockStepMs = 2000;

/** A file or folder that a host acts on. */
export interface ActedOn {
  /** Absolute. */
  path: string;
  kind: ActedOnKind;
  /** Digest of the file's bytes as the caller has read them. */
  sha256?: string | undefined;
}

/** Whether a host may act on something, as far as one exposed folder is concerned. */
export type Belief =
  | { believed: true }
  | { believed: false; content: Content; record: ActedOnRecord | null };

/**
 * Decides whether a host may act on what stands at a path, and records it if so. It is believed where it is as it was
 * recorded, where it changed while no contained session could write it, and where it is older than the first of them.
 * @param places on the way to its path
 */
export async function standingIn(
  folder: ExposedFolder,
  actedOn: ActedOn,
  places: readonly string[],
): Promise<Belief> {
  const road = roadIn(folder.path, places);
  const sessions = await settledSessions(folder);
  return await standingAmong(folder, actedOn, { road, sessions, record: readRecord(folder, road) });
}

/** Facts that were read for {@link standingAmong}. */
interface Known {
  road: Road;
  record: ActedOnRecord | null;
  sessions: Sessions;
}

/** As {@link standingIn}, for what was read already. */
export async function standingAmong(
  folder: ExposedFolder,
  { path, kind, sha256 }: ActedOn,
  { road, record, sessions }: Known,
): Promise<Belief> {
  if (record === null) return await standingOfUnknown(folder, { path, kind, sha256 }, { road, sessions });
  const { isSame, look, content } = await compare(record, { road, sha256 });
  const mayChange = sessions.open.length > 0;
  if (isSame) {
    const isStale = content !== null && (look.mark !== null || record.changed || content.digest === record.next);
    if (isStale && !mayChange) writeRecord(folder, { path, road, kind, content, look });
    return { believed: true };
  }
  const now = content ?? await readContent(road, { sha256 });
  if (record.changed || mayChange || !isStill(folder, sessions)) return { believed: false, content: now, record };
  // It was as recorded when the last session had ended, so a person has changed it since.
  writeRecord(folder, { path, road, kind, content: now, look });
  return { believed: true };
}

async function standingOfUnknown(
  folder: ExposedFolder,
  { path, kind, sha256 }: ActedOn,
  { road, sessions }: Omit<Known, "record">,
): Promise<Belief> {
  // In this order: what changes after it was read is seen.
  const content = await readContent(road, { sha256 });
  const look = await lookAt(road);
  const isNewer = sessions.open.length === 0 && look.times.made > sessions.ended && isStill(folder, sessions);
  if (content.digest === absent || isNewer || await isOlder(folder, { road, look })) {
    writeRecord(folder, { path, road, kind, content, look });
    return { believed: true };
  }
  return { believed: false, content, record: null };
}

/**
 * Whether no session has begun or ended since one looked. Ask it after the content was read: what a session wrote before
 * that has left its note by now.
 */
export function isStill(folder: ExposedFolder, { open, ended }: Sessions): boolean {
  const now = sessionsOf(folder);
  return now.lost.length === 0 && now.ended === ended && now.open.every((id) => open.includes(id));
}

/**
 * Whether nothing on a road has changed since the folder was exposed, nor a folder on the way: one that was moved brings
 * old files to a new place.
 */
async function isOlder(folder: ExposedFolder, { road, look }: { road: Road; look: ContentLook }): Promise<boolean> {
  const above = road.places.flatMap((place) => wayUp(dirname(place))).filter((place) => isBelow(folder.path, place));
  const times = await Promise.all(above.map((place) => lstat(place).then(({ ctimeMs }) => ctimeMs, () => Infinity)));
  return Math.max(look.times.changed, ...times) < folder.since - clockStepMs;
}

/** The sessions of a folder. Compares first what those have left whose host was killed: no host did at their end. */
export async function settledSessions(folder: ExposedFolder): Promise<Sessions> {
  const sessions = sessionsOf(folder);
  if (sessions.lost.length === 0) return sessions;
  await flagChanges(folder);
  for (const id of sessions.lost) noteEnd(folder, id);
  return { open: sessions.open, lost: [], ended: Date.now() };
}

/** Flags everything that is not as it was recorded; to be called when a session has ended. */
export async function flagChanges(folder: ExposedFolder): Promise<void> {
  await Promise.all(
    allRecords(folder).map(async (record) => {
      const road = roadIn(folder.path, await placesOnTheWay(record.path));
      // Where the road itself is another one, the links were changed.
      const isSame = road.key === record.key && (await compare(record, { road })).isSame;
      if (!isSame) flagRecord(folder, record);
    }),
  );
}
