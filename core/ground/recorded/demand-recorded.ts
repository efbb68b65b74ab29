import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { quoteWord } from "../config/grant-command.ts";
import { type ActedOnKind, actedOnKinds } from "./acted-on-kinds.ts";
import { absent, type Content } from "./content-state.ts";
import { type ExposedFolder, exposedOver } from "./exposed-folders.ts";
import { placesOnTheWay, roadIn } from "./places-on-the-way.ts";
import { type ActedOnRecord, readRecord, recordedFiles } from "./records.ts";
import { type Belief, standingIn } from "./standing.ts";
import { stat } from "../platform/files/files.ts";
import { basename, extname } from "../platform/files/paths.ts";

/**
 * Decides whether a host may act on a file or folder. Every reader of one asks here: of a host manifest, a lock, a
 * plugin's folder, a secret in a file and npm's settings. What no contained session could ever write is always believed.
 * @param path absolute
 * @param options.sha256 digest of the bytes that were read, where they were read before this is asked
 * @param options.gone Asked because nothing stands there; anything that does is not judged.
 * @throws {BulkheadError} `unaccepted_change` for what changed while a contained session could write it, with the
 * difference in its details and the command that accepts exactly what stands there
 */
export async function demandRecorded(
  path: string,
  kind: ActedOnKind,
  { sha256, gone = false }: { sha256?: string; gone?: boolean } = {},
): Promise<void> {
  const places = await placesOnTheWay(path);
  const folders = exposedOver(places, { within: actedOnKinds[kind].isFolder });
  for (const folder of folders) {
    const standing = await standingIn(folder, { path, kind, sha256 }, places);
    if (!standing.believed && (!gone || standing.content.digest === absent)) {
      throw refusal(folder, { path, kind, standing });
    }
  }
}

/**
 * Returns why a host may not act on what stands at a path, whatever kind of thing it is; null: it may.
 * @param path absolute
 */
export async function changeAt(path: string): Promise<BulkheadError | null> {
  try {
    await demandRecorded(path, await kindOf(path));
    return null;
  } catch (error) {
    if (error instanceof BulkheadError && error.code === "unaccepted_change") return error;
    throw error;
  }
}

/** Kind of a path: as it was recorded, else as its name says. */
export async function kindOf(path: string): Promise<ActedOnKind> {
  const places = await placesOnTheWay(path);
  for (const folder of exposedOver(places, { within: true })) {
    const record = readRecord(folder, roadIn(folder.path, places));
    if (record !== null) return record.kind;
  }
  if (basename(path) === ".npmrc") return "npm";
  if (extname(path) === ".lock") return "lock";
  const isFolder = await stat(path).then((info) => info.isDirectory(), () => false);
  return isFolder ? "plugin" : "manifest";
}

function refusal(
  folder: ExposedFolder,
  { path, kind, standing }: { path: string; kind: ActedOnKind; standing: Belief & { believed: false } },
): BulkheadError {
  const { content, record } = standing;
  const isGone = content.digest === absent;
  const what = isGone ? "was removed" : record === null || record.digest === absent ? "appeared" : "changed";
  const message = `Cannot use ${actedOnKinds[kind].words} ${path}: it ${what} while an agent could write it.`;
  return new BulkheadError("unaccepted_change", message, {
    hint: `Look at it. If you or a tool of yours did that, accept it: ${acceptCommand(path, content.digest)}`,
    details: {
      path,
      kind,
      digest: content.digest,
      recorded: record?.digest ?? null,
      difference: differenceLines(folder, standing),
    },
  });
}

/** The command line that accepts exactly this content. */
export function acceptCommand(path: string, digest: string): string {
  return `bulkhead accept ${quoteWord(path)} --digest ${digest}`;
}

/** Lines of a difference that are told, and characters of each. */
const mostLines = 40;
const mostCharacters = 200;

/** Compares content with its record: lines that begin with `-` and `+`, or names; none for what may hold a key. */
function differenceLines(
  folder: ExposedFolder,
  { content, record }: { content: Content; record: ActedOnRecord | null },
): string[] {
  if (content.files !== undefined) {
    const before = record === null ? {} : recordedFiles(folder, record) ?? {};
    return shortened(fileLines(before, content.files));
  }
  if (record !== null && !actedOnKinds[record.kind].keepsText) return [];
  const before = record === null || record.digest === absent ? "" : record.text;
  const now = content.digest === absent ? "" : content.text;
  if (before === undefined || now === undefined) return [];
  return shortened(textLines(before, now));
}

function fileLines(before: Record<string, string>, now: Record<string, string>): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
  return names.flatMap((name) => {
    if (before[name] === now[name]) return [];
    return [before[name] === undefined ? `+ ${name}` : now[name] === undefined ? `- ${name}` : `~ ${name}`];
  });
}

/** The lines between what both texts have at their beginning and at their end. */
function textLines(before: string, now: string): string[] {
  const [old, next] = [linesOf(before), linesOf(now)];
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start++;
  let end = 0;
  while (end < old.length - start && end < next.length - start && old.at(-1 - end) === next.at(-1 - end)) end++;
  return [
    ...old.slice(start, old.length - end).map((line) => `- ${line}`),
    ...next.slice(start, next.length - end).map((line) => `+ ${line}`),
  ];
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function shortened(lines: readonly string[]): string[] {
  const shown = lines.slice(0, mostLines).map((line) =>
    line.length > mostCharacters ? `${line.slice(0, mostCharacters)} …` : line
  );
  return lines.length > mostLines ? [...shown, `… and ${lines.length - mostLines} more lines`] : shown;
}
