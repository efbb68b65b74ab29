import { defaultJournalSync, type JournalSync } from "../../ground/config/journal-sync.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";
import { openSyncedFile, type SyncedFile } from "../../ground/platform/files/synced-file.ts";
import { type ChainKey, chainKeyFile, findChainKey, writeChainKey } from "./chain-key.ts";
import { clearSuspect, goneProblem, newestProblem, suspectedProblem } from "./check-journal.ts";
import { DamageError, damageIn } from "./damage.ts";
import { openDiskSync } from "./disk-sync.ts";
import { openJournalDatabase } from "./journal-database.ts";
import { journalError } from "./journal-error.ts";
import { defaultJournalLimits, type JournalLimits } from "./journal-limits.ts";
import type { JournalRoomDeps } from "./journal-room.ts";
import type { NumberRun, Numbers } from "./chain.ts";
import { readNumber } from "./journal-schema.ts";
import type { Journal } from "./journal.ts";
import { MendedJournal, type Replaced } from "./mended-journal.ts";
import { damageSentence } from "./salvage/damage-report.ts";
import { damagedFrames } from "./salvage/log-frames.ts";
import { finishSetAside, setAside } from "./salvage/set-aside.ts";
import { SqliteJournal } from "./sqlite-journal.ts";

interface JournalOptions {
  /** Events that an acknowledged append protects, and from what; default: {@link defaultJournalSync}. */
  sync?: JournalSync | undefined;
  /** Limits that differ from `defaultJournalLimits`. */
  limits?: Partial<JournalLimits>;
  /** Room that is given up when the disk is full; default: none. */
  reserve?: JournalRoomDeps["reserve"];
  /** Is told what could not be written, and asks whether it can be again; default: none. */
  health?: JournalRoomDeps["health"];
  /** Opens the file that commits go to, for `sync: full`; default: {@link openSyncedFile}. */
  openSynced?(path: string): Promise<SyncedFile>;
  /**
   * Called with a sentence about the file's problem. With this callback a damaged file is set aside, at the opening or
   * at any later call, and its readable content goes into a new one; without it such a file is refused.
   */
  onProblem?(message: string): void;
  /** Called when another file has taken the place of a damaged one while the journal was in use. */
  onReplaced?(): void;
}

/**
 * Opens the journal in a SQLite file, which is made when there is none; its folder must exist.
 *
 * An acknowledged append survives any end of this process, also SIGKILL. With `sync: full` it survives a power loss too, and
 * nothing is read that would not. With `sync: normal` a power loss or a crash of the system can lose the appends
 * acknowledged in about the last `checkpoint_interval_ms`; the rest stays whole. One process writes at a time: an append of
 * a second one that does not continue the file's numbers is refused.
 * @throws {BulkheadError} `journal_error` for a file that is damaged, of another program, or cannot be written
 */
export async function openJournal(file: string, options: JournalOptions = {}): Promise<Journal> {
  try {
    const opener = new Opener(file, options);
    const journal = await opener.open();
    if (options.onProblem === undefined) return journal;
    return new MendedJournal(journal, {
      file,
      suspected: () => suspectedProblem(file),
      replace: (problem, numbers) => opener.replace(problem, numbers),
    });
  } catch (error) {
    throw journalError(`Cannot open the journal "${file}"`, error, options.health?.faultOf(error) ?? undefined);
  }
}

/** Opens one file, and another in its place where it is damaged. */
class Opener {
  readonly #file: string;
  readonly #options: JournalOptions;
  readonly #limits: JournalLimits;
  readonly #tell: ((message: string) => void) | undefined;

  constructor(file: string, options: JournalOptions) {
    this.#file = file;
    this.#options = options;
    this.#limits = { ...defaultJournalLimits, ...options.limits };
    this.#tell = options.onProblem?.bind(options);
  }

  async open(): Promise<SqliteJournal> {
    const file = this.#file;
    const aside = await finishSetAside(file);
    if (aside !== null) {
      this.#tell?.(
        `The journal "${file}" was damaged, and its repair is finished now. It was set aside as "${aside}".`,
      );
    }
    const found = await findChainKey(chainKeyFile(file), { mend: this.#tell !== undefined });
    try {
      if (this.#tell !== undefined) await demandUndamaged(file, found);
      return await this.#openFile(found);
    } catch (error) {
      const problem = damageIn(error);
      const isForeign = found.state === "new" && error instanceof Error && error.cause instanceof DamageError;
      if (problem === null || this.#tell === undefined || isForeign) throw error;
      return (await this.#replaced(problem, { found, numbers: null })).journal;
    }
  }

  /** Replaces a damaged file that was in use. */
  async replace(problem: string, numbers: Numbers): Promise<Replaced> {
    const found = await findChainKey(chainKeyFile(this.#file), { mend: true });
    const replaced = await this.#replaced(problem, { found, numbers });
    this.#options.onReplaced?.();
    return replaced;
  }

  async #replaced(
    problem: string,
    { found, numbers }: { found: ChainKey; numbers: Numbers | null },
  ): Promise<Replaced> {
    const file = this.#file;
    const key = found.state === "found" ? found.key : await writeChainKey(chainKeyFile(file), found.key);
    const { report, tails, free } = await setAside(file, {
      key,
      isKeyLost: found.state !== "found",
      problem,
      numbers,
      busyTimeoutMs: this.#limits.busy_timeout_ms,
    });
    await clearSuspect(file);
    this.#tell?.(damageSentence(report, file));
    return { journal: await this.#openFile({ key, state: "found" }, free), tails };
  }

  async #openFile({ key: made, state }: ChainKey, lostNumbers: NumberRun | null = null): Promise<SqliteJournal> {
    const { sync = defaultJournalSync, openSynced = openSyncedFile, reserve, health } = this.#options;
    const opening = { file: this.#file, limits: this.#limits, sync };
    const database = await openJournalDatabase({ ...opening, key: made });
    try {
      if (state !== "found") demandOwnKey(database, made);
      // The key is written last: where it is, a journal was.
      const key = state === "found" ? made : await writeChainKey(chainKeyFile(this.#file), made);
      const problem = this.#tell === undefined ? null : newestProblem(database, key);
      if (problem !== null) throw new DamageError(problem);
      const disk = sync === "full" ? await openDiskSync(() => openSynced(`${this.#file}-wal`)) : null;
      return new SqliteJournal(database, { ...opening, key, disk, reserve, health, lostNumbers });
    } catch (error) {
      database.close();
      throw error;
    }
  }
}

/** @throws {DamageError} for a journal whose key is gone */
function demandOwnKey(database: SqliteFile, key: Uint8Array): void {
  const links = readNumber(database, "SELECT head_number FROM state", "head_number");
  if (links > 0 && newestProblem(database, key) !== null) throw new DamageError("its key is gone");
}

/**
 * Looks for damage that SQLite would pass over without a word.
 * @throws {DamageError}
 */
async function demandUndamaged(file: string, { state }: ChainKey): Promise<void> {
  const problem = await suspectedProblem(file);
  if (problem !== null) throw new DamageError(problem);
  if (state === "damaged") throw new DamageError("its key was damaged");
  const gone = await goneProblem(file);
  if (gone !== null) throw new DamageError(gone);
  const frames = await damagedFrames(`${file}-wal`);
  if (frames > 0) {
    throw new DamageError(`its write-ahead log is damaged in ${frames === 1 ? "a place" : `${frames} places`}`);
  }
}
