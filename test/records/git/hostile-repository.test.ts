import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { takeSnapshot } from "../../../core/records/git/snapshot.ts";
import { changesOf, type Fixture, fixtureAt, inShort, makeFixture, walk } from "./git-fixture.ts";

let f: Fixture;
let canary: string;
let script: string;
beforeEach(() => {
  f = makeFixture({ repository: true });
  canary = join(f.root, "ran");
  script = join(f.root, "script.sh");
  writeFileSync(script, `#!/bin/sh\necho "$0 $@" >> '${canary}'\ncat\n`);
  chmodSync(script, 0o755);
});
afterEach(() => rmSync(f.root, { recursive: true, force: true }));

/** Settings of a repository's own config each of which makes some git command run a program. */
function armConfig(fixture: Fixture): void {
  const settings: Record<string, string> = {
    "filter.evil.clean": script,
    "filter.evil.smudge": script,
    "filter.evil.process": script,
    "filter.evil.required": "true",
    "filter.e=v.clean": script,
    "core.fsmonitor": script,
    "core.hooksPath": join(fixture.work, ".git/armed"),
    "core.pager": script,
    "core.sshCommand": script,
    "core.editor": script,
    "diff.external": script,
    "diff.evil.textconv": script,
    "diff.evil.command": script,
    "pager.ls-files": script,
    "pager.config": script,
    "alias.ls-files": `!${script}`,
    "alias.update-index": `!${script}`,
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "remote.origin.url": `ext::${script} %S`,
    "remote.origin.promisor": "true",
    "remote.origin.uploadpack": script,
    "extensions.partialClone": "origin",
    "core.repositoryFormatVersion": "1",
  };
  const hooks = join(fixture.work, ".git/armed");
  mkdirSync(hooks, { recursive: true });
  for (
    const hook of ["post-index-change", "fsmonitor-watchman", "post-checkout", "pre-commit", "reference-transaction"]
  ) {
    writeFileSync(join(hooks, hook), readFileSync(script));
    chmodSync(join(hooks, hook), 0o755);
  }
  const lines = Object.entries(settings).map(([key, value]) => {
    const section = key.slice(0, key.indexOf("."));
    const rest = key.slice(key.indexOf(".") + 1);
    const dot = rest.lastIndexOf(".");
    const header = dot === -1 ? `[${section}]` : `[${section} "${rest.slice(0, dot)}"]`;
    return `${header}\n\t${rest.slice(dot + 1)} = "${value}"\n`;
  });
  writeFileSync(join(fixture.work, ".git/config"), lines.join(""), { flag: "a" });
}

