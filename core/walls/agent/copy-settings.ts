import { mkdir, readdir, stat, writeFile } from "../../ground/platform/files/files.ts";
import { readRealFile } from "../../ground/platform/files/read-plain-file.ts";
import { dirname, join } from "../../ground/platform/files/paths.ts";
import { approveSource, type LeftOut, type SourceRules } from "./approve-source.ts";

/** Bytes of one file of an agent's settings that is copied into its private home. */
const maxFileBytes = 1_000_000;

/** How much of an agent's settings is copied. */
interface Budget {
  files: number;
  bytes: number;
}

/** Things that the copies of one program have in common. */
export interface CopyScope {
  rules: SourceRules;
  budget: Budget;
  /** Takes each place that was not copied, and why. */
  leftOut(place: LeftOut): void;
}

/** Enough for the settings of any agent that we know, and copied in a few milliseconds. */
export function newBudget(): Budget {
  return { files: 500, bytes: 8_000_000 };
}

/**
 * Copies a regular file of a real path.
 * @returns false for anything else, and for what exceeds the budget
 */
export async function copyPlain(from: string, to: string, { budget }: CopyScope): Promise<boolean> {
  if (budget.files < 1 || budget.bytes < 1) return false;
  budget.files -= 1;
  const file = await readRealFile(from, Math.min(maxFileBytes, budget.bytes));
  if (file === null) return false;
  budget.bytes -= file.bytes.byteLength;
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await writeFile(to, file.bytes, { mode: file.mode | 0o600 });
  return true;
}

/** Copies the regular files of a folder, and what its links lead to where they count. The copy may be there. */
export async function copyTree(from: string, to: string, scope: CopyScope): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const entry of await readdir(from).catch(() => [])) {
    if (scope.budget.files < 1) {
      return scope.leftOut({ named: from, because: "there is more in it than is copied for an agent" });
    }
    const source = await approveSource(join(from, entry), scope.rules);
    if (source === null) continue;
    if ("because" in source) {
      scope.leftOut(source);
      continue;
    }
    const info = await stat(source.real).catch(() => null);
    if (info?.isDirectory()) {
      // Folders count too: a link to a folder above leads round in circles.
      scope.budget.files -= 1;
      await copyTree(source.real, join(to, entry), scope);
    } else if (info?.isFile() && !await copyPlain(source.real, join(to, entry), scope)) {
      scope.leftOut({ named: source.named, because: "it is too large to be copied for an agent" });
    }
  }
}
