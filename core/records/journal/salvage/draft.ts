import type { SqliteFile } from "../../../ground/platform/state/sqlite.ts";
import { Breath } from "../../../ground/platform/engine/breath.ts";

const commitBytes = 1024 * 1024;
const moveBytes = 16 * 1024 * 1024;

/** A new journal while it is filled, in portions: transactions and the log beside the file stay small. */
export class Draft {
  readonly database: SqliteFile;
  readonly #breath = new Breath();
  #uncommitted = 0;
  #unmoved = 0;

  constructor(database: SqliteFile) {
    this.database = database;
    // It counts only once it is whole, and is brought to the disk then.
    database.exec("PRAGMA synchronous = OFF");
    database.prepare("PRAGMA journal_mode = WAL").get();
    database.prepare("PRAGMA wal_autocheckpoint = 0").get();
  }

  begin(): void {
    this.database.exec("BEGIN IMMEDIATE");
  }

  /** Ends a step that wrote some bytes. */
  async step(bytes = 64): Promise<void> {
    this.#uncommitted += bytes;
    if (this.#uncommitted >= commitBytes) {
      await this.commit();
      this.begin();
    }
    await this.#breath.take();
  }

  async commit(): Promise<void> {
    this.database.exec("COMMIT");
    this.#unmoved += this.#uncommitted;
    this.#uncommitted = 0;
    if (this.#unmoved >= moveBytes) await this.finish();
  }

  /** Runs statements on another thread, between transactions. */
  async aside(sql: string): Promise<void> {
    await this.database.execAside(sql);
  }

  /** Brings everything to the disk. */
  async finish(): Promise<void> {
    this.#unmoved = 0;
    await this.aside("PRAGMA wal_checkpoint(TRUNCATE)");
  }
}
