import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { digestFile } from "../../../ground/platform/files/file-digest.ts";
import { chmod, copyFile, mkdir, readdir, readFile, realpath, rename } from "../../../ground/platform/files/files.ts";
import { whoElseMayChange } from "../../../ground/platform/files/own-folder.ts";
import { dirname, join } from "../../../ground/platform/files/paths.ts";
import { takeLock } from "../../../ground/platform/state/lock-file.ts";
import { holderText } from "../../../ground/platform/state/lock-holder.ts";
import { folderFault } from "../../../ground/errors/write-fault.ts";
import { toErrorData } from "../../../ground/errors/to-error-data.ts";
import type { ActedOnKind } from "../../../ground/recorded/acted-on-kinds.ts";
import { writeRecorded } from "../../../ground/recorded/write-recorded.ts";
import { claimPartOf, stateParts } from "../state/state-claim.ts";
import {
  type BackedUpFile,
  type BackupIndex,
  configFiles,
  type Installation,
  partsOf,
  readBackupIndex,
} from "./backup-format.ts";

/** Result of {@link restoreBackup}. */
export interface RestoreReport {
  made_at: string;
  version: string;
  files: number;
  /** Files and folders that stood in the way, and their paths now. Absolute paths. */
  set_aside: { from: string; to: string }[];
  /** Files that this installation has no place for: it has no host manifest. */
  left_out: string[];
}

interface RestoreOptions {
  /** Sets aside what stands in the way; else that makes it fail. */
  replace: boolean;
  onProgress?(what: string): void;
}

/**
 * Brings an installation back from a backup. All of it is checked before anything changes, and what stood there is kept
 * beside it.
 * @throws {BulkheadError} `not_found`, `invalid_config` for what is no backup or has changed, `already_exists` for what
 * stands in the way, `busy` while a host uses the state folder, `io_error`, which names what was set aside
 */
export async function restoreBackup(
  folder: string,
  to: Installation,
  { replace, onProgress = () => {} }: RestoreOptions,
): Promise<RestoreReport> {
  const why = await whoElseMayChange(folder);
  if (why !== null) {
    throw new BulkheadError("invalid_config", `Cannot use the backup "${folder}": ${why}.`, {
      hint: "Copy it to a folder that is yours alone, and look at it first.",
    });
  }
  const index = await readBackupIndex(folder);
  for (const file of index.files) {
    onProgress(`checking ${file.name}`);
    await demandUnchanged(folder, file);
  }
  const targets = await targetsOf(index, to);
  const inTheWay = await standing(folder, targets, to);
  if (inTheWay.length > 0 && !replace) {
    throw new BulkheadError("already_exists", `Cannot restore: ${inTheWay.join(", ")} would be replaced.`, {
      hint: "With --replace they are kept beside it under another name.",
      details: { paths: inTheWay },
    });
  }
  await demandIdle(to.stateDir);
  const set_aside: RestoreReport["set_aside"] = [];
  try {
    for await (const one of setAside(inTheWay)) set_aside.push(one);
    for (const { name, path } of targets.found) {
      onProgress(`restoring ${name}`);
      await put(join(folder, name), name, path);
    }
  } catch (error) {
    throw stoppedHalfWay(error, folder, set_aside);
  }
  const { made_at, version } = index;
  return { made_at, version, files: targets.found.length, set_aside, left_out: targets.none };
}

async function demandUnchanged(folder: string, { name, bytes, sha256 }: BackedUpFile): Promise<void> {
  const found = await digestFile(join(folder, name), { maxBytes: bytes });
  if (found?.kind === "file" && found.sha256 === sha256) return;
  throw new BulkheadError(
    "invalid_config",
    `Cannot use the backup: its file "${name}" is ${found ? "changed" : "gone"}.`,
    {
      hint: "Use another backup, or fetch this one again.",
    },
  );
}

interface Targets {
  found: { name: string; path: string }[];
  none: string[];
}

async function targetsOf({ files }: BackupIndex, to: Installation): Promise<Targets> {
  const parts = await partsOf(to);
  const config = to.manifestFile === undefined ? {} : configFiles(to.manifestFile);
  const targets: Targets = { found: [], none: [] };
  for (const { name } of files) {
    const [part = "", ...below] = name.split("/");
    const path = part === "config" ? config[name] : parts[part] && join(parts[part], ...below);
    if (path) targets.found.push({ name, path });
    else targets.none.push(name);
  }
  return targets;
}

