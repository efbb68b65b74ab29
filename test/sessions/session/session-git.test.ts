import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { type AgentGit, type AgentSession, makeAgentGit } from "./agent-git.ts";

/** Begins a session; what the person's repository must be like at the end of every test is looked at by `clean`. */
async function begun(script?: string): Promise<{ repo: AgentGit; agent: AgentSession }> {
  const repo = await makeAgentGit(script);
  return { repo, agent: await repo.session() };
}

/** Refs besides branches that a session kept. */
async function keptRefs(repo: AgentGit): Promise<string[]> {
  const text = await repo.git("for-each-ref", "--format=%(refname)", "refs/bulkhead");
  return text.split("\n").filter((line) => line !== "").map((line) => line.replace(/^refs\/bulkhead\/[^/]+\//, ""));
}

describe("commits of an agent", () => {
  test("are on the branch that is checked out, with the index", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    const said = await agent.run(
      "echo two > b.txt; git add b.txt; git commit -qm second; git status --short; git log --format=%s",
    );
    expect(said).toBe("second\nfirst\n");
    expect(await repo.git("log", "--format=%s")).toBe("first\n");
    expect(await agent.end()).toMatchObject([{ name: "refs/heads/main", outcome: "moved" }]);
    expect(await repo.git("log", "--format=%s")).toBe("second\nfirst\n");
    expect(await repo.git("status", "--short")).toBe("");
    expect(await repo.git("for-each-ref", "--format=%(refname)")).toBe("refs/heads/main\n");
    await repo.git("fsck", "--strict");
    expect(await readdir(join(repo.stateDir, "git"))).toEqual([]);
  });

  test("of a session without any leave the index's own times as they were, by which the next one knows it", async (context) => {
    await needsWall(context, "bubblewrap");
    const repo = await makeAgentGit();
    const index = join(repo.work, ".git/index");
    const { ctimeMs, nlink } = await stat(index);
    const agent = await repo.session();
    await agent.run("git status --short");
    expect(await agent.end()).toEqual([]);
    expect(await stat(index)).toMatchObject({ ctimeMs, nlink });
  });

  test("go onto branches that it made, also the one that it switched to", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    await agent.run(
      "git switch -qc feature; echo x > x; git add x; git commit -qm x; git branch other; git switch -q main; git switch -q feature",
    );
    const changes = await agent.end();
    expect(changes.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      "refs/heads/feature moved",
      "refs/heads/other moved",
    ]);
    expect(await repo.git("symbolic-ref", "HEAD")).toBe("refs/heads/feature\n");
    expect(await repo.git("status", "--short")).toBe("");
  });

  test("stay beside a branch that the person moved, and are kept", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    await agent.run("echo x > x; git add x; git commit -qm of-agent");
    await repo.sh("echo y > y; git add y; git commit -qm of-person");
    const [change] = await agent.end();
    expect(change).toMatchObject({
      name: "refs/heads/main",
      outcome: "kept",
      kept_as: `refs/bulkhead/${agent.id}/heads/main`,
    });
    expect(await repo.git("log", "--format=%s", "main")).toBe("of-person\nfirst\n");
    expect(await repo.git("log", "--format=%s", change!.kept_as!)).toBe("of-agent\nfirst\n");
    expect(await repo.git("status", "--short")).toBe("?? x\n");
    await repo.sh(change!.command!);
    expect(await repo.git("status", "--short")).toBe("");
    expect((await repo.git("log", "--format=%s", "--no-merges")).split("\n").sort()).toEqual([
      "",
      "first",
      "of-agent",
      "of-person",
    ]);
  });

  test.for([
    ["of any kind", "x 'y", "!z", "^z", "$(touch ran)", "*", ":z", "é"],
    ["that a terminal does not show", "a\nb", "a\u001b[2Jb"],
    ["of which there are many", ...Array.from({ length: 30 }, (_, number) => `f${number}`)],
  ])("come back also with files of names %s", async ([, ...names], context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    for (const name of names) await repo.write(name, name);
    await agent.run("git add -A; git commit -qm of-agent; echo more > staged; git add staged");
    await repo.sh("git commit -q --allow-empty -m of-person");
    const changes = await agent.end();
    expect(changes.map(({ name }) => name)).toEqual(["index", "refs/heads/main"]);
    // A terminal shows each command as it is.
    expect(changes.map(({ command }) => command!).join("")).toMatch(/^\P{C}*$/u);
    for (const { command } of changes.toReversed()) await repo.sh(command!);
    expect(await repo.git("status", "--short")).toBe("A  staged\n");
    expect((await repo.git("log", "--format=%s", "--no-merges")).split("\n").sort().slice(1)).toEqual(
      ["first", "of-agent", "of-person"],
    );
    expect((await readdir(repo.work)).filter((name) => ![".git", "a.txt", "staged"].includes(name)).sort()).toEqual(
      names.sort(),
    );
  });

  test("stay beside a branch where both staged the same file, and go on it where they staged others", async (context) => {
    await needsWall(context, "bubblewrap");
    const first = await begun();
    await first.agent.run("echo x > x; git add x; git commit -qm x");
    await first.repo.sh("echo y > y; git add y");
    expect(await first.agent.end()).toMatchObject([{ name: "refs/heads/main", outcome: "moved" }]);
    expect(await first.repo.git("status", "--short")).toBe("A  y\n");
    const second = await begun();
    await second.agent.run("echo x > a.txt; git commit -qam x");
    await second.repo.sh("echo y > a.txt; git add a.txt");
    expect(await second.agent.end()).toMatchObject([{ outcome: "kept", reason: '"a.txt" was staged there meanwhile' }]);
    expect(await second.repo.git("log", "--format=%s")).toBe("first\n");
    expect(await second.repo.git("status", "--short")).toBe("M  a.txt\n");
  });

  test("stay beside a branch that another worktree has checked out", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun(
      "git init -q -b main . && echo one > a.txt && git add . && git commit -qm first && git worktree add -q ../linked -b linked",
    );
    await agent.run("git switch -q linked; echo x > x; git add x; git commit -qm x; git switch -q main");
    const [change] = await agent.end();
    expect(change).toMatchObject({ name: "refs/heads/linked", outcome: "kept" });
    expect(await repo.git("log", "--format=%s", "linked")).toBe("first\n");
    const linked = join(repo.root, "linked");
    expect(await repo.sh("git status --short", linked)).toBe("");
    await repo.sh(change!.command!);
    expect(await repo.sh("git log --format=%s; git status --short", linked)).toBe("x\nfirst\n");
  });

  test("come back to a branch that the person moved without its commits going", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun(
      "git init -q -b main . && echo one > a.txt && git add . && git commit -qm first && git branch other",
    );
    await agent.run("git switch -q other; echo x > x; git add x; git commit -qm of-agent; git switch -q main");
    await repo.sh("git switch -q other; echo y > y; git add y; git commit -qm of-person; git switch -q main");
    const [change] = await agent.end();
    expect(change).toMatchObject({ name: "refs/heads/other", outcome: "kept", reason: "it was moved meanwhile" });
    await repo.sh(change!.command!);
    expect((await repo.git("log", "--format=%s", "--no-merges", "other")).split("\n").sort()).toEqual(
      ["", "first", "of-agent", "of-person"],
    );
  });

  test("that were amended keep the old ones", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    const old = (await repo.git("rev-parse", "HEAD")).trim();
    await agent.run("echo x > x; git add x; git commit -q --amend -m amended");
    expect(await agent.end()).toMatchObject([{
      outcome: "moved",
      kept_as: `refs/bulkhead/${agent.id}/was/heads/main`,
    }]);
    expect(await repo.git("rev-parse", `refs/bulkhead/${agent.id}/was/heads/main`)).toBe(`${old}\n`);
  });

  test("that bring a pointer to a repository, or a file that others obey, are held", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    await agent.run(
      "git switch -qc bad; mkdir -p sub/.vscode; echo x > sub/.vscode/tasks.json; git add sub; git commit -qm bad",
    );
    await agent.run("git switch -q main; git switch -qc good; echo g > g; git add g; git commit -qm good");
    await agent.run(
      "git switch -qc worse main; git init -q nested; git -C nested commit -q --allow-empty -m n; git add nested; git commit -qm worse; git switch -q good",
    );
    const changes = await agent.end();
    expect(changes.map(({ name, outcome }) => `${name} ${outcome}`).sort()).toEqual([
      "refs/heads/bad held",
      "refs/heads/good moved",
      "refs/heads/worse held",
    ]);
    expect(await repo.git("for-each-ref", "--format=%(refname)", "refs/heads")).toBe(
      "refs/heads/good\nrefs/heads/main\n",
    );
  });
});

