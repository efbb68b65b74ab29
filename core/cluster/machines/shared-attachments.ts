import { type ObjectStore, Objm } from "@nats-io/obj";
import { BulkheadError, errorDataOf } from "../../../plugin-sdk/errors.ts";
import { within } from "../../ground/platform/engine/within.ts";
import { messageBytes } from "../../../plugin-sdk/messages.ts";
import type { SharedBytes } from "../../sessions/host/host-seams.ts";
import type { Engine } from "../engine/engine.ts";

/** How long the servers keep an image or a file. Milliseconds: as long as a session may wait for a machine. */
const keptMs = 7 * 24 * 3_600_000;
/** Age at which one that is put again is stored again. Milliseconds. */
const renewMs = 24 * 3_600_000;
/** All that the servers keep of them. Bytes. */
const mostBytes = 1024 * 1024 * 1024;
/** Longest wait for the servers, for one image or file. Milliseconds. */
const patienceMs = 20_000;

/** Images and files in the servers' object store, by their hash: for a session or a message that goes to another machine. */
export class SharedAttachments implements SharedBytes {
  readonly #engine: Engine;
  #store: Promise<ObjectStore> | null = null;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async put(sha256: string, read: () => Promise<Uint8Array>): Promise<void> {
    await this.#asked(async (store) => {
      const there = await store.info(sha256);
      if (there !== null && !there.deleted && Date.now() - Date.parse(there.mtime) < renewMs) return;
      const bytes = await read();
      const { size } = await store.status();
      if (size + bytes.byteLength > mostBytes) {
        throw new BulkheadError(
          "limit_exceeded",
          `Cannot send attachments to another machine: the servers keep ${size} bytes of them already.`,
          { hint: "They go a week after they were sent. Put the file into the working directory." },
        );
      }
      await store.putBlob({ name: sha256 }, bytes);
    });
  }

  async get(sha256: string): Promise<Uint8Array | null> {
    return await this.#asked(async (store) => {
      const there = await store.info(sha256);
      return there === null || there.deleted || there.size > messageBytes ? null : await store.getBlob(sha256);
    });
  }

  /** @throws {BulkheadError} `unavailable` */
  async #asked<T>(act: (store: ObjectStore) => Promise<T>): Promise<T> {
    const asking = this.#opened().then(act);
    try {
      if (await within(asking, patienceMs)) return await asking;
    } catch (error) {
      if (errorDataOf(error) !== null) throw error;
      throw away(error);
    }
    throw away();
  }

  #opened(): Promise<ObjectStore> {
    const { client, names, replicas } = this.#engine;
    // Its age is counted in nanoseconds.
    const options = { replicas, ttl: keptMs * 1e6 };
    return this.#store ??= new Objm(client).create(names.attachments, options).catch((error: unknown) => {
      this.#store = null;
      throw error;
    });
  }
}

function away(cause?: unknown): BulkheadError {
  return new BulkheadError("unavailable", "Cannot share an image or a file: the cluster's servers do not take it.", {
    hint: "Try again when they are back (bulkhead cluster status), or look at this machine's rights there.",
    cause,
  });
}
