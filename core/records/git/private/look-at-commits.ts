import { runGit } from "../../../ground/platform/processes/git-program.ts";
import { eachRecord, git, gitError, linesIn } from "../git-call.ts";
import { pointer } from "./index-entries.ts";
import { type ObjectsPlace, storeRun } from "./take-objects.ts";

/** Rules for paths that a person must look at first. */
export interface PathRules {
  /** Why a path is held: half a sentence; null for others. */
  heldPath(path: string): string | null;
  /** Path of the session's folder below the top, with `/` at its end. */
  prefix: string;
}

/** Why a change of a path must be looked at by a person: half a sentence; null where it need not be. */
export function heldChange(path: string, { mode, rules }: { mode: string | null; rules: PathRules }): string | null {
  if (!path.startsWith(rules.prefix)) return `"${path}" lies outside the session's folder`;
  // A removed file runs nothing.
  if (mode === null) return null;
  if (mode === pointer) return `"${path}" is a pointer to another repository`;
  return rules.heldPath(path);
}

/** Looks through all changes of the commits that a repository would get by one commit. */
export async function heldCommit(
  at: ObjectsPlace,
  { tip, bases, rules }: { tip: string; bases: readonly string[]; rules: PathRules },
): Promise<string | null> {
  let because: string | null = null;
  let change: string[] | null = null;
  const args = ["log", "--stdin", "-m", "--raw", "--no-renames", "--root", "--no-abbrev", "-z", "--format="];
  const stdin = linesIn([tip, ...bases.map((id) => `^${id}`)]);
  const take = (record: Uint8Array) => {
    const text = new TextDecoder().decode(record).replace(/^\n+/, "");
    if (change === null) change = text.startsWith(":") ? text.slice(1).split(" ") : null;
    else {
      const [old = "", mode = "", , , kind] = change;
      change = null;
      // A pointer that was there before leads nowhere new.
      if (because === null && !(mode === pointer && old === pointer)) {
        because = heldChange(text, { mode: kind === "D" ? null : mode, rules });
      }
    }
  };
  const outcome = await eachRecord(args, { ...storeRun(at), stdin }, take);
  if (outcome.exit_code !== 0) throw gitError(args, outcome);
  return because;
}

/** Commits that no other commit of a list leads to, without those that some ids lead to. */
export async function outermost(
  at: ObjectsPlace,
  { ids, known }: { ids: readonly string[]; known: readonly string[] },
): Promise<string[]> {
  if (ids.length === 0) return [];
  const stdin = linesIn([...ids, ...known.map((id) => `^${id}`)]);
  const stdout = await git(["rev-list", "--parents", "--stdin"], { ...storeRun(at), stdin });
  const rows = new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "").map((line) =>
    line.split(" ")
  );
  const led = new Set(rows.flatMap(([, ...parents]) => parents));
  return rows.map(([id = ""]) => id).filter((id) => !led.has(id));
}

/** Whether one commit leads to another. */
export async function leadsTo(at: ObjectsPlace, { from, to }: { from: string; to: string }): Promise<boolean> {
  const outcome = await runGit(["merge-base", "--is-ancestor", to, from], storeRun(at));
  return outcome.exit_code === 0;
}