describe("what else an agent leaves", () => {
  test("a stash is kept, with the command that brings it back", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    await repo.write("a.txt", "two hours of work\n");
    await agent.run("git stash");
    expect(await repo.read("a.txt")).toBe("one\n");
    const [stash] = await agent.end();
    expect(stash).toMatchObject({ name: "stash@{0}", outcome: "kept" });
    await repo.sh(stash!.command!);
    expect(await repo.read("a.txt")).toBe("two hours of work\n");
  });

  test("a rebase, a merge, a detached HEAD, tags and lost commits are kept", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    await agent.run(
      "git switch -qc topic; echo t > a.txt; git commit -qam topic; git switch -q main; echo m > a.txt; git commit -qam main",
    );
    await agent.run("git tag -a v1 -m one; git rebase topic");
    const changes = await agent.end();
    expect(changes.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      "HEAD kept",
      "refs/heads/main kept",
      "refs/heads/topic moved",
      "refs/tags/v1 kept",
      "rebase-merge left",
    ]);
    expect(await repo.git("log", "--format=%s", "main")).toBe("first\n");
    expect(await repo.git("status", "--short")).toContain("a.txt");
    const lost = await makeAgentGit();
    const second = await lost.session();
    await second.run(
      "echo x > x; git add x; git commit -qm lost; git reset -q --hard HEAD~1; git reflog expire --expire=now HEAD",
    );
    await second.run("echo y > y; git add y; git commit -qm lost-too; git reset -q --hard HEAD~1");
    await second.end();
    expect(await keptRefs(lost)).toEqual(["unnamed/ORIG_HEAD", "unnamed/reflog/1"]);
  });

  test("deletions are told and not carried out", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun(
      "git init -q -b main . && git commit -q --allow-empty -m first && git branch b && git tag t",
    );
    await agent.run("git branch -D b; git tag -d t");
    expect((await agent.end()).map(({ name, outcome, command }) => [name, outcome, command])).toEqual([
      ["refs/heads/b", "left", "git branch -D -- b"],
      ["refs/tags/t", "left", "git update-ref -d refs/tags/t"],
    ]);
    expect(await repo.git("for-each-ref", "--format=%(refname)")).toBe("refs/heads/b\nrefs/heads/main\nrefs/tags/t\n");
  });

  test("what it only staged is staged outside, unless the person was at it", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    await agent.run("echo x > x; git add x; echo later > x");
    expect(await agent.end()).toEqual([{ name: "index", outcome: "moved" }]);
    expect(await repo.git("status", "--short")).toBe("AM x\n");
    expect(await repo.git("show", ":x")).toBe("x\n");
    const other = await repo.session();
    await other.run("echo z > x; git add x");
    await repo.sh("git commit -qm of-person");
    const [kept] = await other.end();
    expect(kept).toMatchObject({ name: "index", outcome: "kept", reason: "its branch was moved meanwhile" });
    expect(await repo.git("show", `refs/bulkhead/${other.id}/index:x`)).toBe("z\n");
    await repo.sh(`echo more > more; git add more; git commit -qm more; ${kept!.command}`);
    expect(await repo.git("diff", "--cached", "--name-status")).toBe("M\tx\n");
  });
});

