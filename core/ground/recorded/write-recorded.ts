import { open, realpath, stat } from "../platform/files/files.ts";
import { sha256Hex } from "../platform/files/hash.ts";
import { replaceFile } from "../platform/files/replace-file.ts";
import type { ActedOnKind } from "./acted-on-kinds.ts";
import { absent, type Content, lookAt, readContent } from "./content-state.ts";
import { exposedOver, sessionsOf } from "./exposed-folders.ts";
import { placesOnTheWay, type Road, roadIn } from "./places-on-the-way.ts";
import { writeRecord } from "./records.ts";

/** Text of a file that hosts act on. */
interface OwnText {
  kind: ActedOnKind;
  text: string;
}

/**
 * Writes a file that hosts act on, and records it; ask `demandRecorded` first. While a contained session runs that may
 * write there, the file is written where it stands: its guard is a mount on the file, which another file that takes its
 * name would knock off. Otherwise it is replaced, all of it or nothing.
 * @param path absolute
 */
export async function writeRecorded(path: string, { kind, text, mode }: OwnText & { mode: number }): Promise<void> {
  const places = await placesOnTheWay(path);
  const folders = exposedOver(places, { within: false });
  const file = await realpath(path).catch(() => path);
  if (folders.length === 0) return await replaceFile(file, text, mode);
  for (const folder of folders) {
    const road = roadIn(folder.path, places);
    const look = await lookAt(road);
    const content = await readContent(road);
    // A process that is killed meanwhile leaves either, and both are believed.
    const { digest: next } = await contentOf(road, text);
    writeRecord(folder, { path, road, kind, content, look, next });
  }
  const sessions = folders.map(sessionsOf);
  if (sessions.some(({ open }) => open.length > 0)) await writeInPlace(file, text, mode);
  else await replaceFile(file, text, mode);
  await recordWritten(path, { kind, text });
}

/** Records a file that was just written with this text; whatever else stands there by now is not believed. */
export async function recordWritten(path: string, { kind, text }: OwnText): Promise<void> {
  const places = await placesOnTheWay(path);
  for (const folder of exposedOver(places, { within: false })) {
    const road = roadIn(folder.path, places);
    const look = await lookAt(road);
    writeRecord(folder, { path, road, kind, look, content: { ...await contentOf(road, text), text } });
  }
}

/** Content at the end of a road once it has this text. */
async function contentOf(road: Road, text: string): Promise<Content> {
  const sha256 = sha256Hex(text);
  const content = await readContent(road, { sha256 });
  return content.digest === absent ? { digest: `sha256:${sha256}`, text } : content;
}

/** Writes the new text before cutting the rest off: the file is never empty. Undoes what a full disk refuses. */
async function writeInPlace(file: string, text: string, mode: number): Promise<void> {
  const isThere = await stat(file).then(() => true, () => false);
  const opened = await open(file, isThere ? "r+" : "wx", mode);
  try {
    const before = isThere ? await opened.readFile() : new Uint8Array();
    try {
      await putAll(opened, new TextEncoder().encode(text));
    } catch (error) {
      // The old text has its room on the disk already.
      await putAll(opened, before);
      throw error;
    }
    await opened.sync();
  } finally {
    await opened.close();
  }
}

async function putAll(file: Awaited<ReturnType<typeof open>>, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += (await file.write(bytes, at, bytes.length - at, at)).bytesWritten;
  await file.truncate(bytes.length);
}