describe("takeSnapshot and listArtifacts in a hostile repository", () => {
  it("run nothing that its config names", async () => {
    f.write(".gitattributes", "*.txt filter=evil diff=evil\n*.dat filter=e=v\n");
    f.write("a.txt", "a");
    f.write("b.dat", "b");
    f.write("gone.txt", "gone\n".repeat(30));
    f.commitAll();
    armConfig(f);
    f.write("a.txt", "dirty");
    const list = await changesOf(f, () => {
      f.write("a.txt", "dirtier");
      f.write("b.dat", "c");
      f.remove("gone.txt");
      f.write("new.txt", "gone\n".repeat(29));
    });
    expect(existsSync(canary) ? readFileSync(canary, "utf8") : "").toBe("");
    expect(inShort(list)).toEqual(["modified a.txt", "modified b.dat", "renamed gone.txt -> new.txt"]);
  });

  it("would run it when asked plainly, which shows that the traps work", () => {
    f.write(".gitattributes", "*.txt filter=evil\n");
    f.write("a.txt", "a");
    f.commitAll();
    armConfig(f);
    f.write("a.txt", "dirty");
    try {
      f.git("add", "-A");
    } catch {
      // The script speaks no filter protocol.
    }
    expect(existsSync(canary)).toBe(true);
  });

  it("run nothing that a submodule's or a nested repository's config names", async () => {
    const source = fixtureAt(f.root, join(f.root, "source"));
    mkdirSync(source.work);
    source.git("init", "-q");
    source.write(".gitattributes", "*.txt filter=evil\n");
    source.write("s.txt", "1");
    source.commitAll();
    f.git("-c", "protocol.file.allow=always", "clone", "-q", source.work, "sub");
    f.git("-c", "advice.addEmbeddedRepo=false", "add", "sub");
    f.commitAll();
    const sub = fixtureAt(f.root, join(f.work, "sub"));
    const empty = fixtureAt(f.root, join(f.work, "empty"));
    empty.write(".gitattributes", "*.txt filter=evil\n");
    empty.write("e.txt", "1");
    empty.git("init", "-q");
    armConfig(sub);
    armConfig(empty);
    const list = await changesOf(f, () => {
      sub.write("s.txt", "dirty");
      empty.write("e.txt", "2");
    });
    expect(existsSync(canary) ? readFileSync(canary, "utf8") : "").toBe("");
    expect(inShort(list)).toEqual(["modified empty/e.txt"]);
  });

  it("run nothing that the config names in the middle of the session", async () => {
    f.write("a.txt", "a");
    f.commitAll();
    const list = await changesOf(f, () => {
      f.write(".gitattributes", "*.txt filter=evil\n");
      f.write("a.txt", "b");
      armConfig(f);
    });
    expect(existsSync(canary)).toBe(false);
    expect(inShort(list)).toEqual(["untracked .gitattributes", "modified a.txt"]);
  });

  it("see only the working directory when core.worktree points elsewhere", async () => {
    mkdirSync(join(f.root, "elsewhere"));
    f.git("config", "core.worktree", join(f.root, "elsewhere"));
    const list = await changesOf(f, () => {
      f.write("a.txt", "a");
      writeFileSync(join(f.root, "elsewhere/secret.txt"), "x");
    });
    expect(inShort(list)).toEqual(["untracked a.txt"]);
  });
});

describe("takeSnapshot and listArtifacts", () => {
  it("leave the index, HEAD, config, refs and objects of the user's repository as they are", async () => {
    f.write("a.txt", "a\n".repeat(50));
    f.write("dir/b.txt", "b");
    f.commitAll();
    f.write("a.txt", "dirty");
    f.write("staged.txt", "staged");
    f.git("add", "staged.txt");
    f.write("untracked.txt", "untracked");
    const before = walk(join(f.work, ".git"));
    const indexTime = statSync(join(f.work, ".git/index")).mtimeMs;
    const workBefore = walk(f.work, [".git"]);
    const list = await changesOf(f, () => {});
    expect(list.artifacts).toEqual([]);
    await changesOf(f, () => f.write("dir/b.txt", "c"));
    f.write("dir/b.txt", "b");
    expect(walk(join(f.work, ".git"))).toEqual(before);
    expect(walk(f.work, [".git"])).toEqual(workBefore);
    expect(statSync(join(f.work, ".git/index")).mtimeMs).toBe(indexTime);
    expect(readdirSync(f.scratch)).toEqual([]);
  });

  it("do not wait for a lock that another git holds on the index", async () => {
    f.write("a.txt", "a");
    f.commitAll();
    f.write(".git/index.lock", "");
    expect(inShort(await changesOf(f, () => f.write("a.txt", "b")))).toEqual(["modified a.txt"]);
  });

  it("do not hang on pipes", async () => {
    execFileSync("mkfifo", [join(f.work, "pipe")]);
    expect(inShort(await changesOf(f, () => f.write("a.txt", "b")))).toEqual(["untracked a.txt"]);
  });

  it.each(["index", "info/exclude", "info/attributes"])(
    "do not wait for a pipe in the place of .git/%s, which no deadline could end",
    async (name) => {
      f.write("a.txt", "a");
      f.commitAll();
      rmSync(join(f.work, ".git", name), { force: true });
      mkdirSync(join(f.work, ".git/info"), { recursive: true });
      const pipe = join(f.work, ".git", name);
      execFileSync("mkfifo", [pipe]);
      // Whoever waits for the pipe all the same gets its end, and too late.
      const late = setTimeout(() => closeSync(openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)), 3000);
      const began = Date.now();
      const snapshot = await takeSnapshot(f.work, { scratchDir: f.scratch });
      clearTimeout(late);
      expect(Date.now() - began).toBeLessThan(3000);
      expect(snapshot).toMatchObject({ held: null, reason: `Cannot copy "${pipe}": it is no plain file.` });
    },
  );
});