const commands = `
set -e
git init -q --bare -b main /tmp/remote.git; git remote add origin /tmp/remote.git; git push -q -u origin main
git config user.nick x; git config --get user.nick; git status; git diff; git log --oneline
echo 1 > c1; git add c1; git commit -qm c1; git commit -q --amend -m c1-amended; git show --stat
git branch topic; git switch -q topic; echo 2 > c2; git add c2; git commit -qm c2; git checkout -q main
echo 3 > c3; git add -A; git commit -qm c3; git merge -q topic -m merged; git cherry-pick --allow-empty -x topic || git cherry-pick --skip
git revert --no-edit HEAD~0 -m 1; git tag v1; git tag -a v2 -m two; git reset -q --soft HEAD~1; git commit -qm again
echo dirty >> c1; git stash; git stash pop; git stash; git stash drop; git restore c1; git mv c1 c9; git rm -q --cached c9; git add c9; git commit -qm moved
git switch -qc side HEAD~1; echo s > s; git add s; git commit -qm s; git rebase -q main; git switch -q main; git fetch -q; git pull -q --rebase
git worktree add -q /tmp/wt side; git -C /tmp/wt status; git worktree list; git worktree remove /tmp/wt; git worktree prune
git notes add -m note; git clean -fq; git blame c9; git grep 1 c9; git bisect start HEAD HEAD~2; git bisect reset; git reflog; git describe --tags --always; git archive HEAD | wc -c
git -c protocol.file.allow=always submodule add -q /tmp/remote.git vendored; git submodule status; git submodule update --init; git rm -qf vendored; git commit -qm without-submodule --allow-empty
git gc -q; git gc -q --prune=now; git fsck; git repack -adq; git commit-graph write; git maintenance run; git push -q; git remote rename origin other; git remote remove other; git count-objects
echo ALL-DONE`;

