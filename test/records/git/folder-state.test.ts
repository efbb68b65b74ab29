import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readFolderState } from "../../../core/records/git/folder-state.ts";
import { SharedLooks } from "../../../core/records/git/shared-looks.ts";
import { afterEveryTest } from "../../clean-up.ts";
import { type Fixture, makeFixture, walk } from "./git-fixture.ts";

const made: Fixture[] = [];
afterEveryTest(() => {
  for (const { root } of made.splice(0)) rmSync(root, { recursive: true, force: true });
});

/** A repository with a commit, and its state as a host reads it. */
function repository(isGit = true) {
  const fixture = makeFixture({ repository: isGit });
  made.push(fixture);
  if (isGit) {
    fixture.write("a.txt", "a\n");
    fixture.write("dir/b.txt", "b\n");
    fixture.write(".gitignore", "*.log\n");
    fixture.commitAll();
  }
  const looks = new SharedLooks(join(fixture.root, "looks"));
  const read = (workdir = fixture.work, exclude: string[] = []) => readFolderState(workdir, { looks, exclude });
  return { ...fixture, read };
}

test("readFolderState names the branch and its commit, and the same after a change of branch", async () => {
  const { read, git, work } = repository();
  const commit = git("rev-parse", "HEAD").trim();
  expect(await read()).toEqual({ workdir: work, branch: "main", commit, uncommitted: false });
  git("switch", "-q", "-c", "feature/names");
  expect(await read()).toMatchObject({ branch: "feature/names", commit });
  git("switch", "-q", "--detach");
  expect(await read()).toEqual({ workdir: work, branch: null, commit, uncommitted: false });
});

test("readFolderState sees an edit, a new file, a removal and what is staged, and no ignored file", async () => {
  const { read, git, write, remove } = repository();
  const clean = () => (git("reset", "-q", "--hard"), git("clean", "-q", "-f", "-d"));
  const changes: Record<string, () => void> = {
    edit: () => write("a.txt", "other\n"),
    "new file": () => write("dir/new.txt", "n\n"),
    removal: () => remove("a.txt"),
    staged: () => (write("new.txt", "n\n"), git("add", "new.txt")),
  };
  for (const [name, change] of Object.entries(changes)) {
    change();
    expect([name, (await read()).uncommitted]).toEqual([name, true]);
    clean();
    expect([name, (await read()).uncommitted]).toEqual([name, false]);
  }
  write("noise.log", "x");
  expect((await read()).uncommitted).toBe(false);
});

test("readFolderState tells a folder of a repository, one without a commit, and one outside any", async () => {
  const { read, work, write } = repository();
  expect(await read(join(work, "dir"))).toMatchObject({
    workdir: join(work, "dir"),
    branch: "main",
    uncommitted: false,
  });
  write("dir/b.txt", "other\n");
  expect(await read(join(work, "dir"))).toMatchObject({ uncommitted: true });
  const plain = repository(false);
  const none = { branch: null, commit: null, uncommitted: null };
  expect(await plain.read()).toEqual({ workdir: plain.work, ...none });
  plain.git("init", "-q", "-b", "trunk");
  plain.write("a.txt", "a\n");
  expect(await plain.read()).toEqual({ workdir: plain.work, ...none, branch: "trunk" });
});

test("readFolderState leaves out the host's own files, writes nothing, and runs no program of the repository", async () => {
  const { read, git, work, write, root } = repository();
  mkdirSync(join(work, "state"));
  write("state/journal", "x");
  const touched = join(root, "touched");
  write(".gitattributes", "*.txt filter=bad\n");
  git("add", "-A", ".gitattributes");
  git("commit", "-q", "-m", "attributes");
  git("config", "filter.bad.clean", `touch ${touched}; cat`);
  git("config", "core.fsmonitor", `touch ${touched}`);
  write("a.txt", "other\n");
  const before = walk(root, ["looks"]);
  expect((await read()).uncommitted).toBe(true);
  write("a.txt", "a\n");
  expect(await read(work, [join(work, "state")])).toMatchObject({ branch: "main", uncommitted: false });
  write("a.txt", "other\n");
  expect(walk(root, ["looks"])).toEqual(before);
  expect(existsSync(touched)).toBe(false);
});
