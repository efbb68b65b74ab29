import type { Artifact } from "../../../plugin-sdk/result.ts";
import { pathKey } from "./git-call.ts";
import type { RawChange } from "./raw-diff.ts";
import { recordsInShadow, type ShadowCall, type ShadowRepository } from "./shadow-repository.ts";

type Lines = NonNullable<Artifact["lines"]>;

/** More changes than these are a flood, in which no person reads line counts. */
const mostCounted = 300;

/** Git compares no file above this size: it counts as binary. */
const largest = "core.bigFileThreshold=2m";

/**
 * Counts the lines that changes between two trees add and take away, by the keys of their paths. What is not known is
 * left out: binary and large files, contents that are not kept, and all of a flood of changes.
 * @param diff the arguments of git that found the changes, with the trees
 */
export async function changeLines(
  shadow: ShadowRepository,
  { changes, diff, call }: { changes: readonly RawChange[]; diff: readonly string[]; call: ShadowCall },
): Promise<Map<string, Lines>> {
  const counted = new Map<string, Lines>();
  if (changes.length === 0 || changes.length > mostCounted) return counted;
  const args = ["-c", largest, "diff-tree", "-r", "-z", "--numstat", ...diff];
  const records = await recordsInShadow(shadow, args, call).catch(() => []);
  call.signal.throwIfAborted();
  for (let at = 0; at < records.length; at++) {
    // Of a binary file there are dashes; the two paths of a rename follow in records of their own.
    const [, added, removed, path] = /^([\d-]+)\t([\d-]+)\t([^]*)$/.exec(pathKey(records[at]!)) ?? [];
    const key = path === "" ? pathKey(records[at += 2] ?? new Uint8Array()) : path;
    if (key !== undefined && added !== "-") counted.set(key, { added: Number(added), removed: Number(removed) });
  }
  return counted;
}
