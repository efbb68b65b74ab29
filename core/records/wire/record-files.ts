import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { readRecord } from "../../ground/checks/read-record.ts";
import { bytesOfBase64, textOrBase64 } from "../../ground/platform/files/text-or-base64.ts";
import { lstat, mkdir, readdir, writeFile } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import {
  callSchema,
  endSchema,
  headSchema,
  type KeptCall,
  type RecordedBody,
  type RecordEnd,
  type RecordHead,
} from "./record-format.ts";

/** Bodies as a record has them. */
export const recordedBody: (bytes: Uint8Array) => RecordedBody = textOrBase64;

/** Returns the bytes of a recorded body. */
export function bytesOf(recorded: RecordedBody): Uint8Array {
  return "text" in recorded
    ? new TextEncoder().encode(recorded.text)
    : bytesOfBase64(recorded.base64) ?? new Uint8Array();
}

/**
 * Records of sessions, each a folder: `head.json`, `call-<n>.json` for each call of a model, and `end.json` once the session
 * is over. Only this user may read them. Several hosts share the folder.
 */
export class WireRecords {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Begins the record of a session; returns its folder. */
  async begin(head: RecordHead): Promise<string> {
    const folder = this.#of(head.session_id);
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await mkdir(folder, { mode: 0o700 });
    await writePart(folder, "head", head);
    return folder;
  }

  /** Returns the folder of a session's record; null where there is none. */
  async find(sessionId: string): Promise<string | null> {
    const folder = this.#of(sessionId);
    return await lstat(folder).then((found) => found.isDirectory(), () => false) ? folder : null;
  }

  /** Forgets the record of a session. */
  async forget(sessionId: string): Promise<void> {
    await removeTree(this.#of(sessionId));
  }

  /** Forgets the records of sessions that are gone. */
  async sweep(isKept: (sessionId: string) => Promise<boolean>): Promise<void> {
    for (const name of await readdir(this.folder).catch(() => [])) {
      const folder = join(this.folder, name);
      // The journal has a session a moment after its first call.
      const isNew = await lstat(folder).then(({ mtimeMs }) => Date.now() - mtimeMs < newMs, () => true);
      if (!isNew && !await isKept(name)) await removeTree(folder);
    }
  }

  #of(sessionId: string): string {
    // Ids become names of files.
    if (/^[\w-][\w.-]{0,127}$/.test(sessionId)) return join(this.folder, sessionId);
    throw new BulkheadError("invalid_request", "Cannot keep the calls of a session of that id.");
  }
}

const newMs = 60_000;

/** Writes one file of a record; returns its bytes. */
export async function writePart(
  folder: string,
  name: string,
  content: RecordHead | KeptCall | RecordEnd,
): Promise<number> {
  const bytes = new TextEncoder().encode(`${JSON.stringify(content)}\n`);
  await writeFile(join(folder, `${name}.json`), bytes, { mode: 0o600, flag: "wx" });
  return bytes.length;
}

/** Name of the file of a call. */
export function partOfCall(call: number): string {
  return `call-${String(call).padStart(6, "0")}`;
}

/** Reads the beginning of a record; null where it is damaged. */
export function readHead(folder: string): Promise<RecordHead | null> {
  return readRecord(join(folder, "head.json"), headSchema);
}

/** Reads the end of a record; null where its host was killed first. */
export function readEnd(folder: string): Promise<RecordEnd | null> {
  return readRecord(join(folder, "end.json"), endSchema);
}

/** Reads a call of a record; null where it is missing or damaged. */
export function readCall(folder: string, call: number): Promise<KeptCall | null> {
  return readRecord(join(folder, `${partOfCall(call)}.json`), callSchema);
}
