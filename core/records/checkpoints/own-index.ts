import { eachOnce } from "../git/whole-tree.ts";
import { readFile, rename, rm, writeFile } from "../../ground/platform/files/files.ts";
import { asBuffer } from "../../ground/platform/files/as-buffer.ts";
import { markOf } from "../../ground/platform/files/file-mark.ts";
import { isBelow, isInside, join, relative, sep } from "../../ground/platform/files/paths.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { isThere, plainText } from "../git/look-at.ts";
import { mayBeOdd, readSizedFiles } from "../git/private/index-entries.ts";
import { linesIn, pathKey } from "../git/git-call.ts";
import { addHugeFiles, dropHugeFiles, measureFiles, type StoredBounds } from "../git/large-files.ts";
import { pathText } from "../git/raw-diff.ts";
import {
  copyUserIndex,
  dropFromIndex,
  gitInShadow,
  makeShadow,
  recordsInShadow,
  type ShadowCall,
  type ShadowRepository,
  topOf,
  treeOfIndex,
} from "../git/shadow-repository.ts";
import { dropOutside, listChanged, refresh, updateIndex } from "../git/write-work-tree.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";

/** Name of the index that a store keeps from look to look. */
export const ownIndex = "index";

/** Files of a plain folder that a look may read: no index of the user's tells which of them are unchanged. */
const mostPlainFiles = 20_000;

/** Content of a work tree, as an index of our own has it. */
export interface OwnLook {
  tree: string;
  /** Whether the content of all that changed since the look before is stored. */
  isStored: boolean;
  /** Whether files may have come into the tree that were there before: it was changed what git ignores. */
  hasNewRules: boolean;
}

interface OwnIndexOptions {
  /** Real absolute paths of which nothing is ever stored. */
  exclude: readonly string[];
  signal: AbortSignal;
}

/**
 * The index of one store. What a look found is known to the next one, so that one which finds nothing costs one run of
 * git. Contents are stored as they are on the disk: no line ends, filters or encodings are changed on the way.
 */
export class OwnIndex {
  readonly #shadow: ShadowRepository;
  readonly #settings: ReadonlyMap<string, string>;
  readonly #bounds: StoredBounds;
  #tree: string | null = null;
  /** How the user's index and lists of ignored files were at the last look; null where that cannot be told. */
  #mark: string | null = null;
  /** The rules of what is ignored, as of the last look, beside the rules that are files of the tree. */
  #lastRules: string | null = null;
  /** Keys of the paths, below the top, that the last look could not read. */
  unread: ReadonlySet<string> = new Set();
  /** Whether files may only look changed. */
  #isStale = false;

  /** @param most files and bytes that one look stores */
  constructor(
    shadow: ShadowRepository,
    { settings, most }: { settings: ReadonlyMap<string, string>; most: { files: number; bytes: number } },
  ) {
    this.#shadow = shadow;
    this.#settings = settings;
    // A larger file alone is more: none such is read.
    this.#bounds = { ...most, measured: most.files, huge: most.bytes };
  }

  /**
   * Brings the index to the content of the working directory, and makes a tree of it.
   * @throws {BulkheadError} `too_large` for a plain folder of more than 20,000 files to read, `io_error`
   */
  async look(options: OwnIndexOptions): Promise<OwnLook> {
    try {
      return await this.#look(options);
    } catch (error) {
      this.#tree = null;
      this.#mark = null;
      options.signal.throwIfAborted();
      if (!(error instanceof BulkheadError) || error.code !== "io_error") throw error;
      // An index that git cannot read, or that a killed git has locked: it is made again from the user's.
      const { folder } = this.#shadow;
      for (const name of [ownIndex, `${ownIndex}.lock`]) await rm(join(folder, name), { force: true });
      return await this.#look(options);
    }
  }

