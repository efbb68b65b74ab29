import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HeldDecision, SessionHeld, SettledHeld } from "../../../plugin-sdk/held.ts";
import { type HeldItem, type HeldMember, shownHeld } from "../gate/held-item.ts";
import type { HeldFiles, HeldRecord } from "./held-files.ts";
import { chmod, rename, rm, symlink, writeFile } from "../../ground/platform/files/files.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { isGone, removeTree } from "../../ground/platform/files/remove-tree.ts";
import { bytesOfBase64 } from "../../ground/platform/files/text-or-base64.ts";
import { askMarks } from "../gate/ask-gate.ts";
import { isBehindLink } from "../git/look-at.ts";
import { leftChanges } from "../git/left-changes.ts";
import { isAlive } from "./holder.ts";
import type { WorkspaceFiles } from "./workspace-files.ts";

/** Held changes of a session in place, as clients see them. */
export function shownInPlace({ session_id, folder, at, items }: HeldRecord): SessionHeld {
  return { session_id, place: "inplace", folder, at, held: items.map(shownHeld) };
}

/**
 * Settles held changes of a session in place: `apply` leaves them as they are, `drop` undoes them.
 * @throws {BulkheadError} `not_found`; as {@link dropHeld}
 */
export async function settleInPlace(
  files: HeldFiles,
  { sessionId, decision }: { sessionId: string; decision: HeldDecision },
): Promise<SettledHeld> {
  const record = await files.read(sessionId);
  const chosen = chosenOf(record.items, decision.paths);
  if (decision.action === "drop") await dropHeld(record.folder, chosen);
  const left = record.items.filter((item) => !chosen.includes(item));
  await files.write({ ...record, items: left });
  return { session_id: sessionId, settled: chosen.map(({ path }) => path), held: left.map(shownHeld) };
}

/**
 * The items of these paths; all without paths.
 * @throws {BulkheadError} `not_found` for a path that is not held
 */
export function chosenOf<T extends Pick<HeldItem, "path">>(items: readonly T[], paths?: readonly string[]): T[] {
  if (paths === undefined) return [...items];
  const known = new Set(items.map(({ path }) => path));
  const unknown = paths.find((path) => !known.has(path));
  if (unknown !== undefined) throw new BulkheadError("not_found", `Nothing of the path "${unknown}" is held.`);
  return items.filter(({ path }) => paths.includes(path));
}

/**
 * Undoes held changes in a folder: removes what was added, and puts back what was there. All of them or none: nothing is
 * touched that is no longer as the session left it, or whose old content is not known.
 * @throws {BulkheadError} `conflict` with the paths in `details.paths`, `io_error`
 */
async function dropHeld(folder: string, items: readonly HeldItem[]): Promise<void> {
  const members = items.flatMap((item) => item.members);
  const marks = await askMarks(folder, members.map(({ path }) => path));
  const refused: string[] = items.filter(({ members }) => members.length === 0).map(({ path }) => path);
  const wanted: HeldMember[] = [];
  for (const [index, member] of members.entries()) {
    if (await isGone(join(folder, member.path))) continue;
    const isSame = member.mark !== null && member.mark === marks[index];
    const isKnown = member.is_new || member.before !== null;
    if (isSame && isKnown && !await isBehindLink(folder, member.path)) wanted.push(member);
    else refused.push(member.path);
  }
  if (refused.length > 0) throw cannotDrop(folder, refused);
  for (const member of wanted) await dropMember(join(folder, member.path), member);
}

async function dropMember(path: string, { before }: HeldMember): Promise<void> {
  if (before === null) return await removeTree(path);
  const draft = `${path}.${randomId()}.tmp`;
  const bytes = "text" in before ? new TextEncoder().encode(before.text) : bytesOfBase64(before.base64);
  try {
    if (before.mode === "120000") await symlink(new TextDecoder().decode(bytes ?? new Uint8Array()), draft);
    else {
      const mode = before.mode === "100755" ? 0o755 : 0o644;
      await writeFile(draft, bytes ?? new Uint8Array(), { flag: "wx", mode });
      await chmod(draft, mode);
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    throw error;
  }
}

function cannotDrop(folder: string, paths: readonly string[]): BulkheadError {
  const [first = ""] = paths;
  const others = paths.length === 1 ? "" : `, and ${paths.length - 1} more`;
  return new BulkheadError(
    "conflict",
    `Cannot drop "${first}"${others}: it has changed since the session, or its content before is not known.`,
    {
      hint:
        `Nothing was changed. Look at it in ${folder}, remove or mend it yourself, then apply it to take it off the list.`,
      details: { paths: paths.slice(0, 1000) },
    },
  );
}

/** Looks at the folders of sessions whose host was killed, which are held until then. Never throws. */
export async function lookAtLeft(
  files: WorkspaceFiles,
  { held, skip }: { held: HeldFiles; skip: readonly string[] },
): Promise<void> {
  for (const { session_id } of (await held.list()).filter(({ watch }) => watch !== undefined)) {
    // Another host may be at it.
    await files.alone(session_id, async () => {
      const { watch, ...record } = await held.read(session_id);
      if (watch === undefined || isAlive(watch.holder)) return;
      const left = await leftChanges({ top: record.folder, start: watch.start, snapshot: null, skip });
      await held.write({ ...record, at: new Date().toISOString(), items: left.held });
    }).catch(() => {});
  }
}
