import { eachInShadow, type ShadowCall, type ShadowRepository, topOf } from "./shadow-repository.ts";

/** One change between two trees, as `git diff-tree --raw` gives it. */
export interface RawChange {
  status: "A" | "D" | "M" | "R";
  /** Modes in octal: `100644`, `100755`, `120000` symlink, `160000` submodule, `000000` none. */
  oldMode: string;
  newMode: string;
  path: Uint8Array;
  /** The old path of a rename. */
  from: Uint8Array | null;
}

/** Reads the records of `git diff-tree -r -z --raw`. A change of type counts as a modification. */
export class RawDiffReader {
  readonly #changes: RawChange[] = [];
  #header: Omit<RawChange, "path" | "from"> | null = null;
  #from: Uint8Array | null = null;

  /** @throws {SyntaxError} for a header that is none */
  read(record: Uint8Array): void {
    const header = this.#header;
    if (header === null) this.#header = parseHeader(record);
    else if (header.status === "R" && this.#from === null) this.#from = record;
    else {
      this.#changes.push({ ...header, path: record, from: this.#from });
      this.#header = null;
      this.#from = null;
    }
  }

  /**
   * The changes, once all is read.
   * @throws {SyntaxError} when the last one has no path
   */
  end(): RawChange[] {
    if (this.#header !== null) throw new SyntaxError("Cannot read git's raw diff: it ends within a change.");
    return this.#changes;
  }
}

function parseHeader(record: Uint8Array): Omit<RawChange, "path" | "from"> {
  const header = latin1.decode(record);
  const match = /^:(\d{6}) (\d{6}) [0-9a-f]+ [0-9a-f]+ ([ADMRT])\d*$/.exec(header);
  if (match === null) throw new SyntaxError(`Cannot read git's raw diff: "${header}".`);
  const [, oldMode = "", newMode = "", letter] = match;
  const status = letter === "A" || letter === "D" || letter === "R" ? letter : "M";
  // A part of a text keeps all of it in memory, and there are few modes.
  return { status, oldMode: modes.get(oldMode) ?? oldMode, newMode: modes.get(newMode) ?? newMode };
}

const latin1 = new TextDecoder("latin1");
const modes = new Map(["000000", "100644", "100755", "120000", "160000"].map((mode) => [mode, mode]));

/**
 * Changes between two trees, without renames.
 * @throws {BulkheadError} `io_error`
 */
export async function rawChanges(
  shadow: ShadowRepository,
  { from, to, call }: { from: string; to: string; call: ShadowCall },
): Promise<RawChange[]> {
  const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-textconv", from, to];
  const reader = new RawDiffReader();
  await eachInShadow(shadow, args, { ...call, cwd: topOf(shadow), take: (record) => reader.read(record) });
  return reader.end();
}

/** A record that names an entry: of a tree, or of an index. */
export interface GitEntry {
  mode: string;
  id: string;
  path: Uint8Array;
}

/** Hands over the entries of an index, one by one, or those of a tree. */
export async function eachEntry(
  shadow: ShadowRepository,
  { tree, ...call }: ShadowCall & { tree?: string },
  take: (entry: GitEntry) => void,
): Promise<void> {
  const args = tree === undefined ? ["ls-files", "-s", "-z"] : ["ls-tree", "-r", "-z", tree];
  await eachInShadow(shadow, args, {
    ...call,
    take(record) {
      const tab = record.indexOf(0x09);
      const [mode = "", ...rest] = pathText(record.subarray(0, tab)).split(" ");
      take({ mode, id: rest[tree === undefined ? 0 : 1] ?? "", path: record.subarray(tab + 1) });
    },
  });
}

/** A path of git's as text; bytes that are not UTF-8 become U+FFFD. */
export function pathText(path: Uint8Array): string {
  return utf8.decode(path);
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
