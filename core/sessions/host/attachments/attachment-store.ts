import { BulkheadError, errorDataOf } from "../../../../plugin-sdk/errors.ts";
import {
  type AttachmentPart,
  imageBytes,
  messageBytes,
  mostAttachments,
  type Part,
  type StoredAttachment,
} from "../../../../plugin-sdk/messages.ts";
import { codeOf, isMissing, writeFault } from "../../../ground/errors/write-fault.ts";
import { digestFile } from "../../../ground/platform/files/file-digest.ts";
import { constants, lstat, mkdir, open, readdir, rename, rm, writeFile } from "../../../ground/platform/files/files.ts";
import { randomId, sha256Hex, sha256HexInTurns } from "../../../ground/platform/files/hash.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { readPlainFile } from "../../../ground/platform/files/read-plain-file.ts";
import { removeTree } from "../../../ground/platform/files/remove-tree.ts";
import { contentType, headBytes, imageTypes } from "../../../ground/platform/files/content-type.ts";

/** Client that uploads or names an attachment. */
interface AttachmentCaller {
  /** Absent: the program that the host runs in, which may name everything. */
  client?: string | undefined;
  /** Whether the client may read a session, and so what it names. Absent: none. */
  mayRead?: ((sessionId: string) => boolean) | undefined;
}

interface AttachmentLimits {
  /** All that the store holds. Bytes. */
  storeBytes: number;
  /** All that one client has uploaded and no session of it names yet. Bytes. */
  unusedBytes: number;
  /** How long an upload waits for a session that names it. Milliseconds. */
  unusedMs: number;
}

const defaultLimits: AttachmentLimits = {
  storeBytes: 1024 * 1024 * 1024,
  unusedBytes: 100 * 1024 * 1024,
  unusedMs: 3_600_000,
};

/** How long a look at the whole store holds. Milliseconds. */
const measuredForMs = 5000;

/**
 * Images and files of prompts and messages, each once, below `attachments/<sha256>/`: `content`, and an empty file for each
 * that holds it. `up.<client>` is an upload that no session of the client names yet, `by.<client>` one that a session
 * named, `in.<session>` a session that names it. Files are whole when they get their name, and are checked against it when
 * they are read. Several hosts share a store.
 */
export class AttachmentStore {
  readonly #folder: string;
  readonly #limits: AttachmentLimits;
  readonly #arriving = new Map<string, number>();
  #measured: { at: number; all: number; unused: Map<string, number> } | null = null;

