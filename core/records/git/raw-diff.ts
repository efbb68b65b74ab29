import { splitNul } from "./git-call.ts";
import { gitInShadow, type ShadowCall, type ShadowRepository, topOf } from "./shadow-repository.ts";

/** One change between two trees, as `git diff-tree --raw` gives it. */
export interface RawChange {
  status: "A" | "D" | "M" | "R";
  /** Modes in octal: `100644`, `100755`, `120000` symlink, `160000` submodule, `000000` none. */
  oldMode: string;
  newMode: string;
  /** Id of the new content; all zeros for what was deleted. */
  objectId: string;
  path: Uint8Array;
  /** The old path of a rename. */
  from: Uint8Array | null;
}

/**
 * Parses `git diff-tree -r -z --raw` (the raw output format of git-diff): `:<mode> <mode> <id> <id> <status>`, NUL,
 * a path, NUL, and for renames a second path, NUL. A change of type counts as a modification.
 */
export function parseRawDiff(output: Uint8Array): RawChange[] {
  const records = splitNul(output);
  const changes: RawChange[] = [];
  for (let at = 0; at < records.length;) {
    const header = new TextDecoder().decode(records[at++]);
    const match = /^:(\d{6}) (\d{6}) [0-9a-f]+ ([0-9a-f]+) ([ADMRT])\d*$/.exec(header);
    const first = records[at++];
    if (match === null || first === undefined) throw new SyntaxError(`Cannot read git's raw diff: "${header}".`);
    const [, oldMode = "", newMode = "", objectId = "", letter] = match;
    const second = letter === "R" ? records[at++] : undefined;
    const status = letter === "A" || letter === "D" || letter === "R" ? letter : "M";
    changes.push({
      status,
      oldMode,
      newMode,
      objectId,
      path: second ?? first,
      from: second === undefined ? null : first,
    });
  }
  return changes;
}

/**
 * Changes between two trees, without renames.
 * @throws {BulkheadError} `io_error`
 */
export async function rawChanges(
  shadow: ShadowRepository,
  { from, to, call }: { from: string; to: string; call: ShadowCall },
): Promise<RawChange[]> {
  const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-textconv", from, to];
  return parseRawDiff(await gitInShadow(shadow, args, { ...call, cwd: topOf(shadow) }));
}

/** A path of git's as text; bytes that are not UTF-8 become U+FFFD. */
export function pathText(path: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(path);
}
