import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { quoteWord } from "../config/grant-command.ts";
import { type ActedOnKind, actedOnKinds } from "./acted-on-kinds.ts";
import { absent } from "./content-state.ts";
import { differenceLines } from "./difference-lines.ts";
import { type ExposedFolder, exposedOver } from "./exposed-folders.ts";
import { placesOnTheWay, recordedName } from "./places-on-the-way.ts";
import { type Standing, standingIn } from "./standing.ts";

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
  const folders = await exposedOver(await placesOnTheWay(path), { within: actedOnKinds[kind].isFolder });
  if (folders.length === 0) return;
  const name = await recordedName(path);
  for (const folder of folders) {
    const standing = await standingIn(folder, { path: name, kind, sha256 });
    if (!standing.believed && (!gone || standing.content.digest === absent)) throw await refusal(folder, { path: name, kind, standing });
  }
}

async function refusal(
  folder: ExposedFolder,
  { path, kind, standing }: { path: string; kind: ActedOnKind; standing: Standing & { believed: false } },
): Promise<BulkheadError> {
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
      difference: await differenceLines(folder, standing),
    },
  });
}

/** The command line that accepts exactly this content. */
export function acceptCommand(path: string, digest: string): string {
  return `bulkhead accept ${quoteWord(path)} --digest ${digest}`;
}