/** Paths that would be replaced: folders of state and packages as a whole, the other files one by one. */
async function standing(folder: string, { found }: Targets, to: Installation): Promise<string[]> {
  const { installed } = await partsOf(to);
  const entries = await readdir(to.stateDir).catch(() => []);
  const paths = new Set(entries.length > 0 ? [to.stateDir] : []);
  for (const { name, path } of found.filter((file) => !file.name.startsWith("state/"))) {
    const [own, other] = await Promise.all([path, join(folder, name)].map(contentOf));
    if (own !== null && own !== other) paths.add(name.startsWith("installed/") ? installed! : path);
  }
  return [...paths];
}

async function contentOf(file: string): Promise<string | null> {
  return (await digestFile(file, { maxBytes: Infinity }))?.sha256 ?? null;
}

/** @throws {BulkheadError} `busy` */
async function demandIdle(stateDir: string): Promise<void> {
  const parts = await stateParts(stateDir);
  if (parts.length === 0) return;
  const daemon = await takeLock(join(stateDir, "daemon.lock"));
  if (!("release" in daemon)) throw busy(`${holderText(daemon.holder)} is its daemon`);
  await daemon.release();
  for (const { number } of parts) {
    const claim = await claimPartOf(stateDir, number);
    if (claim === null) throw busy("a host works there");
    await claim.release();
  }
}

function busy(who: string): BulkheadError {
  return new BulkheadError("busy", `Cannot restore the state folder: ${who}.`, {
    hint: 'Stop it first: "bulkhead stop".',
  });
}

async function* setAside(paths: readonly string[]): AsyncGenerator<RestoreReport["set_aside"][number], void, void> {
  const at = new Date().toISOString().replaceAll(/[:.]/g, "-");
  for (const from of paths) {
    const place = await realpath(from);
    const to = `${place}.before-restore-${at}`;
    await rename(place, to).catch((cause: unknown) => {
      throw new BulkheadError("io_error", `Cannot set "${from}" aside.`, { cause });
    });
    yield { from, to };
  }
}

/** Adds to an error what was set aside, and how a person finishes or undoes. */
function stoppedHalfWay(thrown: unknown, folder: string, set_aside: RestoreReport["set_aside"]): BulkheadError {
  const { code, message, hint = "Mend that.", details } = toErrorData(thrown);
  const moved = set_aside.map(({ from, to }) => `What was in "${from}" is in "${to}".`);
  const back = set_aside.map(({ from, to }) => `remove "${from}" and rename "${to}" to it`);
  const undo = back.length === 0 ? [] : [`To undo: ${back.join("; ")}.`];
  const finish = `${hint} Then finish it: bulkhead restore "${folder}" --replace.`;
  return new BulkheadError(code, [message, "The restore stopped half way.", ...moved].join(" "), {
    cause: thrown,
    hint: [finish, ...undo].join(" "),
    details: { ...details, set_aside },
  });
}

/** Files that a host acts on only where it knows who wrote them. */
const kinds: Readonly<Record<string, ActedOnKind>> = {
  "config/bulkhead.yaml": "manifest",
  "config/bulkhead.lock": "lock",
  "secrets/secrets.json": "secrets",
};

async function put(from: string, name: string, path: string): Promise<void> {
  const isPrivate = /^(state|secrets)\//.test(name);
  try {
    await mkdir(dirname(path), { recursive: true, ...isPrivate ? { mode: 0o700 } : {} });
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind !== undefined) {
      const mode = isPrivate ? 0o600 : 0o644;
      return await writeRecorded(path, { kind, text: await readFile(from, "utf8"), mode });
    }
    await copyFile(from, path);
    if (isPrivate) await chmod(path, 0o600);
  } catch (cause) {
    if (cause instanceof BulkheadError) throw cause;
    const { state, hint } = folderFault(cause, dirname(path));
    throw new BulkheadError("io_error", `Cannot write "${path}": ${state}.`, { cause, hint });
  }
}
