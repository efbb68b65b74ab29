import type { InstallScripts } from "../../../plugin-sdk/held.ts";
import { readlink } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { readPlainFile } from "../../ground/platform/files/read-plain-file.ts";
import { textOrBase64 } from "../../ground/platform/files/text-or-base64.ts";
import { askLook, askMarks } from "../gate/ask-gate.ts";
import { bounded, groupedBy, type HeldItem, type HeldMember, wholeFolder } from "../gate/held-item.ts";
import { changedScripts, installScripts } from "../gate/install-scripts.ts";
import type { LookStart } from "../gate/known-entries.ts";
import type { FoundEntry, FoundScripts, LookAnswer } from "../gate/look-question.ts";
import { withDeadline } from "./deadline.ts";
import { namedBySettings } from "./named-by-settings.ts";
import { indexBefore, type Snapshot } from "./snapshot.ts";
import { createBlobId } from "../../ground/platform/files/hash.ts";
import { eachEntry, pathText } from "./raw-diff.ts";
import { gitInShadow } from "./shadow-repository.ts";

interface LeftChanges {
  /** Those that wait for a person's word. */
  held: HeldItem[];
  /** Those that are named alone. */
  install_scripts: InstallScripts[];
}

interface LeftOptions {
  /** Real absolute path of the folder that the session could write. */
  top: string;
  start: LookStart;
  /** The folder's content at the start; null where it is not known. */
  snapshot: Snapshot | null;
  /** Real absolute paths of the host's own. */
  skip: readonly string[];
}

/** Largest file that is compared with its content before. */
const comparedBytes = 4 * 1024 * 1024;
/** Bytes of old contents that are kept for a session. */
const keptBytes = 4 * 1024 * 1024;
/** Longest wait for git. Milliseconds. */
const gitMs = 60_000;

/**
 * Finds what a session left in its folder that can run a program outside an agent's walls. The folder itself is looked
 * at, ignored files too; a file that is as the snapshot has it was not changed. Where the snapshot cannot be asked, all
 * that has a new change time counts as changed; a look that fails holds the whole folder.
 */
export async function leftChanges(options: LeftOptions): Promise<LeftChanges> {
  try {
    return await look(options);
  } catch {
    return { held: [wholeFolder], install_scripts: [] };
  }
}

async function look({ top, start, snapshot, skip }: LeftOptions): Promise<LeftChanges> {
  const named = await withDeadline({ timeoutMs: gitMs }, (signal) => namedBySettings(top, { signal }));
  const answer = await askLook({ top, ...start, skip, named });
  return await withDeadline({ timeoutMs: gitMs }, async (signal) => {
    const before = await beforeOf(answer, { snapshot, signal });
    const place = { top, snapshot, before, signal };
    const changed: FoundEntry[] = [];
    const same = new Map<string, number>(Object.entries(answer.unchanged));
    for (const one of answer.found) {
      if (await isAsBefore(one, place)) same.set(one.root, (same.get(one.root) ?? 0) + 1);
      else changed.push(one);
    }
    const items = await itemsOf(changed, { ...place, same });
    return { held: bounded(items), install_scripts: await changedPackages(answer.scripts, place) };
  });
}

interface Place {
  top: string;
  snapshot: Snapshot | null;
  before: ReadonlyMap<string, EntryBefore>;
  signal: AbortSignal;
}

async function beforeOf(
  { found, scripts }: LookAnswer,
  { snapshot, signal }: { snapshot: Snapshot | null; signal: AbortSignal },
): Promise<ReadonlyMap<string, EntryBefore>> {
  if (snapshot === null) return new Map();
  const paths = new Set([...found, ...scripts].map(({ path }) => path));
  return await entriesBefore(snapshot, { paths, signal }).catch(() => new Map());
}

/** Whether the snapshot has an entry as it is now. What is held for more than its content never is. */
async function isAsBefore({ path, kind, type, isThrough }: FoundEntry, { top, before }: Place): Promise<boolean> {
  const known = before.get(path);
  if (known === undefined || isThrough === true || kind === "set_user_id" || kind === "unseen") return false;
  if (type === "link") {
    const target = known.mode === linkMode ? await readlink(join(top, path)).catch(() => null) : null;
    return target !== null && hasId(new TextEncoder().encode(target), known.id);
  }
  if (type !== "file" || known.mode === linkMode) return false;
  const content = await readPlainFile(join(top, path), comparedBytes);
  return content !== null && hasId(content, known.id);
}

