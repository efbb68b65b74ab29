import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { takeOverOf } from "../../../core/sessions/session/session-git.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { codeOf } from "../../walls/broker/broker-fixture.ts";
import { makeAgentGit } from "./agent-git.ts";

const first = "git init -q -b main . && echo one > a.txt && git add . && git commit -qm first";

describe("a git folder for", () => {
  test("a person's linked worktree takes commits over to its branch", async (context) => {
    await needsWall(context, "bubblewrap");
    const repo = await makeAgentGit(`${first} && git worktree add -q ../linked -b linked`);
    const linked = join(repo.root, "linked");
    const agent = await repo.session({ workdir: linked });
    expect(await agent.run("echo x > x; git add x; git commit -qm x; git status --short; git branch --show-current"))
      .toBe("linked\n");
    expect(await agent.end()).toMatchObject([{ name: "refs/heads/linked", outcome: "moved" }]);
    expect(await repo.sh("git log --format=%s; git status --short", linked)).toBe("x\nfirst\n");
    expect(await repo.git("log", "--format=%s")).toBe("first\n");
    expect(await repo.git("status", "--short")).toBe("");
  });

  test("a session's own worktree moves its HEAD, and no branch", async (context) => {
    await needsWall(context, "bubblewrap");
    const repo = await makeAgentGit(`${first} && git worktree add -q --detach ../own`);
    const own = join(repo.root, "own");
    const agent = await repo.session({ workdir: own, workspaceDir: own });
    await agent.run(
      "echo x > x; git add x; git commit -qm x; git branch extra; git branch -f main; git switch -qc topic",
    );
    const changes = await agent.end();
    expect(changes.map(({ name, outcome }) => `${name} ${outcome}`).sort()).toEqual([
      "HEAD moved",
      "refs/heads/extra kept",
      "refs/heads/main kept",
      "refs/heads/topic kept",
    ]);
    expect(await repo.sh("git log --format=%s; git status --short; git rev-parse --abbrev-ref HEAD", own)).toBe(
      "x\nfirst\nHEAD\n",
    );
    expect(await repo.git("for-each-ref", "--format=%(refname)", "refs/heads")).toBe("refs/heads/main\n");
    expect(await repo.git("log", "--format=%s", "main")).toBe("first\n");
  });

  test("a package folder leaves the rest of the repository alone, and holds commits that do not", async (context) => {
    await needsWall(context, "bubblewrap");
    const script =
      "git init -q -b main . && mkdir -p packages/a packages/b && echo a > packages/a/f && echo b > packages/b/f && echo r > root && git add . && git commit -qm first";
    const repo = await makeAgentGit(script);
    const agent = await repo.session({ workdir: join(repo.work, "packages/a") });
    expect(
      await agent.run(
        "echo new >> f; git status --short; git commit -qam changed; git status --short; git show --stat --format=%s; ls ../.. ../b",
      ),
    )
      .toMatch(/^ M f\nchanged\n\n packages\/a\/f \| 1 \+\n/);
    expect(await agent.end()).toMatchObject([{ name: "refs/heads/main", outcome: "moved" }]);
    expect(await repo.git("status", "--short")).toBe("");
    const other = await repo.session({ workdir: join(repo.work, "packages/a") });
    await other.run("git rm -q --sparse --cached ../../root; git commit -qm removed");
    expect(await other.end()).toMatchObject([{ outcome: "held", reason: '"root" lies outside the session\'s folder' }]);
    expect(await repo.git("status", "--short")).toBe("");
    expect(await readdir(join(repo.work, "packages/a"))).toEqual(["f"]);
  });

  test("a folder without a repository is a place of its own, and what it made there is told", async (context) => {
    await needsWall(context, "bubblewrap");
    const repo = await makeAgentGit("true");
    const agent = await repo.session();
    await agent.run("git init -q; git config core.fsmonitor ./run; git add -A; git commit -q --allow-empty -m x");
    expect(await repo.sh("git status 2>&1 || true")).toContain("not a git repository");
    const [change] = await agent.end();
    expect(change).toMatchObject({ name: join(repo.work, ".git"), outcome: "left" });
    expect(await readdir(repo.work)).toEqual([]);
    await repo.sh(change!.command!);
    expect(await repo.sh("git log --all --format=%s")).toBe("x\n");
  });

  test("a package folder in which it made one tells of that folder, and of what is none", async (context) => {
    await needsWall(context, "bubblewrap");
    const script =
      "git init -q -b main . && mkdir -p packages/a && echo a > packages/a/f && git add . && git commit -qm first";
    const repo = await makeAgentGit(script);
    const folder = join(repo.work, "packages/a");
    // Without a look at it git would go on upwards.
    const none = await repo.session({ workdir: folder });
    await none.run("mkdir .git/hooks");
    const [nothing] = await none.end();
    expect(await repo.sh(nothing!.command!)).toBe("hooks\n");
    const agent = await repo.session({ workdir: folder });
    await agent.run("rm -rf .git/*; GIT_DIR=.git git init -q; GIT_DIR=.git git commit -q --allow-empty -m x");
    const [change] = await agent.end();
    await repo.sh(change!.command!);
    expect(await repo.sh("git log --all --format=%s", folder)).toBe("x\n");
    expect(await repo.git("log", "--all", "--format=%s")).toBe("first\n");
  });

  test("a repository with submodules has one for each, and none is entered by the person's git", async (context) => {
    await needsWall(context, "bubblewrap");
    const repo = await makeAgentGit(
      `git init -q -b main ../lib && git -C ../lib commit -q --allow-empty -m lib && ${first} && git submodule add -q ../lib sub && git submodule add -q ../lib deep/sub && git commit -qm subs && git submodule deinit -q deep/sub`,
    );
    const agent = await repo.session();
    expect(
      await agent.run(
        "git status --short; git -C sub log --format=%s; echo x > sub/x; git -C sub add x; git -C sub commit -qm in-sub; git status --short",
      ),
    )
      .toBe("lib\n M sub\n");
    const run = `printf '#!/bin/sh\\ntouch "${repo.work}/ran"\\n' > run; chmod +x run;`;
    await agent.run(
      `${run} git -C sub config core.fsmonitor "$PWD/run"; mv sub old; rm -rf deep; mkdir -p sub; git init -q sub; git init -q deep/sub; git -C deep/sub config core.fsmonitor "$PWD/run"; rm -f sub/.git; cp -r sub/.git sub2`,
    );
    await repo.git("status");
    expect(await agent.end()).toMatchObject([{ outcome: "moved", submodule: "sub" }, { outcome: "left" }]);
    await repo.sh("rm run; git status; git diff; git submodule status; git commit -qam new-sub");
    expect(await readdir(repo.work)).not.toContain("ran");
    expect(await repo.sh("git -C sub log --format=%s; git -C sub status --short")).toBe("in-sub\nlib\n");
    expect(await readdir(join(repo.work, "deep/sub"))).toEqual([]);
  });

  test("submodules that the person adds, moves or empties meanwhile are guarded for the next program", {
    timeout: 20_000,
  }, async (context) => {
    await needsWall(context, "bubblewrap");
    const repo = await makeAgentGit(
      `git init -q -b main ../lib && git -C ../lib commit -q --allow-empty -m lib && ${first} && git submodule add -q ../lib sub && git submodule add -q ../lib deep/sub && git commit -qm subs`,
    );
    const agent = await repo.session();
    await agent.run("echo x > sub/x; git -C sub add x; git -C sub commit -qm of-agent");
    await repo.sh("git submodule add -q ../lib new; git mv sub moved; rm -rf deep");
    // Inside, an agent may run what it likes: only out here there is such a home.
    await repo.sh("touch ~/.out");
    const run = `printf '#!/bin/sh\\n[ -e "${repo.home}/.out" ] && touch "${repo.work}/ran"\\n' > run; chmod +x run;`;
    const attack = (folder: string) =>
      `mkdir -p ${folder}; rm -rf ${folder}/.git; mv ${folder} ${folder}-old; mkdir -p ${folder}; git init -q ${folder}; git -C ${folder} config core.fsmonitor "$PWD/run";`;
    await agent.run(`${run} ${["sub", "new", "moved", "deep/sub"].map(attack).join(" ")}`);
    await agent.run("echo y > new/y; git -C new add y; git -C new commit -qm of-agent");
    await repo.sh("git status; git diff; git submodule status");
    expect(await readdir(repo.work)).not.toContain("ran");
    expect((await agent.end()).map(({ outcome, submodule }) => `${submodule} ${outcome}`)).toEqual([
      "moved moved",
      "new moved",
      "undefined left",
    ]);
    for (const folder of ["moved", "new"]) {
      expect(await repo.git("-C", folder, "log", "--format=%s")).toBe("of-agent\nlib\n");
    }
    expect(await readdir(repo.work)).not.toContain("deep");
  });

  test("a submodule alone, and a folder below a submodule", async (context) => {
    await needsWall(context, "bubblewrap");
    const repo = await makeAgentGit(
      `git init -q -b main ../lib && mkdir ../lib/in && echo l > ../lib/in/l && git -C ../lib add . && git -C ../lib commit -q -m lib && ${first} && git submodule add -q ../lib sub && git commit -qm subs`,
    );
    for (const workdir of ["sub", "sub/in"]) {
      const agent = await repo.session({ workdir: join(repo.work, workdir) });
      await agent.run(`echo ${workdir} > f; git add f; git commit -qm ${workdir}`);
      expect(await agent.end()).toMatchObject([{ name: "refs/heads/main", outcome: "moved" }]);
    }
    expect(await repo.sh("git -C sub log --format=%s; git -C sub status --short; git status --short")).toBe(
      "sub/in\nsub\nlib\n M sub\n",
    );
  });
});