describe("git inside", () => {
  test("everyday commands work", { timeout: 60_000 }, async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    const said = await agent.run(commands);
    expect(said).toContain("ALL-DONE");
    expect(said).not.toMatch(/^(error|fatal|warning: unable)/m);
    await agent.end();
    await repo.git("fsck");
    expect(await repo.sh("cat .git/config")).not.toMatch(/origin|other|nick/);
    expect(await repo.sh("ls .git")).not.toMatch(/worktrees|modules|lock/);
  });

  test("git clean removes all but the empty folders that keep names from the agent", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    const said = await agent.run("mkdir d; touch d/x y; git clean -fd; echo $?");
    const lines = said.trim().split("\n");
    expect(lines.filter((line) => !/^warning: failed to remove \.\w+\/: Device or resource busy$/.test(line))).toEqual([
      "Removing d/",
      "Removing y",
      "1",
    ]);
    await agent.end();
    expect(await readdir(repo.work)).toEqual([".git", "a.txt"]);
  });

  test("it finds neither the person's hooks nor settings that name programs", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun(
      `git init -q -b main . && echo one > a && git add . && git commit -qm first && git config core.fsmonitor ./evil && git config alias.x '!evil' &&
       git config core.pager evil && git config filter.f.clean evil && git config remote.origin.url https://example.com/x && git config commit.gpgsign true &&
       printf '#!/bin/sh\ntouch ran' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit`,
    );
    const said = await agent.run("git config --local --list; ls .git/hooks; echo x >> a; git commit -qam x && ls");
    expect(said).not.toMatch(/evil|pre-commit|ran/);
    expect(said).toContain("remote.origin.url=https://example.com/x");
    await agent.end();
    expect(await repo.git("log", "--format=%s")).toBe("x\nfirst\n");
    expect(await readdir(repo.work)).not.toContain("ran");
  });
});

