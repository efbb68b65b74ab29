import { isThere, plainText } from "../look-at.ts";
import { copyWithTime } from "../../../ground/platform/files/copy-with-time.ts";
import { lstat, mkdir, readdir, readFile, realpath, rm, writeFile } from "../../../ground/platform/files/files.ts";
import { dirname, isBelow, isInside, join, relative, sep, wayUp } from "../../../ground/platform/files/paths.ts";
import { readPlainFile } from "../../../ground/platform/files/read-plain-file.ts";
import {
  alternatesText,
  type ClosedPlaces,
  findGitFolder,
  type GitFolder,
  gitFolderAt,
  maxConfigBytes,
  objectFolders,
  refused,
} from "./git-folder.ts";
import { namedPlaces, parseConfig, privateConfig } from "./config-text.ts";
import { copyIndex, copyPlain, copyState, makeFolders, maxIndexBytes, stampOf, writeRefs } from "./copy-git-folder.ts";
import type { GitMount, GitMounts } from "./git-mounts.ts";
import { mayBeOdd, mayHavePointers, pointersOf, readIndexEntries } from "./index-entries.ts";
import { keepPlace } from "./kept-places.ts";
import { type PrivateRecord, type PrivateRepository, writePrivateRecord } from "./private-record.ts";
import { readRefs, refText } from "./read-refs.ts";
import { leaveOut, wholeIndex } from "./shape-index.ts";
import { removeTree } from "../../../ground/platform/files/remove-tree.ts";

interface MakePrivateOptions extends ClosedPlaces {
  sessionId: string;
  /** Folder for the private git folders of this session; it is made. */
  folder: string;
  /** Folder in which the session works. Real and absolute. */
  workdir: string;
  /** Top of the session's own worktree; absent when it works in place. */
  workspaceDir?: string | undefined;
  signal: AbortSignal;
}

/** Private git folders of a session. */
export interface PrivateGit {
  record: PrivateRecord;
  mounts: GitMounts;
  /**
   * Makes them also for submodules that the person added, moved or emptied meanwhile; returns the mounts for the next program.
   * @throws {BulkheadError} as {@link makePrivate}
   */
  again(): Promise<GitMounts>;
}

/**
 * Makes git folders of the session's own for the repository that it works in and for the submodules there, without
 * starting git in the usual case. An agent sees them instead of the real ones: own HEAD, index, refs and config, no hooks,
 * and the objects of the repository to read.
 * @throws {BulkheadError} `unsupported` for a repository that it cannot be done for; `io_error`
 */
export async function makePrivate(options: MakePrivateOptions): Promise<PrivateGit> {
  const { workdir, workspaceDir, folder, sessionId } = options;
  const project = workspaceDir ?? workdir;
  const making = mkdir(folder, { recursive: true, mode: 0o700 });
  making.catch(() => {});
  const found = await findGitFolder(project, options);
  await making;
  const record: PrivateRecord = {
    session_id: sessionId,
    is_worktree: workspaceDir !== undefined,
    repositories: [],
    empty: [],
    kept: [],
  };
  const made = new Making({ options, project, record });
  if (found !== null) await made.repository(found, "");
  // In a folder without a repository, and in one below a repository's top, an agent could make one.
  if (found === null || found.top !== project) await made.empty(project);
  await writePrivateRecord(folder, record);
  return { record, mounts: made.mounts, again: () => made.again() };
}

/** Marks of mounts that an agent reads of the person's repository. */
const borrow = { isReadOnly: true, isBorrowed: true } as const;

class Making {
  readonly #options: MakePrivateOptions;
  readonly #project: string;
  readonly #record: PrivateRecord;
  /** Those of the session's folder, and by folder those of submodules. */
  readonly #own = noMounts();
  readonly #submodules = new Map<string, GitMounts>();
  /** Those that are being made: one after another. */
  #mounts = this.#own;
  /** Pointers of the repositories' own indexes as they were last looked at. */
  readonly #looked = new Map<string, { stamp: string; paths: readonly string[] }>();

