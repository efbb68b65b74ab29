import { isThere } from "../look-at.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import {
  copyFile,
  link,
  lstat,
  mkdir,
  readdir,
  realpath,
  rename,
  stat,
  writeFile,
} from "../../../ground/platform/files/files.ts";
import { type GitOutcome, runGit } from "../../../ground/platform/processes/git-program.ts";
import { randomId } from "../../../ground/platform/files/hash.ts";
import { dirname, isInside, join } from "../../../ground/platform/files/paths.ts";
import { git, gitError, lineOf, linesIn } from "../git-call.ts";
import { alternatesText } from "./git-folder.ts";
import { fewEntries } from "./few-entries.ts";
import type { PrivateRepository } from "./private-record.ts";
import { emptyRepository, emptyRepositoryEnv } from "./shape-index.ts";
import { removeTree } from "../../../ground/platform/files/remove-tree.ts";
import { findBubblewrap, ownNamespaces, ownProc } from "../../../ground/platform/os-walls/bubblewrap.ts";
import type { Command } from "../../../ground/platform/os-walls/os-wall.ts";
import { findProgram } from "../../../ground/platform/os-walls/try-program.ts";
import { hostEnv } from "../../../ground/platform/engine/platform.ts";

/** Objects of a private git folder that are looked at. */
const mostFiles = 200_000;

/** Answers and settings that an agent can forge, or that lead git elsewhere, are not used. */
const onlyObjects = [
  "-c",
  "core.commitGraph=false",
  "-c",
  "core.multiPackIndex=false",
  "-c",
  "pack.useBitmaps=false",
  "-c",
  "pack.threads=1",
];

/** Folders between which objects of one repository go. */
export interface ObjectsPlace {
  known: PrivateRepository;
  /** Folder of the private git folder's own files. */
  place: string;
  signal: AbortSignal;
}

/** Types of objects, by id: those that are there. */
export type KnownObjects = ReadonlyMap<string, string>;

/** Makes the stores that the other calls need. */
export async function prepareStores({ known, place }: Omit<ObjectsPlace, "signal">): Promise<void> {
  const { object_format: objectFormat, common_dir } = known;
  const shallow = join(common_dir, "shallow");
  await removeTree(join(place, "reader"));
  await removeTree(join(place, "store"));
  await Promise.all(["reader", "store"].map((name) => emptyRepository(join(place, name), { objectFormat, shallow })));
  await mkdir(join(place, "store/objects/info"), { recursive: true });
  await mkdir(join(place, "store/objects/pack"), { recursive: true });
  await mkdir(join(place, "reader/objects/info"), { recursive: true });
  await Promise.all([
    writeFile(join(place, "store/objects/info/alternates"), alternatesText([join(common_dir, "objects")])),
    writeFile(join(place, "reader/objects/info/alternates"), alternatesText([join(place, "git/objects")])),
  ]);
}

/**
 * Refuses a folder of objects in which git could wait, or be led elsewhere.
 * @throws {BulkheadError} `io_error`
 */
export async function refuseOddFiles({ place }: Pick<ObjectsPlace, "place">): Promise<void> {
  const folders = [join(place, "git/objects")];
  let count = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await fewEntries(folder, mostFiles)) {
      if (entry.isDirectory()) folders.push(join(folder, entry.name));
      else if (!entry.isFile()) throw notTaken(`"${entry.name}" among its objects is no plain file`);
      if (++count > mostFiles) throw notTaken(`it has more than ${mostFiles} files of objects`);
    }
  }
}

/** Asks for the types of objects, in walls. */
export async function objectTypes(at: ObjectsPlace, ids: readonly string[]): Promise<KnownObjects> {
  const types = new Map<string, string>();
  if (ids.length === 0) return types;
  const { stdout } = await inWalls(at, ["cat-file", "--batch-check=%(objectname) %(objecttype)"], ids);
  for (const line of new TextDecoder().decode(stdout).split("\n")) {
    const [id = "", type = "missing"] = line.split(" ");
    if (["commit", "tag", "tree", "blob"].includes(type)) types.set(id, type);
  }
  return types;
}

/**
 * Takes objects, and all that they need, into the host's store: `pack-objects` runs in walls, and only its pack is read, by
 * a git that checks every object and every link between them.
 * @param tips ids of objects that are there
 * @param bases ids that the repository has
 * @throws {BulkheadError} `io_error` where git refuses them, `timeout`, `too_large`
 */
export async function takeIntoStore(
  at: ObjectsPlace,
  { tips, bases }: { tips: readonly string[]; bases: readonly string[] },
): Promise<void> {
  const { known, place, signal } = at;
  const folder = join(place, "reader/packed");
  await removeTree(folder);
  await mkdir(folder, { mode: 0o700 });
  const missing = known.is_partial ? ["--missing=allow-any"] : [];
  const args = [
    ...onlyObjects,
    "pack-objects",
    "-q",
    "--revs",
    "--delta-base-offset",
    ...missing,
    join(folder, "pack"),
  ];
  await inWalls(at, args, [...tips, ...bases.map((id) => `^${id}`)]);
  for (const name of (await readdir(folder)).filter((one) => one.endsWith(".pack"))) {
    const info = await lstat(join(folder, name));
    if (!info.isFile() || info.size > maxPackBytes) throw notTaken("its objects make no pack");
    const pack = join(place, "store/objects/pack", `tmp-${randomId()}.pack`);
    await rename(join(folder, name), pack);
    const check = known.is_partial ? "--fsck-objects" : "--strict";
    const env = emptyRepositoryEnv(join(place, "store"));
    const hash = lineOf(await git([...onlyObjects, "index-pack", check, pack], { cwd: place, env, signal }));
    if (!/^[0-9a-f]{40,64}$/.test(hash)) throw notTaken("its pack cannot be read");
    const named = join(place, "store/objects/pack", `pack-${hash}`);
    await rename(pack, `${named}.pack`);
    await rename(pack.replace(/\.pack$/, ".idx"), `${named}.idx`);
  }
}

