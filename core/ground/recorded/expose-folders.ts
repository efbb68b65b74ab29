import { isInside } from "../platform/files/paths.ts";
import { actedOnKinds } from "./acted-on-kinds.ts";
import { lookAt, readContent } from "./content-state.ts";
import {
  type ExposedFolder,
  exposedFolder,
  noteEnd,
  noteExposed,
  noteSession,
  type Sessions,
} from "./exposed-folders.ts";
import { placesOnTheWay, roadIn } from "./places-on-the-way.ts";
import { allRecords, writeRecord } from "./records.ts";
import { type ActedOn, flagChanges, isStill, settledSessions, standingAmong } from "./standing.ts";

interface ExposeOptions {
  /** Tells the session apart from all others. */
  id: string;
  /** Folders that it may write. Real absolute paths. */
  folders: readonly string[];
  /** Everything that this host acts on, wherever it is, there or not. */
  actedOn: readonly ActedOn[];
}

/**
 * Records what the host acts on in folders that a contained session is about to write. Call it before the first program
 * of that session starts.
 * @returns compares all of it once the session's programs have ended
 */
export async function exposeFolders({ id, folders, actedOn }: ExposeOptions): Promise<() => Promise<void>> {
  const placed = await Promise.all(actedOn.map(async (one) => ({ one, places: await placesOnTheWay(one.path) })));
  const exposed = await Promise.all([...new Set(folders)].map(async (folder) => {
    const inside = placed.filter(({ places, one }) =>
      places.some((place) => isInside(folder, place) || (actedOnKinds[one.kind].isFolder && isInside(place, folder)))
    );
    return await expose(folder, { id, inside });
  }));
  return async () => {
    await Promise.all(exposed.map(async (folder) => {
      await flagChanges(folder);
      noteEnd(folder, id);
    }));
  };
}

async function expose(
  path: string,
  { id, inside }: { id: string; inside: readonly { one: ActedOn; places: readonly string[] }[] },
): Promise<ExposedFolder> {
  const folder = exposedFolder(path);
  const sessions = await settledSessions(folder);
  const records = allRecords(folder);
  const known = new Map(records.map((record) => [record.key, record]));
  const isFirst = folder.since === 0 && isUntouched(sessions);
  const named = new Set(inside.map(({ one }) => one.path));
  const others = records.filter(({ path }) => !named.has(path)).map(async ({ path, kind }) => {
    return { one: { path, kind }, places: await placesOnTheWay(path) };
  });
  await Promise.all([...inside, ...await Promise.all(others)].map(async ({ one, places }) => {
    const road = roadIn(folder.path, places);
    const record = known.get(road.key) ?? null;
    if (!isFirst || record !== null) return void await standingAmong(folder, one, { road, record, sessions });
    const look = await lookAt(road);
    const content = await readContent(road);
    // Another session that begins at the same time has recorded it before it changed anything.
    if (isStill(folder, sessions)) writeRecord(folder, { ...one, road, content, look });
  }));
  if (folder.since === 0) noteExposed(folder);
  noteSession(folder, id);
  return folder;
}

function isUntouched({ open, lost, ended }: Sessions): boolean {
  return open.length === 0 && lost.length === 0 && ended === 0;
}