  constructor({ options, project, record }: { options: MakePrivateOptions; project: string; record: PrivateRecord }) {
    this.#options = options;
    this.#project = project;
    this.#record = record;
  }

  get mounts(): GitMounts {
    const all = [this.#own, ...this.#submodules.values()];
    return {
      covered: all.flatMap(({ covered }) => covered),
      bound: all.flatMap(({ bound }) => bound),
      held: [...new Set(all.flatMap(({ held }) => held))],
      sealed: all.flatMap(({ sealed }) => sealed),
      shown: [],
    };
  }

  /** As {@link PrivateGit.again}. */
  async again(): Promise<GitMounts> {
    let isChanged = false;
    for (const known of [...this.#record.repositories]) {
      for (const path of await this.#pointersNow(known)) {
        if (await this.#stands(join(known.top, path))) continue;
        await this.#submodule(known, path);
        isChanged = true;
      }
    }
    for (const folder of this.#submodules.keys()) if (!(await isPlainFolder(folder))) this.#submodules.delete(folder);
    if (isChanged) await writePrivateRecord(this.#options.folder, this.#record);
    return this.mounts;
  }

  /** Makes the git folder that stands for a repository's. */
  async repository(found: GitFolder, below: string): Promise<void> {
    const { top, gitDir, commonDir } = found;
    const name = String(this.#record.repositories.length);
    const place = join(this.#options.folder, name);
    const prefix = isBelow(top, this.#project) ? `${relative(top, this.#project).split(sep).join("/")}/` : "";
    const git = join(place, "git");
    const known: PrivateRepository = {
      name,
      top,
      git_dir: gitDir,
      common_dir: commonDir,
      object_format: "sha1",
      head: "",
      prefix,
      is_partial: false,
      borrowed: [],
      pointers: [],
      below,
    };
    this.#record.repositories.push(known);
    const [config, head, refs, borrowed] = await Promise.all([
      this.#configOf(found),
      refText(join(gitDir, "HEAD")),
      readRefs(commonDir),
      objectFolders(commonDir, this.#options),
      makeFolders(place),
    ]);
    this.#refuseWritable(found);
    Object.assign(known, { object_format: config.objectFormat, head, is_partial: config.promisor !== null, borrowed });
    const [stamp] = await Promise.all([
      copyIndex(gitDir, place),
      writeFile(join(git, "HEAD"), `${head}\n`),
      writeFile(join(git, "config"), config.text),
      writeRefs(refs, { git, base: join(place, "base") }),
      this.#borrow(known, place),
      copyState(gitDir, place),
      ...["shallow", "info/exclude", "info/attributes"].map((file) =>
        copyPlain(join(commonDir, file), join(git, file))
      ),
      copyPlain(join(gitDir, "info/sparse-checkout"), join(git, "info/sparse-checkout")),
      ...["git/logs/refs/stash", "base/stash-log"].map((to) =>
        copyPlain(join(commonDir, "logs/refs/stash"), join(place, to))
      ),
    ]);
    this.#mount(found, place);
    this.#looked.set(join(gitDir, "index"), { stamp, paths: known.pointers });
    await this.#shape(known, place);
  }

  /** Puts an empty place where an agent could make a repository. */
  async empty(folder: string): Promise<void> {
    const at = join(folder, ".git");
    const kept = await keepPlace(at);
    if (kept === "taken") return;
    if (kept === "made") this.#record.kept.push(at);
    await this.#empty(at);
  }

  /** A submodule that is not checked out: what an agent checks out there is its own, and goes with the session. */
  async #unused(folder: string): Promise<void> {
    const isEmpty = (await readdir(folder)).length === 0;
    if (!isEmpty) return void this.#mounts.bound.push({ from: folder, at: folder, ...borrow });
    await this.#empty(folder);
  }

  async #empty(at: string): Promise<void> {
    const from = join(this.#options.folder, `empty-${this.#record.empty.length}`);
    this.#record.empty.push(at);
    await mkdir(from, { mode: 0o700 });
    this.#mounts.covered.push(at);
    this.#mounts.bound.push({ from, at, isOwn: true });
  }

  async #configOf({ top, gitDir, commonDir }: GitFolder) {
    const files = await Promise.all(
      [join(commonDir, "config"), join(gitDir, "config.worktree")].map(async (file) => {
        return { file, entries: parseConfig(await plainText(file, maxConfigBytes)) };
      }),
    );
    const named = files.flatMap(({ file, entries }) => namedPlaces(entries, { top, file }));
    this.#mounts.sealed.push(...await this.#present(named));
    return privateConfig(files.flatMap(({ entries }) => entries), top);
  }

  /** The real paths of places that stand in the project. */
  async #present(places: readonly string[]): Promise<string[]> {
    const real = await Promise.all(places.map((place) => realpath(place).catch(() => null)));
    return [...new Set(real)].filter((place) => place !== null && isBelow(this.#project, place)) as string[];
  }

  /** An agent must not own what its git folder is made from: it would own what git runs outside as well. */
  #refuseWritable({ top, entry, commonDir }: GitFolder): void {
    if (entry === "folder" || !isInside(this.#project, commonDir)) return;
    const covered = this.#record.repositories.some((one) => isInside(join(one.top, ".git"), commonDir));
    if (!covered) throw refused(join(top, ".git"), `its git folder "${commonDir}" lies in the project`);
  }

  async #borrow({ borrowed }: PrivateRepository, place: string): Promise<void> {
    const { bound, covered } = this.#mounts;
    const own = borrowed.map((_, at) => join(place, "borrowed", String(at), "objects"));
    await Promise.all(own.map((folder) => mkdir(folder, { recursive: true })));
    await writeFile(join(place, "git/objects/info/alternates"), alternatesText(own));
    for (const [at, from] of borrowed.entries()) bound.push({ from, at: own[at]!, ...borrow });
    // git looks for these by the names that the first folder has for them.
    for (const from of borrowed.slice(1)) bound.push({ from, at: from, ...borrow });
    const large = join(dirname(borrowed[0]!), "lfs/objects");
    if (!(await isPlainFolder(large))) return;
    const at = join(place, "borrowed/0/lfs/objects");
    await mkdir(at, { recursive: true });
    bound.push({ from: large, at, ...borrow });
    covered.push(at);
  }

  #mount({ top, entry }: GitFolder, place: string): void {
    const { bound, covered } = this.#mounts;
    const at = join(top, ".git");
    const own = join(place, "git");
    const git = entry === "folder" ? at : own;
    covered.push(at);
    if (entry === "file") bound.push({ from: join(place, "dot-git"), at, isReadOnly: true, isOwn: true });
    const held = ["", "objects", "objects/info"].map((name): GitMount => ({
      from: join(own, name),
      at: join(git, name),
      isOwn: true,
    }));
    const alternates = "objects/info/alternates";
    bound.push(...held, { from: join(own, alternates), at: join(git, alternates), isReadOnly: true, isOwn: true });
  }

  /** Needs git only for an index in two files, for folders below the top, and for submodules. */
  async #shape(known: PrivateRepository, place: string): Promise<void> {
    const { signal } = this.#options;
    const file = join(place, "base/index");
    let bytes: Uint8Array | null = await readFile(file).catch(() => null);
    if (bytes === null) return;
    if (mayBeOdd(bytes) && readIndexEntries(bytes, known.object_format) === null) {
      bytes = await this.#readable(known, place);
    }
    if (known.prefix !== "") await leaveOut(known, { place, signal });
    if (!mayHavePointers(bytes)) return;
    const entries = readIndexEntries(bytes, known.object_format);
    if (entries === null) throw refused(known.top, "its index has pointers to other repositories and cannot be read");
    known.pointers.push(...pointersOf(entries));
    for (const path of known.pointers) await this.#submodule(known, path);
  }

  /** Paths of the pointers in a repository's own index as it is now. */
  async #pointersNow(known: PrivateRepository): Promise<readonly string[]> {
    const file = join(known.git_dir, "index");
    const stamp = await lstat(file).then(stampOf, () => "");
    const looked = this.#looked.get(file);
    if (looked?.stamp === stamp) return looked.paths;
    let bytes = await readPlainFile(file, maxIndexBytes);
    if (bytes !== null && mayBeOdd(bytes) && readIndexEntries(bytes, known.object_format) === null) {
      bytes = await this.#wholeIndex(known, join(this.#options.folder, known.name));
    }
    const entries = bytes !== null && mayHavePointers(bytes) ? readIndexEntries(bytes, known.object_format) : null;
    const paths = pointersOf(entries ?? new Map());
    this.#looked.set(file, { stamp, paths });
    return paths;
  }

  /** Whether all that is mounted for a submodule can still be mounted there. */
  async #stands(folder: string): Promise<boolean> {
    if (!isInside(this.#project, folder)) return true;
    const covered = this.#submodules.get(folder)?.covered;
    if (covered === undefined || !(await isPlainFolder(folder))) return false;
    return (await Promise.all(covered.map(isThere))).every((one) => one);
  }

  /** Writes an index that is not all of it, for the agent and as what it began with. */
  async #readable(known: PrivateRepository, place: string): Promise<Uint8Array> {
    const copies = ["git/index", "base/index"].map((to) => join(place, to));
    await Promise.all(copies.map((to) => rm(to, { force: true })));
    return await this.#wholeIndex(known, place, copies);
  }

  async #wholeIndex(known: PrivateRepository, place: string, copies: readonly string[] = []): Promise<Uint8Array> {
    const { git_dir: gitDir, common_dir: commonDir, object_format: objectFormat } = known;
    const folder = join(place, "whole");
    const { signal } = this.#options;
    const index = await wholeIndex({ gitDir, commonDir, folder, objectFormat, signal });
    const [bytes] = await Promise.all([readFile(index), ...copies.map((to) => copyWithTime(index, to))]);
    await removeTree(folder);
    return bytes;
  }

  /** A folder that the repository points to: git outside enters it at the top's `git status`. */
  async #submodule(known: PrivateRepository, path: string): Promise<void> {
    const folder = join(known.top, path);
    if (!isInside(this.#project, folder)) return;
    const outer = this.#mounts;
    this.#mounts = noMounts();
    this.#submodules.set(folder, this.#mounts);
    try {
      await this.#keep(folder);
      const found = await gitFolderAt(folder, this.#options);
      const below = known.below === "" ? path : `${known.below}/${path}`;
      const moved = this.#record.repositories.find(({ git_dir }) => git_dir === found?.gitDir);
      if (found === null) await this.#unused(folder);
      else if (moved === undefined) await this.repository(found, below);
      else await this.#moved(moved, { found, below });
    } finally {
      this.#mounts = outer;
    }
  }

  /** Makes the folder if it is missing: an agent could put a repository there that git outside enters. */
  async #keep(folder: string): Promise<void> {
    const places = wayUp(folder).filter((place) => isBelow(this.#project, place));
    for (const place of places.toReversed()) {
      const kept = await keepPlace(place);
      if (kept === "taken") throw refused(folder, "the repository points to it, and it is no folder");
      if (kept === "made") this.#record.kept.push(place);
    }
    this.#mounts.held.push(...places);
  }

  /** A submodule that stands elsewhere now keeps the git folder that it had. */
  async #moved(known: PrivateRepository, { found, below }: { found: GitFolder; below: string }): Promise<void> {
    const place = join(this.#options.folder, known.name);
    Object.assign(known, { top: found.top, below });
    await this.#borrow(known, place);
    this.#mount(found, place);
  }
}

function noMounts(): GitMounts {
  return { covered: [], bound: [], held: [], sealed: [], shown: [] };
}

async function isPlainFolder(path: string): Promise<boolean> {
  return await lstat(path).then((info) => info.isDirectory(), () => false);
}