describe("a repository", () => {
  const shapes: Record<string, string> = {
    "without a commit": "git init -q -b main . && echo staged > s && git add s",
    "with a split index": `${first} && git update-index --split-index`,
    "with an index of version 4":
      `${first} && mkdir -p d/e && touch d/e/f d/e/g && git add . && git commit -qm more && git update-index --index-version 4`,
    "with SHA-256": first.replace("git init", "git init --object-format=sha256"),
    "that borrows objects":
      `git init -q -b main ../store && git -C ../store commit -q --allow-empty -m store && git clone -q --shared ../store . && echo one > a.txt && git add . && git commit -qm first`,
    "with packed refs": `${first} && git pack-refs --all && git gc -q`,
    "with a detached HEAD": `${first} && git checkout -q --detach`,
    "that is shallow":
      `git init -q -b main ../store && git -C ../store commit -q --allow-empty -m a && git -C ../store commit -q --allow-empty -m b && git clone -q --depth 1 "file://$(cd ../store && pwd)" .`,
    "that is partial":
      `git init -q -b main ../store && cd ../store && git config uploadpack.allowFilter true && echo big > big && git add . && git commit -qm a && echo small > big && git commit -qam b && cd - >/dev/null && git clone -q --filter=blob:none "file://$(cd ../store && pwd)" .`,
    "that is sparse":
      `${first} && mkdir -p in out && touch in/f out/f && git add . && git commit -qm more && git sparse-checkout set in`,
    "with a sparse index":
      `${first} && mkdir -p in out && touch in/f out/f && git add . && git commit -qm more && git sparse-checkout set --sparse-index in`,
    "under a merge of the person":
      `${first} && git switch -qc other && echo o > o && git add o && git commit -qm o && git switch -q main && echo m > m && git add m && git commit -qm m && git merge -q --no-commit --no-ff other`,
  };

  test.for(Object.entries(shapes))("%s gets the agent's commits", { timeout: 20_000 }, async ([, script], context) => {
    await needsWall(context, "bubblewrap");
    const repo = await makeAgentGit(script);
    const before = await repo.git("status", "--short");
    const agent = await repo.session();
    expect(await agent.run("git status --short")).toBe(before);
    const said = await agent.run(
      "mkdir -p in; echo new > in/new; git add in/new && git commit -qm of-agent; git status --short; git log -1 --format=%s",
    );
    expect(said).toBe("of-agent\n");
    expect((await agent.end()).filter(({ outcome }) => outcome !== "moved")).toEqual([]);
    expect(await repo.git("log", "-1", "--format=%s")).toBe("of-agent\n");
    expect(await repo.git("status", "--short")).toBe("");
    await repo.git("fsck", "--connectivity-only");
  });

  const refused: Record<string, [script: string, says: RegExp]> = {
    "with reftables": [
      `${first} && git config core.repositoryformatversion 1 && git config extensions.refStorage reftable`,
      /refstorage/,
    ],
    "of an unknown format": [
      `${first} && git config core.repositoryformatversion 1 && git config extensions.other x`,
      /"other"/,
    ],
    "with a commondir": [`${first} && echo ../evil > .git/commondir`, /commondir/],
    "that is reached through a link": [`${first} && mv .git ../real && ln -s ../real .git`, /it is a link/],
    "whose objects are elsewhere": [
      `${first} && mv .git/objects ../objects && ln -s ../../objects .git/objects`,
      /through a link/,
    ],
    "whose config is a link": [
      `${first} && mv .git/config ../config && ln -s ../../config .git/config`,
      /no plain file/,
    ],
    "that a file names and that does not name it back": [
      `mkdir -p ../keys/a/b && echo "gitdir: ../keys/a/b" > .git`,
      /does not name|no folder|missing/,
    ],
    "that lies in the project": [
      `git init -q -b main --separate-git-dir store . && git config -f store/config core.worktree "$PWD"`,
      /lies in the project/,
    ],
  };

  test.for(Object.entries(refused))("%s is refused by name", async ([, [script, says]], context) => {
    await needsWall(context, "bubblewrap");
    const repo = await makeAgentGit(script);
    const agent = await repo.session();
    expect(await codeOf(agent.run("ls"))).toBe("unsupported");
    const message = await agent.run("ls").catch((error: Error) => error.message);
    expect(message).toMatch(says);
    expect(await agent.end()).toEqual([]);
  });

  test("its file .git cannot show keys or the host's state", async (context) => {
    await needsWall(context, "bubblewrap");
    const repo = await makeAgentGit("true");
    await mkdir(join(repo.home, ".ssh/worktrees/x"), { recursive: true });
    for (const name of ["objects", "refs"]) await mkdir(join(repo.home, ".ssh", name));
    await writeFile(join(repo.home, ".ssh/HEAD"), "ref: refs/heads/main\n");
    await writeFile(join(repo.home, ".ssh/worktrees/x/commondir"), "../..\n");
    await writeFile(join(repo.home, ".ssh/worktrees/x/gitdir"), `${join(repo.work, ".git")}\n`);
    await writeFile(join(repo.work, ".git"), `gitdir: ${join(repo.home, ".ssh/worktrees/x")}\n`);
    const agent = await repo.session();
    expect(await codeOf(agent.run("ls"))).toBe("unsupported");
    await agent.end();
  });
});

