import { readRecord } from "../../ground/checks/read-record.ts";
import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { closed, exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import { absent } from "../../ground/errors/write-fault.ts";
import { mkdir, readdir, rm, writeFile } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";
import { type HeldItem, wholeFolder } from "../gate/held-item.ts";
import { heldItemSchema } from "../gate/held-schema.ts";
import type { LookStart } from "../gate/known-entries.ts";
import { type Holder, holderSchema } from "./workspace-record.ts";

/** Changes of one session in place that wait for a person's word. */
export interface HeldRecord {
  session_id: string;
  /** Real absolute path of the folder that their paths are below. */
  folder: string;
  /** When the session ended; RFC 3339, UTC. */
  at: string;
  items: HeldItem[];
  /** How the session began, while it runs; absent once its folder was looked at. */
  watch?: { start: LookStart; holder: Holder };
}

const heldRecordSchema: SchemaOf<HeldRecord> = exactly<HeldRecord>()(
  Type.Object({
    session_id: Type.String(),
    folder: Type.String({ minLength: 1 }),
    at: Type.String(),
    items: Type.Array(heldItemSchema),
    watch: Type.Optional(Type.Object({
      start: Type.Object({
        since: Type.Number(),
        known: Type.Record(Type.String(), Type.Union([Type.Number(), Type.String()])),
      }, closed),
      holder: holderSchema,
    }, closed)),
  }, closed),
);

/** The held changes of sessions in place, a file for each session. */
export class HeldFiles {
  readonly #folder: string;
  readonly #holder: Holder;

  /**
   * @param folder made with the first file
   * @param holder this process
   */
  constructor(folder: string, holder: Holder) {
    this.#folder = folder;
    this.#holder = holder;
  }

  /** Keeps what is held of a session; removes its file where nothing is. */
  async write(record: HeldRecord): Promise<void> {
    const file = this.#fileOf(record.session_id);
    if (record.items.length === 0) return await rm(file, { force: true });
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await replaceFile(file, JSON.stringify(record));
  }

  /** Notes that a session works in a folder, for a host that finds this one killed. */
  async watch({ session_id, folder, start }: { session_id: string; folder: string; start: LookStart }): Promise<void> {
    const watch = { start, holder: this.#holder };
    const record: HeldRecord = { session_id, folder, at: new Date().toISOString(), items: [wholeFolder], watch };
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    // Not synced to the disk: a machine that stops loses what the session did last as well.
    await writeFile(this.#fileOf(session_id), JSON.stringify(record), { mode: 0o600 });
  }

  /** @throws {BulkheadError} `not_found` */
  async read(sessionId: string): Promise<HeldRecord> {
    const found = await this.#read(`${sessionId}.json`);
    if (found !== null && found.session_id === sessionId) return found;
    throw new BulkheadError("not_found", `Nothing of session "${sessionId}" is held.`);
  }

  async list(): Promise<HeldRecord[]> {
    const names = await readdir(this.#folder).catch(absent) ?? [];
    const all = await Promise.all(names.filter((name) => name.endsWith(".json")).map((name) => this.#read(name)));
    return all.filter((one) => one !== null).sort((a, b) => a.at < b.at ? -1 : 1);
  }

  async #read(name: string): Promise<HeldRecord | null> {
    return /^[\w-]{1,64}\.json$/.test(name) ? await readRecord(join(this.#folder, name), heldRecordSchema) : null;
  }

  #fileOf(sessionId: string): string {
    return join(this.#folder, `${sessionId}.json`);
  }
}