  async #look(options: OwnIndexOptions): Promise<OwnLook> {
    const { folder } = this.#shadow;
    const call: ShadowCall = { index: ownIndex, signal: options.signal };
    const mark = await this.#markNow();
    const isNew = !(await isThere(join(folder, ownIndex)));
    const hasMoved = isNew || mark === null || mark !== this.#mark;
    this.#mark = null;
    this.unread = new Set();
    if (hasMoved) await this.#settle(options);
    if (isNew) await this.#seed(options);
    this.#isStale ||= hasMoved;
    const [changed, assumed] = await Promise.all([
      listChanged(this.#shadow, call),
      isNew ? this.#assumedPaths(call) : [],
    ]);
    const raw = isNew ? [...assumed, ...await this.#convertedPaths(changed, options)] : [];
    const known = this.#tree;
    if (!hasMoved && changed.length === 0 && known !== null) {
      this.#mark = mark;
      return { tree: known, isStored: true, hasNewRules: false };
    }
    const rules = await this.#rules();
    const areNew = rules !== this.#lastRules || changed.some((path) => pathText(path).endsWith(ignoreFile));
    const mayDiffer = !isNew && (hasMoved || areNew);
    const finding = mayDiffer ? this.#ignoredPaths({ ...options, isMoved: hasMoved }) : Promise.resolve(nothing);
    finding.catch(() => {});
    await dropFromIndex(this.#shadow, raw, call);
    let look = await this.#update(eachOnce([...changed, ...raw]), { isNew, call });
    const { gone, added } = await finding;
    if (gone.length + added.length > 0) {
      await dropFromIndex(this.#shadow, gone, call);
      const isWhole = look.isStored;
      look = await this.#update(added, { isNew, call });
      look.isStored &&= isWhole;
    }
    const hasNewRules = areNew || added.length > 0;
    this.#lastRules = rules;
    this.#tree = look.tree;
    this.#mark = mark;
    return { ...look, hasNewRules };
  }

  async #update(
    changed: readonly Uint8Array[],
    { isNew, call }: { isNew: boolean; call: ShadowCall },
  ): Promise<Omit<OwnLook, "hasNewRules">> {
    const shadow = this.#shadow;
    if (shadow.repository === null && changed.length > mostPlainFiles) {
      if (isNew) await rm(join(shadow.folder, ownIndex), { force: true });
      const count = mostPlainFiles.toLocaleString("en-US");
      throw new BulkheadError("too_large", `not a git repository, and it has more than ${count} files to compare`);
    }
    const { isSmall, huge } = await measureFiles(shadow.workdir, changed, this.#bounds);
    const apart = new Set(huge.map(({ path }) => path));
    const unread = await updateIndex(shadow, changed.filter((path) => !apart.has(path)), { ...call, stored: isSmall });
    const prefix = pathKey(new TextEncoder().encode(shadow.repository?.prefix ?? ""));
    this.unread = new Set([...this.unread, ...unread.map((path) => `${prefix}${pathKey(path)}`)]);
    await addHugeFiles(shadow, huge, call);
    if (isNew && shadow.repository !== null) await dropOutside(shadow, call);
    const tree = await treeOfIndex(shadow, call);
    await dropHugeFiles(shadow, huge, call);
    return { tree, isStored: isSmall && huge.length === 0 };
  }

  /** Takes over the user's excludes and settings of now. Attributes change no content that is kept. */
  async #settle({ exclude }: OwnIndexOptions): Promise<void> {
    const { folder, workdir, repository } = this.#shadow;
    await makeShadow({
      folder,
      workdir,
      repository: repository === null ? null : { ...repository, head: null },
      scratchDir: folder,
      exclude,
      settings: new Map([...this.#settings].filter(([key]) => !onlyUsers.has(key))),
    });
    await writeFile(join(folder, "info/attributes"), "* -text !eol !ident !filter !working-tree-encoding\n");
  }

  /** Compares times again, so that files which only look changed are not read at each look. Nothing has to wait for it. */
  async freshen(signal: AbortSignal): Promise<void> {
    if (!this.#isStale) return;
    this.#isStale = false;
    await refresh(this.#shadow, { index: ownIndex, signal });
  }

  /** Files that a person has told git not to look at. */
  async #assumedPaths(call: ShadowCall): Promise<Uint8Array[]> {
    if (this.#shadow.repository === null) return [];
    const records = await recordsInShadow(this.#shadow, ["ls-files", "-z", "-v"], call);
    return records.filter(([mark = 0]) => mark >= smallA && mark <= smallZ).map((record) => record.subarray(2));
  }

  /** Begins with the user's index, which knows the unchanged files since the last commit. */
  async #seed({ exclude, signal }: OwnIndexOptions): Promise<void> {
    const shadow = this.#shadow;
    if (shadow.repository === null) return;
    const draft = `${ownIndex}-${randomId()}`;
    const call: ShadowCall = { index: draft, signal, cwd: topOf(shadow) };
    await copyUserIndex(shadow, draft);
    const bytes = await readFile(join(shadow.folder, draft)).catch(() => null);
    if (bytes === null) return;
    if (mayBeOdd(bytes)) {
      const args = ["-c", "core.splitIndex=false", "-c", "index.sparse=false", "update-index", "--no-split-index"];
      await gitInShadow(shadow, args, call);
    }
    const closed = this.#below(exclude, topOf(shadow));
    if (closed.length > 0) {
      await dropFromIndex(shadow, await recordsInShadow(shadow, ["ls-files", "-z", "--", ...closed], call), call);
    }
    await rename(join(shadow.folder, draft), join(shadow.folder, ownIndex));
  }

  /** Paths of a new index whose content git changed on its way from the disk, by line ends, filters or encodings. */
  async #convertedPaths(changed: readonly Uint8Array[], { signal }: OwnIndexOptions): Promise<Uint8Array[]> {
    const { folder, repository } = this.#shadow;
    if (repository === null) return [];
    const index = await readFile(join(folder, ownIndex)).catch(() => null);
    if (index === null || !(await this.#mayConvert(index, changed))) return [];
    const files = readSizedFiles(index, repository.objectFormat) ?? [];
    const stdin = linesIn(files.map(({ id }) => id));
    const args = ["cat-file", "--batch-check=%(objectsize)", "--buffer"];
    const sizes = pathText(await gitInShadow(this.#shadow, args, { index: ownIndex, signal, stdin })).split("\n");
    const below = new TextEncoder().encode(repository.prefix);
    return files.flatMap(({ path, size }, at) => {
      const known = Number(sizes[at]);
      // An index has the lower 32 bits of a size. A content that is not there has none.
      if (!Number.isNaN(known) && known % 2 ** 32 === size) return [];
      return below.every((byte, place) => path[place] === byte) ? [path.slice(below.length)] : [];
    });
  }

  async #mayConvert(index: Uint8Array, changed: readonly Uint8Array[]): Promise<boolean> {
    const isSet = (this.#settings.get("core.autocrlf") ?? "false") !== "false";
    if (isSet || asBuffer(index).includes(attributes) || asBuffer(index).readUInt32BE(4) === 4) return true;
    return changed.some((path) => asBuffer(path).includes(attributes)) ||
      await isThere(join(this.#shadow.repository!.commonDir, "info/attributes"));
  }

  /** Finds paths that the index has and that are ignored now, and ignored ones that the user tracks and it has not. */
  async #ignoredPaths(
    { exclude, signal, isMoved }: OwnIndexOptions & { isMoved: boolean },
  ): Promise<IgnoredPaths> {
    const shadow = this.#shadow;
    const list = (index: string) =>
      recordsInShadow(shadow, ["ls-files", "-z", "-c", "-i", "--exclude-standard"], { index, signal });
    const own = await list(ownIndex);
    if (shadow.repository === null) return { gone: own, added: [] };
    if (own.length === 0 && !isMoved) return nothing;
    await copyUserIndex(shadow, userIndex);
    const tracked = await list(userIndex);
    const [inOwn, inUsers] = [new Set(own.map(pathKey)), new Set(tracked.map(pathKey))];
    const closed = this.#below(exclude, shadow.workdir);
    const isClosed = (path: Uint8Array) =>
      closed.some((folder) => isInside(join("/", folder), join("/", pathText(path))));
    return {
      gone: own.filter((path) => !inUsers.has(pathKey(path)) || isClosed(path)),
      added: tracked.filter((path) => !inOwn.has(pathKey(path)) && !isClosed(path)),
    };
  }

  async #rules(): Promise<string> {
    const { repository } = this.#shadow;
    const files = [
      this.#settings.get("core.excludesfile"),
      repository === null ? undefined : join(repository.commonDir, "info/exclude"),
    ];
    return (await Promise.all(files.map((file) => file === undefined ? "" : plainText(file, mostRules)))).join("\0");
  }

  async #markNow(): Promise<string | null> {
    const { repository } = this.#shadow;
    const ignores = this.#settings.get("core.excludesfile");
    const own = repository === null ? [] : [
      join(repository.gitDir, "index"),
      join(repository.gitDir, "info/sparse-checkout"),
      join(repository.commonDir, "info/exclude"),
    ];
    return await markOf([...own, ...(ignores === undefined ? [] : [ignores])], { before: Date.now() });
  }

  #below(paths: readonly string[], top: string): string[] {
    return paths.filter((path) => isBelow(top, path)).map((path) => relative(top, path).split(sep).join("/"));
  }
}

/** Paths that an index should not have, and those that it lacks. */
interface IgnoredPaths {
  gone: readonly Uint8Array[];
  added: readonly Uint8Array[];
}

const nothing: IgnoredPaths = { gone: [], added: [] };

/** Settings of the user's that hide what the disk has. With them, modes and links would not come back as they were. */
const onlyUsers = new Set(["core.filemode", "core.symlinks"]);
/** Copy of the user's index, to ask which paths it has. */
const userIndex = "index-user";
const attributes = ".gitattributes";
const ignoreFile = ".gitignore";
const mostRules = 1024 * 1024;
const smallA = 0x61;
const smallZ = 0x7a;