describe("a host that was killed", () => {
  test("leaves a git folder that the next one takes over, and a lock that it removes", async (context) => {
    await needsWall(context, "bubblewrap");
    const repo = await makeAgentGit();
    const agent = await repo.session();
    await agent.run("echo x > x; git add x; git commit -qm x");
    await agent.git.held;
    await agent.kill();
    await repo.write(".git/index.lock", `bulkhead ${agent.id}\n`);
    const folder = join(repo.stateDir, "git", agent.id);
    expect((await takeOverOf(folder))?.changes).toMatchObject([{ name: "refs/heads/main", outcome: "moved" }]);
    expect(await repo.git("log", "--format=%s")).toBe("x\nfirst\n");
    expect(await repo.git("status", "--short")).toBe("");
    expect(await repo.git("for-each-ref", "refs/bulkhead")).toBe("");
    expect(await readdir(join(repo.stateDir, "git"))).toEqual([]);
  });

  test("in the middle of the move is finished by the next one", async (context) => {
    await needsWall(context, "bubblewrap");
    const repo = await makeAgentGit();
    const agent = await repo.session();
    await agent.run("echo x > x; git add x; git commit -qm x");
    await agent.kill();
    // The index came first, and the branch has not moved.
    const index = await readFile(join(repo.stateDir, "git", agent.id, "0/git/index"));
    await writeFile(join(repo.work, ".git/index"), index);
    expect((await takeOverOf(join(repo.stateDir, "git", agent.id)))?.changes).toMatchObject([{ outcome: "moved" }]);
    expect(await repo.git("log", "--format=%s")).toBe("x\nfirst\n");
    expect(await repo.git("status", "--short")).toBe("");
  });
});

test("a program that is contained to the working directory has that git folder too", async (context) => {
  await needsWall(context, "bubblewrap");
  const repo = await makeAgentGit();
  const agent = await repo.session({ contain: "workdir" });
  await agent.run(
    "git config user.name a; git config user.email a@example.com; git config core.pager evil; echo x > x; git add x; git commit -qm x",
  );
  expect(await agent.end()).toMatchObject([{ name: "refs/heads/main", outcome: "moved" }]);
  expect(await repo.sh("git config core.pager || echo none; git log -1 --format=%s")).toBe("none\nx\n");
});
