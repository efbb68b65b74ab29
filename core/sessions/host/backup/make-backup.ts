import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { demandRecorded } from "../../../ground/recorded/demand-recorded.ts";
import { digestFile } from "../../../ground/platform/files/file-digest.ts";
import { copyFile, mkdir, readdir, stat } from "../../../ground/platform/files/files.ts";
import { dirname, isInside, join } from "../../../ground/platform/files/paths.ts";
import { removeTree } from "../../../ground/platform/files/remove-tree.ts";
import { syncFolder } from "../../../ground/platform/files/synced-file.ts";
import { writeNewFile } from "../../../ground/platform/files/write-new-file.ts";
import { chainKeyFile } from "../../../records/journal/chain-key.ts";
import { copyJournal } from "../../../records/journal/copy-journal.ts";
import { verifyJournal } from "../../../records/journal/verify-journal.ts";
import { stateJournals } from "../state/state-journals.ts";
import {
  type BackedUpFile,
  type BackupIndex,
  configFiles,
  indexName,
  type Installation,
  partsOf,
} from "./backup-format.ts";

/** Folders of a state folder that outlive a host, beside the journals. The rest is made again, or means this machine. */
const keptFolders = ["data", "pins", "crashes", "http", "attachments", "wire"];

/** Result of {@link makeBackup}. */
export interface BackupReport {
  folder: string;
  files: number;
  bytes: number;
  /** Journals that do not verify; they are in the backup as they are. Absolute paths. */
  unverified: string[];
  /** Worktrees of sessions: they belong to repositories of this machine, and are not in the backup. */
  worktrees_left_out: number;
}

interface BackupOptions {
  version: string;
  /** Called with what is being copied. */
  onProgress?(what: string): void;
}

/**
 * Copies an installation into a new folder that only this user may read: journals, plugins' data, tokens, secrets, host
 * manifest, lock and installed packages. A daemon may run meanwhile: each journal is copied as it is at one moment, and the
 * copy is verified. When it throws, nothing stays.
 * @throws {BulkheadError} `already_exists`, `invalid_config` for a folder in what is backed up, `unaccepted_change` for what an agent may have written, `journal_error`, `io_error`
 */
export async function makeBackup(
  from: Installation,
  folder: string,
  { version, onProgress = () => {} }: BackupOptions,
): Promise<BackupReport> {
  const { state, installed } = await partsOf(from);
  if ([state, installed].some((place) => place && isInside(place, folder))) {
    throw new BulkheadError("invalid_config", `Cannot back up into "${folder}": it lies in what is backed up.`, {
      hint: "Name a folder outside the state folder and the installed packages.",
    });
  }
  await makeFolder(folder);
  try {
    const backup = new Backup(folder, onProgress);
    // Journals come first: the other files may speak of them.
    for (const { part, file } of await stateJournals(from.stateDir)) await backup.addJournal(part, file);
    for (const name of keptFolders) await backup.addTree(`state/${name}`, join(from.stateDir, name));
    await demandRecorded(from.secretsFile, "secrets");
    await backup.addFile("secrets/secrets.json", from.secretsFile);
    if (from.manifestFile !== undefined) await addConfig(backup, from, from.manifestFile);
    const index: BackupIndex = { bulkhead_backup: 1, made_at: new Date().toISOString(), version, files: backup.files };
    await writeNewFile(join(folder, indexName), { pieces: pieces(index), replace: false });
    await syncFolder(folder);
    const bytes = backup.files.reduce((sum, file) => sum + file.bytes, 0);
    const { unverified, files } = backup;
    return { folder, files: files.length, bytes, unverified, worktrees_left_out: await countWorktrees(from.stateDir) };
  } catch (error) {
    await removeTree(folder).catch(() => {});
    throw error;
  }
}

async function addConfig(backup: Backup, from: Installation, manifestFile: string): Promise<void> {
  const [[manifest, file], [lock, lockFile]] = Object.entries(configFiles(manifestFile)) as [Pair, Pair];
  await demandRecorded(file, "manifest");
  await backup.addFile(manifest, file);
  await demandRecorded(lockFile, "lock");
  await backup.addFile(lock, lockFile);
  const { installed } = await partsOf(from);
  await backup.addTree("installed", installed!);
}

type Pair = [name: string, path: string];

async function countWorktrees(stateDir: string): Promise<number> {
  return (await readdir(join(stateDir, "workspaces")).catch(() => [])).filter((name) => name.endsWith(".json")).length;
}

async function* pieces(index: BackupIndex): AsyncGenerator<string, void, void> {
  yield `${JSON.stringify(index)}\n`;
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(dirname(folder), { recursive: true });
    await mkdir(folder, { mode: 0o700 });
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") {
      throw new BulkheadError("already_exists", `"${folder}" is there already.`, { hint: "Name a new folder." });
    }
    throw new BulkheadError("io_error", `Cannot make the folder "${folder}" for the backup.`, { cause });
  }
}

class Backup {
  readonly files: BackedUpFile[] = [];
  /** Journals whose copy does not verify. */
  readonly unverified: string[] = [];
  readonly #folder: string;
  readonly #onProgress: (what: string) => void;

  constructor(folder: string, onProgress: (what: string) => void) {
    this.#folder = folder;
    this.#onProgress = onProgress;
  }

  async addJournal(part: number, file: string): Promise<void> {
    const name = `state/host-${part}/journal.db`;
    const copy = join(this.#folder, name);
    this.#onProgress(name);
    await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
    await this.addFile(chainKeyFile(name), chainKeyFile(file));
    if (!(await stat(file).then(() => true, () => false))) return;
    await copyJournal(file, copy);
    if (!(await verifyJournal(copy)).ok) this.unverified.push(file);
    await this.#note(name);
  }

  /** Adds every plain file below a folder; links, sockets and what goes away meanwhile are left out. */
  async addTree(name: string, folder: string): Promise<void> {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      const [below, path] = [`${name}/${entry.name}`, join(folder, entry.name)];
      if (entry.isDirectory()) await this.addTree(below, path);
      else if (entry.isFile()) await this.addFile(below, path);
    }
  }

  /** Adds a file, if it is there. */
  async addFile(name: string, path: string): Promise<void> {
    const copy = join(this.#folder, name);
    this.#onProgress(name);
    await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
    try {
      await copyFile(path, copy);
    } catch (cause) {
      if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return;
      throw new BulkheadError("io_error", `Cannot copy "${path}" into the backup.`, { cause });
    }
    await this.#note(name);
  }

  async #note(name: string): Promise<void> {
    const digest = await digestFile(join(this.#folder, name), { maxBytes: Infinity });
    if (!digest?.sha256) throw new BulkheadError("io_error", `Cannot read "${name}" in the backup.`);
    this.files.push({ name, bytes: digest.bytes ?? 0, sha256: digest.sha256 });
  }
}
