import { sha256Hex } from "../platform/files/hash.ts";
import { join } from "../platform/files/paths.ts";
import { namesIn, putText, readJson } from "../platform/files/small-files.ts";
import { type ActedOnKind, actedOnKinds } from "./acted-on-kinds.ts";
import { type Content, type ContentLook, lookAt, readContent } from "./content-state.ts";
import type { ExposedFolder } from "./exposed-folders.ts";
import type { Road } from "./places-on-the-way.ts";

/** Record of a file or folder that a host acts on, in one exposed folder. */
export interface ActedOnRecord {
  /** Absolute path by which a host finds it. */
  path: string;
  /** Key of the road to it. */
  key: string;
  kind: ActedOnKind;
  /** Digest of the content that is believed. */
  digest: string;
  /** Digest of the content that Bulkhead is about to write; believed as well. */
  next?: string;
  /** Text that changes with the content, so that it need not be read; null where it must be. */
  mark: string | null;
  /** Whether something else stood there when a session had ended. */
  changed: boolean;
  /** Text that is believed, where it is kept. */
  text?: string;
}

const recordSuffix = ".json";
const filesSuffix = ".files";

/** Reads what is recorded of a road; null: nothing is. */
export function readRecord(folder: ExposedFolder, { key }: Road): ActedOnRecord | null {
  return checked(readJson(recordFile(folder, key)));
}

/** Everything that is recorded in an exposed folder. */
export function allRecords({ records }: ExposedFolder): ActedOnRecord[] {
  const names = namesIn(records).filter((name) => name.endsWith(recordSuffix));
  return names.map((name) => checked(readJson(join(records, name)))).filter((record) => record !== null);
}

/** Records what stands at the end of a road now as believed. */
export function writeRecord(
  folder: ExposedFolder,
  { path, road, kind, content, look, next }: {
    path: string;
    road: Road;
    kind: ActedOnKind;
    content: Content;
    look: ContentLook;
    next?: string | undefined;
  },
): void {
  const { digest, text, files } = content;
  const record: ActedOnRecord = {
    path,
    key: road.key,
    kind,
    digest,
    mark: look.mark,
    changed: false,
    ...(next === undefined ? {} : { next }),
    ...(actedOnKinds[kind].keepsText && text !== undefined ? { text } : {}),
  };
  const file = recordFile(folder, road.key);
  if (files !== undefined) putText(filesOf(file), JSON.stringify(files));
  putText(file, JSON.stringify(record));
}

/** Notes that something else stood there when a session had ended. */
export function flagRecord(folder: ExposedFolder, record: ActedOnRecord): void {
  if (record.changed) return;
  putText(recordFile(folder, record.key), JSON.stringify({ ...record, changed: true }));
}

/** The digests of a folder's files as they are believed; null where they are not known. */
export function recordedFiles(
  folder: ExposedFolder,
  { key }: Pick<ActedOnRecord, "key">,
): Record<string, string> | null {
  return readJson(filesOf(recordFile(folder, key))) as Record<string, string> | null;
}

/**
 * Compares what stands at the end of a road with its record: size and times first, and content only where those differ.
 * @param options.sha256 digest of a file's bytes, where they were read already
 */
export async function compare(
  record: ActedOnRecord,
  { road, sha256 }: { road: Road; sha256?: string | undefined },
): Promise<{ isSame: boolean; look: ContentLook; content: Content | null }> {
  const look = await lookAt(road);
  if (record.mark !== null && record.mark === look.mark) return { isSame: true, look, content: null };
  const content = await readContent(road, { sha256 });
  const isSame = content.digest === record.digest || content.digest === record.next;
  return { isSame, look, content };
}

function checked(value: unknown): ActedOnRecord | null {
  const record = value as Partial<ActedOnRecord> | null;
  const isWhole = typeof record?.path === "string" && typeof record.key === "string" &&
    typeof record.digest === "string" &&
    typeof record.kind === "string" && Object.hasOwn(actedOnKinds, record.kind);
  return isWhole ? { mark: null, changed: false, ...record } as ActedOnRecord : null;
}

function recordFile({ records }: ExposedFolder, key: string): string {
  return join(records, `${sha256Hex(key).slice(0, 32)}${recordSuffix}`);
}

function filesOf(record: string): string {
  return `${record.slice(0, -recordSuffix.length)}${filesSuffix}`;
}