  constructor(folder: string, limits: Partial<AttachmentLimits> = {}) {
    this.#folder = folder;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /**
   * Keeps an upload, which becomes a file while it comes.
   * @throws {BulkheadError} `too_large`, `limit_exceeded`, `invalid_request` for nothing, `io_error`
   */
  async add(
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { client }: AttachmentCaller = {},
  ): Promise<StoredAttachment> {
    const key = keyOf(client);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const draft = join(this.#folder, `draft.${randomId()}`);
    try {
      const bytes = await this.#receive(draft, { content, key });
      const mime_type = (await headOf(draft))?.mime_type;
      const sha256 = (await digestFile(draft, { maxBytes: messageBytes }))?.sha256;
      if (mime_type === undefined || !sha256) throw new BulkheadError("io_error", "Cannot read the upload again.");
      await this.#keep(draft, { sha256, key });
      if (this.#measured !== null) {
        this.#measured.all += bytes;
        add(this.#measured.unused, key, bytes);
      }
      return { sha256, bytes, mime_type };
    } catch (error) {
      throw errorDataOf(error) !== null ? error : this.#ioError("Cannot keep the upload", error);
    } finally {
      await rm(draft, { force: true });
    }
  }

  /**
   * Checks parts that a client names; returns them with their true types.
   * @throws {BulkheadError} `not_found` for what is not there or not the client's, `invalid_request`, `too_large`
   */
  async check<P extends Part>(parts: readonly P[], caller: AttachmentCaller): Promise<P[]> {
    let [count, bytes] = [0, 0];
    const checked: P[] = [];
    for (const part of parts) {
      if (part.type === "text") {
        checked.push(part);
        continue;
      }
      if (++count > mostAttachments) throw tooMany();
      const found = await this.#isFor(part.sha256, caller) ? await headOf(this.#content(part.sha256)) : null;
      if (found === null) throw unknown(part.sha256);
      bytes += found.bytes;
      if (bytes > messageBytes) throw tooLarge("All attachments of a message", messageBytes);
      checked.push({ ...part, mime_type: fit(part, found) });
    }
    return checked;
  }

  /**
   * Notes that a session names parts: they stay as long as its events do.
   * @throws {BulkheadError} `not_found` for what is there no more
   */
  async name(sessionId: string, parts: readonly AttachmentPart[], { client }: AttachmentCaller = {}): Promise<void> {
    const key = keyOf(client);
    for (const { sha256 } of parts) {
      const folder = join(this.#folder, sha256);
      await writeFile(join(folder, `in.${nameOf(sessionId)}`), "", { mode: 0o600 }).catch((error: unknown) => {
        throw isMissing(error) ? unknown(sha256) : this.#ioError("Cannot note an attachment", error);
      });
      if (await headOf(this.#content(sha256)) === null) throw unknown(sha256);
      await rename(join(folder, `up.${key}`), join(folder, `by.${key}`)).catch(() => {});
    }
    if (parts.length > 0) this.#measured = null;
  }

  /** @throws {BulkheadError} `not_found`; `io_error` where the file is not what its name says */
  async read(sha256: string): Promise<{ bytes: Uint8Array; mime_type: string }> {
    const bytes = isHash(sha256) ? await readPlainFile(this.#content(sha256), messageBytes) : null;
    if (bytes === null) throw unknown(sha256);
    if (await sha256HexInTurns([bytes]) !== sha256) {
      throw new BulkheadError("io_error", `Cannot read attachment "${short(sha256)}": its file was changed.`, {
        hint: "Upload it again.",
      });
    }
    return { bytes, mime_type: contentType(bytes.subarray(0, headBytes)) };
  }

  /** Forgets a session that is gone, and what it alone named. Never rejects: the next sweep tries again. */
  async forget(sessionId: string): Promise<void> {
    const marker = `in.${nameOf(sessionId)}`;
    for (const sha256 of await this.#all()) {
      const folder = join(this.#folder, sha256);
      if (await rm(join(folder, marker)).then(() => true, () => false)) await this.#dropUnheld(folder).catch(() => {});
    }
    this.#measured = null;
  }

  /**
   * Removes what nothing holds: uploads that no session named in time, what sessions named that are gone, and what a host
   * that was killed left half.
   */
  async sweep(isKept: (sessionId: string) => Promise<boolean>): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const path = join(this.#folder, name);
      if (isHash(name)) {
        for (const marker of await readdir(path).catch(() => [])) {
          const isOver = marker.startsWith("in.") && await this.#isOld(join(path, marker)) &&
            !await isKept(marker.slice(3));
          if (isOver) await rm(join(path, marker), { force: true });
        }
        await this.#dropUnheld(path);
      } else if (await this.#isOld(path)) await removeTree(path);
    }
    this.#measured = null;
  }

  /** Writes an upload to its draft; returns its bytes. */
  async #receive(
    draft: string,
    { content, key }: { content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>; key: string },
  ): Promise<number> {
    const file = await open(draft, "wx", 0o600);
    let bytes = 0;
    try {
      await this.#demandRoom(key);
      for await (const piece of content) {
        bytes += piece.byteLength;
        add(this.#arriving, key, piece.byteLength);
        if (bytes > messageBytes) throw tooLarge("An attachment", messageBytes);
        await this.#demandRoom(key);
        await file.writeFile(piece);
      }
      if (bytes === 0) throw new BulkheadError("invalid_request", "Cannot keep the upload: it is empty.");
      await file.sync();
      return bytes;
    } finally {
      add(this.#arriving, key, -bytes);
      await file.close();
    }
  }

  /** Gives a draft its name. The mark comes first: a folder that another host is about to remove takes it away. */
  async #keep(draft: string, { sha256, key }: { sha256: string; key: string }): Promise<void> {
    const folder = join(this.#folder, sha256);
    for (let tries = 3;; tries--) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeFile(join(folder, `up.${key}`), "", { mode: 0o600 });
        return await rename(draft, this.#content(sha256));
      } catch (error) {
        if (tries === 0 || !isMissing(error)) throw error;
      }
    }
  }

  /** @throws {BulkheadError} `limit_exceeded` */
  async #demandRoom(key: string): Promise<void> {
    const { all, unused } = await this.#measure();
    const arriving = [...this.#arriving.values()].reduce((sum, bytes) => sum + bytes, 0);
    const { storeBytes, unusedBytes } = this.#limits;
    if ((unused.get(key) ?? 0) + (this.#arriving.get(key) ?? 0) > unusedBytes) {
      throw new BulkheadError(
        "limit_exceeded",
        `Cannot keep the upload: ${unusedBytes} bytes of this client wait to be named by a session.`,
        { hint: "Name them in a request or a message. What no session names goes after an hour." },
      );
    }
    if (all + arriving <= storeBytes) return;
    throw new BulkheadError("limit_exceeded", `Cannot keep the upload: attachments take ${storeBytes} bytes already.`, {
      hint: "Delete sessions that have some: bulkhead session delete.",
    });
  }

  async #measure(): Promise<{ all: number; unused: Map<string, number> }> {
    if (this.#measured !== null && Date.now() - this.#measured.at < measuredForMs) return this.#measured;
    const measured = { at: Date.now(), all: 0, unused: new Map<string, number>() };
    for (const sha256 of await this.#all()) {
      const bytes = await lstat(this.#content(sha256)).then(({ size }) => size, () => 0);
      measured.all += bytes;
      for (const marker of await readdir(join(this.#folder, sha256)).catch(() => [])) {
        if (marker.startsWith("up.")) add(measured.unused, marker.slice(3), bytes);
      }
    }
    return this.#measured = measured;
  }

  /** Whether a client may name a file: it uploaded it itself, or may read a session that names it. A hash alone gives nothing. */
  async #isFor(sha256: string, { client, mayRead }: AttachmentCaller): Promise<boolean> {
    if (!isHash(sha256)) return false;
    if (client === undefined) return true;
    const markers = await readdir(join(this.#folder, sha256)).catch(() => []);
    const key = keyOf(client);
    return markers.some((marker) =>
      marker === `up.${key}` || marker === `by.${key}` ||
      marker.startsWith("in.") && mayRead?.(marker.slice(3)) === true
    );
  }

  /** Removes a file that no session and no new upload holds. */
  async #dropUnheld(folder: string): Promise<void> {
    if (await this.#isHeld(folder)) return;
    const gone = join(this.#folder, `gone.${randomId()}`);
    if (!await rename(folder, gone).then(() => true, () => false)) return;
    // Another host may have marked it in between.
    if (await this.#isHeld(gone) && await rename(gone, folder).then(() => true, () => false)) return;
    await removeTree(gone);
  }

  async #isHeld(folder: string): Promise<boolean> {
    for (const marker of await readdir(folder).catch(() => [])) {
      if (marker.startsWith("in.")) return true;
      if (marker.startsWith("up.") && !await this.#isOld(join(folder, marker))) return true;
    }
    return false;
  }

  async #isOld(path: string): Promise<boolean> {
    const at = await lstat(path).then(({ mtimeMs }) => mtimeMs, () => Date.now());
    return Date.now() - at >= this.#limits.unusedMs;
  }

  async #all(): Promise<string[]> {
    return (await readdir(this.#folder).catch(() => [])).filter(isHash);
  }

  #ioError(what: string, cause: unknown): BulkheadError {
    const fault = writeFault(cause, `"${this.#folder}"`);
    const why = fault?.state ?? `the system refused it (${codeOf(cause) || "unknown"})`;
    return new BulkheadError("io_error", `${what}: ${why}.`, { hint: fault?.hint, cause });
  }

  #content(sha256: string): string {
    return join(this.#folder, sha256, "content");
  }
}

/** Returns size and type of a plain file, never through a link; null for any other. */
async function headOf(path: string): Promise<{ bytes: number; mime_type: string } | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (file === null) return null;
  try {
    const found = await file.stat();
    if (!found.isFile()) return null;
    const { bytesRead, buffer } = await file.read(new Uint8Array(headBytes), 0, headBytes, 0);
    return { bytes: found.size, mime_type: contentType(buffer.subarray(0, bytesRead)) };
  } finally {
    await file.close();
  }
}

/** Returns the type of a part. @throws {BulkheadError} `invalid_request`, `too_large` */
function fit(part: AttachmentPart, { bytes, mime_type }: { bytes: number; mime_type: string }): string {
  if (part.type === "image") {
    if (!imageTypes.has(mime_type)) {
      const known = [...imageTypes.keys()].join(", ");
      throw new BulkheadError(
        "invalid_request",
        `Cannot take attachment "${short(part.sha256)}" as an image: it is ${mime_type}.`,
        { hint: `Images are ${known}. Name any other as a file.` },
      );
    }
    if (bytes > imageBytes) throw tooLarge("An image", imageBytes);
  } else if (hasPath(part.name)) {
    throw new BulkheadError("invalid_request", `Cannot take attachment "${short(part.sha256)}": its name is a path.`, {
      hint: "Give the file's name alone, without folders and control characters.",
    });
  }
  return mime_type;
}

function hasPath(name: string): boolean {
  return /[/\\\p{C}]/u.test(name) || name === "." || name === "..";
}

function keyOf(client = ""): string {
  return sha256Hex(client).slice(0, 32);
}

/** @throws {BulkheadError} `invalid_request` for an id that is no name of a file */
function nameOf(sessionId: string): string {
  if (/^[\w.-]{1,128}$/.test(sessionId)) return sessionId;
  throw new BulkheadError("invalid_request", "Cannot keep attachments for a session of that id.");
}

function isHash(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name);
}

function add(sums: Map<string, number>, key: string, bytes: number): void {
  const sum = (sums.get(key) ?? 0) + bytes;
  if (sum === 0) sums.delete(key);
  else sums.set(key, sum);
}

function short(sha256: string): string {
  return sha256.slice(0, 12);
}

/** The same words for a file of another client: a hash must not tell whether the host has it. */
function unknown(sha256: string): BulkheadError {
  return new BulkheadError("not_found", `Cannot find attachment "${short(sha256)}".`, {
    hint: "Upload it first, and name it within an hour.",
  });
}

function tooMany(): BulkheadError {
  return new BulkheadError("too_large", `Cannot take more than ${mostAttachments} attachments at once.`);
}

function tooLarge(what: string, most: number): BulkheadError {
  return new BulkheadError("too_large", `${what} may have at most ${most} bytes.`, {
    hint: "Put it into the working directory, and name it in the prompt.",
  });
}
