import type { TurnDiff } from "../../../plugin-sdk/conversation.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { joinBytes } from "../../ground/platform/files/join-bytes.ts";
import { relative, sep } from "../../ground/platform/files/paths.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";
import { type GitDeadline, withDeadline } from "../git/deadline.ts";
import { gitError, pathKey } from "../git/git-call.ts";
import { pathText } from "../git/raw-diff.ts";
import { type ShadowCall, type ShadowRepository, shadowRun } from "../git/shadow-repository.ts";
import { patchArgs } from "../git/worktree-diff.ts";
import { type BlobChange, blobChanges } from "./blob-changes.ts";
import { folderOf, type StorePlace } from "./store-place.ts";
import { readStoreRecord, type StoredTurn } from "./store-record.ts";
import { type OpenTurn, readOpen } from "./turn-files.ts";

/** Files that are listed, and bytes of their patch. */
const mostFiles = 1000;
const patchBytes = 1024 * 1024;

/**
 * Compares the files before and after one turn. Changes nothing, and needs no lock: the trees of a turn stay as they are.
 * @throws {BulkheadError} `not_found` for a turn that is not kept, `timeout`, `io_error`, `invalid_request`
 */
export async function readTurnDiff(
  { turn, ...options }: StorePlace & GitDeadline & { turn: number },
): Promise<Omit<TurnDiff, "conversation_id">> {
  const folder = folderOf(options);
  const record = await readStoreRecord(folder);
  const stored = record?.turns.find((one) => one.turn === turn);
  if (record === null || stored === undefined || stored.after === null || !stored.is_kept) {
    throw new BulkheadError("not_found", `Cannot show what turn ${turn} changed: its files are not kept, or not yet.`, {
      hint:
        "Sessions keep them at the end of a turn that are started with checkpoints: true (--checkpoints), or wait for messages (--keep).",
    });
  }
  const { before, after } = stored;
  return await withDeadline(options, async (signal) => {
    // Nothing of the work tree has a say: only trees are compared.
    const shadow: ShadowRepository = { folder, workdir: folder, repository: null };
    const call = { index: "none", signal };
    const below = relative(record.top, record.workdir).split(sep).join("/");
    const changes = await blobChanges(shadow, { from: before, to: after, call });
    const open = await readOpen(folder, stored);
    return {
      turn,
      before,
      after,
      taken_back: !record.line.includes(turn),
      ...listOf(changes, { open, prefix: below === "" ? 0 : new TextEncoder().encode(`${below}/`).length }),
      ...await patchOf(shadow, { stored: { ...stored, after }, below, call }),
    };
  });
}

function listOf(
  changes: readonly BlobChange[],
  { open, prefix }: { open: OpenTurn; prefix: number },
): Pick<TurnDiff, "files" | "files_omitted"> {
  const files = changes.slice(0, mostFiles).map(({ path, old, new: now }) => ({
    path: pathText(path.subarray(prefix)),
    change: old === null ? "created" as const : now === null ? "deleted" as const : "modified" as const,
    ...(open === "all" || open.unclaimed.has(pathKey(path)) ? { unclaimed: true as const } : {}),
  }));
  const omitted = changes.length - files.length;
  return { files, ...(omitted === 0 ? {} : { files_omitted: omitted }) };
}

/** Writes the patch; where it is too long, of the first files alone. */
async function patchOf(
  shadow: ShadowRepository,
  { stored: { before, after }, below, call }: {
    stored: Pick<StoredTurn, "before"> & { after: string };
    below: string;
    call: ShadowCall;
  },
): Promise<Pick<TurnDiff, "patch" | "patch_cut">> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const enough = new BulkheadError("too_large", "The patch is long enough.");
  const shown = patchArgs.filter((arg) => arg !== "--binary");
  const args = ["-c", "core.bigFileThreshold=1m", ...shown, ...(below === "" ? [] : [`--relative=${below}/`])];
  try {
    const outcome = await runGit([...args, before, after], {
      ...shadowRun(shadow, call),
      onStdout(chunk) {
        chunks.push(chunk);
        bytes += chunk.byteLength;
        if (bytes > patchBytes) throw enough;
      },
    });
    if (outcome.exit_code !== 0) throw gitError(["diff-tree"], outcome);
  } catch (error) {
    if (error !== enough) throw error;
  }
  const patch = new TextDecoder().decode(joinBytes(chunks).subarray(0, patchBytes));
  if (bytes <= patchBytes) return { patch };
  const end = patch.lastIndexOf("\ndiff --git ");
  return { patch: end === -1 ? "" : patch.slice(0, end + 1), patch_cut: true };
}