const linkMode = "120000";

/** One item for each entry; one for a guarded folder in which all was made since. */
async function itemsOf(
  found: readonly FoundEntry[],
  place: Place & { same: ReadonlyMap<string, number> },
): Promise<HeldItem[]> {
  const items: HeldItem[] = [];
  const whole: { root: string; entries: FoundEntry[] }[] = [];
  let room = keptBytes;
  for (const [root, entries] of groupedBy(found, (one) => one.root)) {
    const isWhole = entries.every(({ path, isBorn }) => path !== root && isBorn && !place.before.has(path)) &&
      !place.same.has(root);
    if (isWhole) {
      whole.push({ root, entries });
      continue;
    }
    for (const one of entries) {
      const before = await keptBefore(one, { ...place, room });
      if (before !== null) room -= "text" in before ? before.text.length : before.base64.length;
      items.push(itemOf(one, { known: place.before.get(one.path), before }));
    }
  }
  if (whole.length === 0) return items;
  const marks = await askMarks(place.top, whole.map(({ root }) => root));
  return [
    ...items,
    ...whole.map(({ root, entries }, index): HeldItem => {
      const { kind, by, why } = entries[0]!;
      const members = [{ path: root, mark: marks[index] ?? null, is_new: true, before: null }];
      return { path: root, kind, change: "new", by, why, files: entries.length, members };
    }),
  ];
}

function itemOf(
  { path, kind, by, why, isBorn, mark, target, files }: FoundEntry,
  { known, before }: { known: EntryBefore | undefined; before: HeldMember["before"] },
): HeldItem {
  const is_new = known === undefined && isBorn;
  return {
    path,
    kind,
    change: is_new ? "new" : "changed",
    by,
    why,
    ...(target === undefined ? {} : { target }),
    ...(files === undefined ? {} : { files }),
    members: [{ path, mark, is_new, before }],
  };
}

async function keptBefore(
  { path }: FoundEntry,
  { snapshot, before, signal, room }: Place & { room: number },
): Promise<HeldMember["before"]> {
  const known = before.get(path);
  if (known === undefined || snapshot === null || room <= 0) return null;
  const content = await contentBefore(snapshot, { id: known.id, signal });
  return content === null || content.byteLength > room ? null : { mode: known.mode, ...textOrBase64(content) };
}

/** Packages of which an install runs other scripts than before. */
async function changedPackages(found: readonly FoundScripts[], place: Place): Promise<InstallScripts[]> {
  const changed: InstallScripts[] = [];
  for (const { path, scripts } of found) {
    const known = place.before.get(path);
    const old = known === undefined || place.snapshot === null
      ? null
      : await contentBefore(place.snapshot, { id: known.id, signal: place.signal });
    const names = changedScripts(scripts, old === null ? {} : installScripts(path, new TextDecoder().decode(old)));
    if (names.length > 0) changed.push({ path, names });
  }
  return changed.sort((a, b) => a.path < b.path ? -1 : 1);
}

interface EntryBefore {
  /** In octal: `100644`, `100755`, `120000` for a link. */
  mode: string;
  /** Id of its content in git. */
  id: string;
}

/**
 * Finds what a snapshot has of these paths, relative to its working directory.
 * @throws {BulkheadError} `io_error`
 */
async function entriesBefore(
  { held }: Snapshot,
  { paths, signal }: { paths: ReadonlySet<string>; signal: AbortSignal },
): Promise<Map<string, EntryBefore>> {
  const found = new Map<string, EntryBefore>();
  if (held === null || paths.size === 0) return found;
  await eachEntry(held.shadow, { index: indexBefore, signal }, ({ mode, id, path }) => {
    const name = pathText(path);
    if (paths.has(name)) found.set(name, { mode, id });
  });
  return found;
}

/** The content that a snapshot has of an entry; null where it was hashed and not stored. */
async function contentBefore(
  { held }: Snapshot,
  { id, signal }: { id: string; signal: AbortSignal },
): Promise<Uint8Array | null> {
  if (held === null) return null;
  return await gitInShadow(held.shadow, ["cat-file", "blob", id], { index: indexBefore, signal }).catch(() => null);
}

function hasId(content: Uint8Array, id: string): boolean {
  return createBlobId(content, id.length === 64 ? "sha256" : "sha1") === id;
}