const attacks: Record<string, string> = {
  "a commondir":
    "mkdir -p evil/objects evil/refs; printf '[core]\\nfsmonitor=./run\\n' > evil/config; cp .git/HEAD evil; echo ../evil > .git/commondir",
  "hooks":
    "mkdir -p .git/hooks; for h in pre-commit post-index-change reference-transaction post-checkout; do cp run .git/hooks/$h; done",
  "a config":
    "git config core.fsmonitor ./run; git config core.hooksPath .; git config filter.f.clean ./run; echo '* filter=f' > .git/info/attributes",
  "a config in place of the file": "rm .git/config; printf '[core]\\nfsmonitor=./run\\n' > c; mv c .git/config",
  "another .git": "mv .git old || true; rm -rf .git; git init -q .; git config core.fsmonitor ./run",
  "a .git that is a link": "mv .git old; ln -s old .git",
  "config of a worktree": "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor ./run",
  "an include": "git config include.path ../gitconfig; printf '[core]\\nfsmonitor=./run\\n' > gitconfig",
  "a rebase with exec":
    "mkdir -p .git/rebase-merge; echo 'exec ./run' > .git/rebase-merge/git-rebase-todo; echo refs/heads/main > .git/rebase-merge/head-name; git rev-parse HEAD > .git/rebase-merge/onto; git rev-parse HEAD > .git/rebase-merge/orig-head",
  "objects that lead elsewhere":
    "rm -rf .git/objects/info; ln -s /etc .git/objects/info; mv .git/objects old; ln -s /etc .git/objects",
  "a fifo among the objects":
    "mkdir -p .git/objects/aa; mkfifo .git/objects/aa/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb; echo x > x; git add x; git commit -qm x",
  "links for refs and HEAD":
    "ln -sf /etc/passwd .git/refs/heads/x; rm .git/HEAD; ln -s /etc/passwd .git/HEAD; rm .git/index; ln -s /etc/passwd .git/index",
  "a pack that lies":
    "echo x > x; git add x; git commit -qm x; git repack -adq; for f in .git/objects/pack/*.pack; do chmod +w $f; printf garbage >> $f; done",
  "a tree with .git in it":
    "b=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tconfig\\n' $b | git mktree); t=$(printf '040000 tree %s\\t.git\\n' $t | git mktree --missing); c=$(git commit-tree -m x $t); git update-ref refs/heads/main $c",
  "names that a shell obeys":
    "git update-ref 'refs/heads/a;touch${IFS}ran' HEAD; git commit -q --allow-empty -m x; git update-ref 'refs/heads/$(touch${IFS}ran)' HEAD",
};

describe("the person's git afterwards", () => {
  test.for(Object.entries(attacks))("runs nothing after %s", { timeout: 30_000 }, async ([, attack], context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    await agent.run(`printf '#!/bin/sh\\ntouch "${repo.work}/ran"\\n' > run; chmod +x run; ${attack}`);
    await repo.git("status");
    await agent.end();
    for (
      const command of ["status", "diff", "log", "add -A", "commit -qm after", "rebase --continue", "gc -q", "fsck"]
    ) {
      await repo.sh(`git ${command} >/dev/null 2>&1 || true`);
    }
    expect(await readdir(repo.work)).not.toContain("ran");
    expect(await repo.git("cat-file", "-t", "main")).toBe("commit\n");
    await repo.git("fsck");
  });

  test("has its objects still when the person cleaned up meanwhile", async (context) => {
    await needsWall(context, "bubblewrap");
    const { repo, agent } = await begun();
    await repo.sh("echo staged > s; git add s");
    const other = await repo.session();
    await agent.run("true");
    await other.run("git status");
    await other.git.held;
    await repo.sh(
      "echo else > s; git add s; git commit -q --amend -m amended; git reflog expire --expire=now --all; git gc -q --prune=now",
    );
    expect(await other.run("git commit -qm staged && git fsck --no-dangling && git log --format=%s")).toBe(
      "staged\nfirst\n",
    );
    await agent.end();
    expect(await other.end()).toMatchObject([{ name: "refs/heads/main", outcome: "kept" }]);
    expect(await keptRefs(repo)).toEqual(["heads/main"]);
    await repo.git("fsck");
  });
});
