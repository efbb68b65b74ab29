import { expect } from "vitest";
import { join } from "node:path";
import type { AgentGit } from "./agent-git.ts";
import type { GitHistory, Told } from "./git-history.ts";

/** Looks at a person's repository after a history: nothing was lost or undone, and nothing ran. */
export async function checkHistory(repo: AgentGit, history: GitHistory, isAfterCommand = false): Promise<void> {
  const { sh, root, work } = repo;
  const log = history.log.join("\n");
  expect(await sh("ls ran 2>/dev/null || true"), log).toBe("");
  const subs = (await sh("ls -d sub*/.git 2>/dev/null || true")).split("\n").filter((line) => line !== "")
    .map((path) => join(work, path.replace(/\/\.git$/, "")));
  const trees = (await sh("git worktree list --porcelain | sed -n 's/^worktree //p'")).trim().split("\n");
  for (const tree of [...trees, ...subs]) await checkTree(repo, { tree, log, isAfterCommand });
  const known = new Set<string>();
  const reachable = new Set<string>();
  for (const repository of [work, ...subs]) {
    expect(await sh("git fsck --no-dangling --no-progress", repository), log).toBe("");
    // No step deletes a file: a commit that does was made with an old index.
    const deleting = "git log --all --reflog --diff-filter=D -M50% --no-merges --format=%s --name-only";
    expect(await sh(deleting, repository), log).toBe("");
    const lists = await sh("git rev-list --all --reflog HEAD", repository);
    for (const id of lists.split("\n")) reachable.add(id);
    const blobs = "git rev-list --objects --all --reflog --indexed-objects HEAD | cut -d' ' -f1 | git cat-file --batch";
    for (const line of (await sh(`${blobs} | grep -aE '^(agent|person)-[0-9]+$' || true`, repository)).split("\n")) {
      known.add(line);
    }
  }
  expect([...history.commits].filter((id) => !reachable.has(id)), log).toEqual([]);
  const files = "grep -rhsaE --exclude-dir=.git --exclude-dir=host-state '^(agent|person)-[0-9]+$' . || true";
  for (const line of (await sh(files, root)).split("\n")) known.add(line);
  expect([...history.lines].filter((line) => !known.has(line)), log).toEqual([]);
  const untold = history.told.filter(({ change: { outcome, command } }) =>
    outcome !== "moved" && command === undefined
  );
  expect(untold, log).toEqual([]);
}

/** Status says the same without all that the index knows of files, and what is staged deletes nothing. */
async function checkTree(
  { sh, stateDir }: AgentGit,
  { tree, log, isAfterCommand }: { tree: string; log: string; isAfterCommand: boolean },
): Promise<void> {
  const where = `${tree}\n${log}`;
  const status = await sh("git status --porcelain", tree);
  const fresh = join(stateDir, "fresh-index");
  const again =
    `git ls-files -s -z | GIT_INDEX_FILE='${fresh}' git update-index -z --index-info; GIT_INDEX_FILE='${fresh}' git status --porcelain; rm '${fresh}'`;
  expect(status, where).toBe(await sh(again, tree));
  expect(await sh("git ls-files -v | grep -v '^[HM] ' || true", tree), where).toBe("");
  // git puts files aside and back as staged, also those that someone moved.
  if (!isAfterCommand) expect(status.split("\n").filter((line) => /^D/.test(line)), where).toEqual([]);
}

/** Runs commands that were told, each on a copy of everything, and sees that they do what they say and lose nothing. */
export async function checkCommands(repo: AgentGit, history: GitHistory): Promise<void> {
  const kinds = new Map<string, Told>();
  for (const told of history.told) {
    const kind = told.change.command?.replace(/'.*?'|\S*\/\S*|[0-9a-f]{40}/g, "").replace(/\s+/g, " ");
    if (kind !== undefined) kinds.set(kind, told);
  }
  for (const told of kinds.values()) {
    await repo.sh(`cp -a '${repo.root}' '${repo.root}.kept'`, "/");
    try {
      await checkCommand(repo, { told, history });
    } finally {
      await repo.sh(`rm -rf '${repo.root}'; mv '${repo.root}.kept' '${repo.root}'`, "/");
    }
  }
}

/** What git may say of a command: the person's files and the agent's differ, or the person has something half done. */
const conflicts = [
  /^CONFLICT /m,
  /^error: (your local changes would be overwritten|Your local changes to the following files would be overwritten)/m,
  /^(error|fatal): .*(unmerged files|not concluded your merge|in the middle of|needs merge|is checked out at|used by worktree)/m,
  /already exists, no checkout/,
];

async function checkCommand(
  repo: AgentGit,
  { told: { change, top }, history }: { told: Told; history: GitHistory },
): Promise<void> {
  const { sh, root } = repo;
  const { command, id, kept_as: keptAs, submodule } = change;
  const wanted = submodule === undefined ? top : join(top, submodule);
  // The person may have moved it since.
  const isThere = await sh(`[ -e '${wanted}/.git' ] && echo yes || true`, root) === "yes\n";
  if (!isThere) return;
  const said = await sh(`(${command!}) 2>&1 && echo DONE || true`, wanted);
  const log = `${JSON.stringify(change)} in ${wanted}\n${said}\n${history.log.join("\n")}`;
  if (!said.endsWith("DONE\n")) return expect(conflicts.some((one) => one.test(said)), log).toBe(true);
  const [, , third] = command!.split(" ");
  if (/ merge /.test(command!)) {
    const folder = / -C (\S+) merge/.exec(command!)?.[1] ?? wanted;
    expect(await sh(`git merge-base --is-ancestor ${keptAs} HEAD && echo yes || true`, folder), log).toBe("yes\n");
  } else if (command!.startsWith("git update-ref refs")) {
    expect(await sh(`git rev-parse ${third}`, wanted), log).toBe(`${id}\n`);
  }
  if (/ (merge|restore|apply) /.test(command!)) await checkHistory(repo, history, true);
}
