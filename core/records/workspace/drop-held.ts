import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { chmod, lstat, rename, rm, symlink, writeFile } from "../../ground/runtime/files.ts";
import { randomId } from "../../ground/runtime/hash.ts";
import { join } from "../../ground/runtime/paths.ts";
import { removeTree } from "../../ground/runtime/remove-tree.ts";
import { bytesOfBase64 } from "../../ground/runtime/text-or-base64.ts";
import { askMarks } from "../gate/ask-gate.ts";
import type { HeldItem, HeldMember } from "../gate/held-item.ts";
import { isBehindLink } from "../git/behind-link.ts";

/**
 * Undoes held changes in a folder: removes what was added, and puts back what was there. All of them or none: nothing is
 * touched that is no longer as the session left it, or whose old content is not known.
 * @throws {BulkheadError} `conflict` with the paths in `details.paths`, `io_error`
 */
export async function dropHeld(folder: string, items: readonly HeldItem[]): Promise<void> {
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

async function isGone(path: string): Promise<boolean> {
  return await lstat(path).then(() => false, (error: unknown) => {
    return error instanceof Error && "code" in error && error.code === "ENOENT";
  });
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
