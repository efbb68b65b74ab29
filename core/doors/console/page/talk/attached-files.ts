import { type Signal, signal } from "@preact/signals";
import {
  type AttachmentPart,
  imageBytes,
  messageBytes,
  mostAttachments,
  type StoredAttachment,
} from "../../../../../plugin-sdk/messages.ts";
import { contentType, headBytes, imageTypes } from "../../../../ground/platform/files/content-type.ts";
import { type HostApi, RefusedCall } from "../api.ts";
import { plainText } from "../shown-text.ts";
import { pictureOf, type Pictures } from "./pictures.ts";

/** How far a file is on its way to the host. `waits`: the host was not there; it is sent with the message. */
type UploadState =
  | { kind: "uploading"; sent: number }
  | { kind: "waits" }
  | { kind: "stored"; part: AttachmentPart; at: number }
  | { kind: "refused"; text: string; hint?: string | undefined };

/** A file that a person has put to a message. */
export interface DraftFile {
  key: number;
  /** Without the signs that a name of a file cannot have. */
  name: string;
  isImage: boolean;
  mimeType: string;
  file: Blob;
  picture: ImageBitmap | null;
  state: UploadState;
}

/** Kinds of attachments that an agent takes; null: not known yet, the host decides. */
export type TakenKinds = { agent: string; images: boolean; files: boolean } | null;

interface AttachedFilesDeps {
  api: Pick<HostApi, "upload">;
  pictures: Pick<Pictures, "keep">;
}

/** The host keeps an upload that no message names for an hour. */
const freshMs = 45 * 60_000;

/** The images and files of one message that is written. Each is sent to the host at once, and again where that was long ago. */
export class AttachedFiles {
  readonly list: Signal<readonly DraftFile[]> = signal([]);
  /** Sentences about files that were not taken. */
  readonly refusals: Signal<readonly string[]> = signal([]);
  readonly #deps: AttachedFilesDeps;
  readonly #uploads = new Map<number, { over: AbortController; done: Promise<void> }>();
  #last = 0;

  constructor(deps: AttachedFilesDeps) {
    this.#deps = deps;
  }

  /** Takes files that fit, and says of each other one why it does not. */
  async add(files: readonly File[], takes: TakenKinds): Promise<void> {
    this.refusals.value = [];
    for (const file of files) {
      const mimeType = await file.slice(0, headBytes).arrayBuffer().then(
        (head) => contentType(new Uint8Array(head)),
        () => null,
      );
      const name = file.name.replace(/[/\\\p{C}]|^\.+$/gu, "_").slice(0, 200) || "file";
      const why = mimeType === null ? "the browser cannot read it" : this.#whyNot(file.size, { mimeType, takes });
      if (mimeType === null || why !== null) {
        this.refusals.value = [...this.refusals.value, `${plainText(name, 80)} was not added: ${why}.`];
        continue;
      }
      const isImage = imageTypes.has(mimeType);
      const picture = await pictureOf(file, mimeType);
      const state = { kind: "uploading" as const, sent: 0 };
      const one = { key: ++this.#last, name, isImage, mimeType, file, picture, state };
      this.list.value = [...this.list.value, one];
      void this.#upload(one);
    }
  }

  remove(key: number): void {
    this.#uploads.get(key)?.over.abort();
    this.#uploads.delete(key);
    this.refusals.value = [];
    this.list.value = this.list.value.filter((one) => one.key !== key);
  }

  /** Forgets the files of a message that has arrived. */
  clear(parts: readonly AttachmentPart[]): void {
    const arrived = new Set(parts.map(({ sha256 }) => sha256));
    this.list.value = this.list.value.filter(({ state }) => state.kind !== "stored" || !arrived.has(state.part.sha256));
    this.refusals.value = [];
  }

  /**
   * Waits until the host has every file; returns them as parts of a message.
   * @throws {RefusedCall} the host is away, or does not take one
   */
  async parts(): Promise<AttachmentPart[]> {
    for (const one of this.list.value) {
      const { state } = one;
      const isOld = state.kind === "stored" && Date.now() - state.at > freshMs;
      if (state.kind === "waits" || isOld) void this.#upload(one);
    }
    await Promise.all([...this.#uploads.values()].map(({ done }) => done));
    return this.list.value.map(({ state, name }) => {
      if (state.kind === "stored") return state.part;
      if (state.kind !== "refused") {
        throw new RefusedCall(0, { code: "network_error", message: "Cannot reach the host." });
      }
      throw new RefusedCall(422, {
        code: "invalid_request",
        message: `The host did not take ${plainText(name, 80)}.`,
        hint: "Remove it, then send the message.",
      });
    });
  }

  /** Returns why a file cannot be put to the message; null where it can. */
  #whyNot(bytes: number, { mimeType, takes }: { mimeType: string; takes: TakenKinds }): string | null {
    const list = this.list.value;
    const isImage = imageTypes.has(mimeType);
    if (takes !== null && !(isImage ? takes.images : takes.files)) return notTaken(takes, isImage);
    if (bytes === 0) return "it is empty";
    if (isImage && bytes > imageBytes) {
      return `an image may have ${sizeText(imageBytes)}, and it has ${sizeText(bytes)}`;
    }
    if (list.length >= mostAttachments) return `a message has ${mostAttachments} images and files at most`;
    const all = list.reduce((sum, { file }) => sum + file.size, bytes);
    return all > messageBytes ? `all of a message may have ${sizeText(messageBytes)} together` : null;
  }

  async #upload(one: DraftFile): Promise<void> {
    const { key, file, isImage, name, picture } = one;
    const over = new AbortController();
    const set = (state: UploadState) => {
      if (over.signal.aborted) return;
      this.list.value = this.list.value.map((other) => other.key === key ? { ...other, state } : other);
    };
    const act = async () => {
      set({ kind: "uploading", sent: 0 });
      try {
        const options = { signal: over.signal, sent: (sent: number) => set({ kind: "uploading", sent }) };
        const { sha256, mime_type } = await this.#deps.api.upload<StoredAttachment>("/v1/attachments", file, options);
        if (picture !== null) this.#deps.pictures.keep(sha256, picture);
        const part: AttachmentPart = isImage
          ? { type: "image", sha256, mime_type }
          : { type: "file", sha256, name, mime_type };
        set({ kind: "stored", part, at: Date.now() });
      } catch (error) {
        const isAway = error instanceof RefusedCall && (error.status === 0 || error.status === 503);
        if (isAway) set({ kind: "waits" });
        else if (error instanceof RefusedCall) set({ kind: "refused", text: error.message, hint: error.hint });
        else set({ kind: "refused", text: String(error) });
      }
      if (this.#uploads.get(key)?.over === over) this.#uploads.delete(key);
    };
    const done = act();
    this.#uploads.set(key, { over, done });
    await done;
  }
}

/** Says that an agent does not take a kind, and what to do instead. */
export function notTaken({ agent, images, files }: NonNullable<TakenKinds>, isImage: boolean): string {
  if (images && !isImage) return `it is no PNG, JPEG, GIF or WebP, and ${agent} takes no other files`;
  if (files) return `${agent} takes no images`;
  return `${agent} takes no images and files. Put it into the agent's folder and name it in your words`;
}

/** Bytes for a person. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const [amount, unit] = bytes < 1024 * 1024 ? [bytes / 1024, "KiB"] : [bytes / 1024 / 1024, "MiB"];
  return `${amount < 10 && amount % 1 !== 0 ? amount.toFixed(1) : Math.round(amount)} ${unit}`;
}