/** Options of a run of git in the host's store, which also has the objects of the repository. */
export function storeRun(
  { place, signal }: Pick<ObjectsPlace, "place" | "signal">,
): { cwd: string; env: Record<string, string>; signal: AbortSignal } {
  return { cwd: join(place, "store"), env: emptyRepositoryEnv(join(place, "store")), signal };
}

/** Moves what is in the store into the repository; git finds a pack once its index is there. */
export async function moveIntoRepository({ known, place }: Omit<ObjectsPlace, "signal">): Promise<void> {
  const from = join(place, "store/objects/pack");
  const to = join(known.common_dir, "objects/pack");
  await mkdir(to, { recursive: true });
  const names = (await readdir(from)).filter((name) => /^pack-[0-9a-f]+\.(pack|idx)$/.test(name));
  for (const name of names.sort().reverse()) await put(join(from, name), join(to, name));
}

async function put(from: string, to: string): Promise<void> {
  if (await isThere(to)) return;
  // A second name is made where no file is replaced by it; another disk gets a copy.
  await link(from, to).catch(async () => {
    const draft = `${to}.${randomId()}.tmp`;
    await copyFile(from, draft);
    await rename(draft, to);
  });
}

async function inWalls({ known, place, signal }: ObjectsPlace, args: readonly string[], lines: readonly string[]) {
  const written = join(place, "reader");
  const env = { ...emptyRepositoryEnv(written), GIT_GRAFT_FILE: "/dev/null" };
  const outcome = await runGit(args, {
    cwd: "/",
    env,
    signal,
    stdin: linesIn(lines),
    wrap: wallsFor(known, { place, written }),
  });
  if (outcome.exit_code !== 0) throw gitFailed(args, outcome);
  return outcome;
}

function gitFailed(args: readonly string[], outcome: GitOutcome): BulkheadError {
  return gitError(args.slice(args.findIndex((word) => word === "pack-objects" || word === "cat-file")), outcome);
}

function notTaken(because: string): BulkheadError {
  return new BulkheadError("io_error", `Cannot take over what the agent committed: ${because}.`);
}

/** Limits of one run over objects that an agent made. */
const maxMemory = 2 * 1024 * 1024 * 1024;
const maxSeconds = 120;

/** Bytes of the largest pack that is taken over. */
const maxPackBytes: number = 4 * 1024 * 1024 * 1024;

/**
 * Walls for git over what an agent made: it reads the system's programs, the private git folder and the objects that this
 * one borrows, writes into one folder, and has no network.
 * @returns what puts a command behind them
 */
function wallsFor(
  { borrowed }: Pick<PrivateRepository, "borrowed">,
  { place, written }: { place: string; written: string },
): (command: Command) => Promise<Command> {
  return async (command) => {
    const [bubblewrap, git, prlimit] = await Promise.all([
      findBubblewrap(),
      findProgram("git"),
      findProgram("prlimit"),
    ]);
    if ("reason" in bubblewrap || git === null) {
      const reason = "reason" in bubblewrap ? bubblewrap.reason : "git was not found.";
      throw new BulkheadError("unavailable", `Cannot read what an agent left in its git folder: ${reason}`);
    }
    const hidden = await foldersOf([
      "/home",
      "/root",
      "/run",
      "/tmp",
      "/var/tmp",
      "/mnt",
      "/media",
      hostEnv("HOME") ?? "",
    ]);
    // A git of the person's own, such as Homebrew's, stands in the home.
    const program = dirname(dirname(await realpath(git)));
    const shown = hidden.some((folder) => isInside(folder, program)) ? [program] : [];
    const limits = prlimit === null
      ? []
      : [prlimit, `--data=${maxMemory}`, `--cpu=${maxSeconds}`, `--fsize=${maxPackBytes}`, "--core=0", "--"];
    const args = [
      ...ownNamespaces,
      "--unshare-net",
      "--ro-bind",
      "/",
      "/",
      ...ownProc,
      "--dev",
      "/dev",
      ...hidden.flatMap((folder) => ["--tmpfs", folder]),
      ...[...shown, join(place, "git")].flatMap((path) => ["--ro-bind", path, path]),
      ...borrowed.flatMap((from, at) => ["--ro-bind", from, join(place, "borrowed", String(at), "objects")]),
      "--bind",
      written,
      written,
      "--chdir",
      written,
      "--",
      ...limits,
      command.file === "git" ? git : command.file,
      ...command.args,
    ];
    return { ...command, file: bubblewrap.file, args, cwd: "/" };
  };
}

/** Those that are folders, the outer ones first. */
async function foldersOf(paths: readonly string[]): Promise<string[]> {
  const real = await Promise.all(paths.map(async (path) => {
    if (path === "") return null;
    const at = await realpath(path).catch(() => null);
    return at !== null && at !== "/" && await stat(at).then((info) => info.isDirectory(), () => false) ? at : null;
  }));
  return [...new Set(real.filter((path) => path !== null))].sort((a, b) => a.length - b.length);
}
