import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { listArtifacts } from "../../../core/records/git/artifacts.ts";
import { releaseSnapshot, takeSnapshot } from "../../../core/records/git/snapshot.ts";
import { changesOf, type Fixture, fixtureAt, inShort, makeFixture, sha256 } from "./git-fixture.ts";

let made: Fixture | null = null;
afterEach(() => {
  if (made !== null) rmSync(made.root, { recursive: true, force: true });
  made = null;
});

function repository(): Fixture {
  return made = makeFixture({ repository: true });
}

function folder(): Fixture {
  return made = makeFixture({ repository: false });
}

const one = (added: number, removed: number) => ({ added, removed });
const long = (word: string): string => `${word}\n`.repeat(40);

interface Scenario {
  name: string;
  before?: (f: Fixture) => void;
  act: (f: Fixture) => void;
  expected: string[];
}

const inRepository: Scenario[] = [
  { name: "nothing", act: () => {}, expected: [] },
  { name: "a new untracked file", act: (f) => f.write("new.txt", "x"), expected: ["untracked new.txt"] },
  {
    name: "a new staged file",
    act: (f) => {
      f.write("new.txt", "x");
      f.git("add", "new.txt");
    },
    expected: ["created new.txt"],
  },
  {
    name: "a new file with intent to add",
    act: (f) => {
      f.write("new.txt", "x");
      f.git("add", "-N", "new.txt");
    },
    expected: ["created new.txt"],
  },
  {
    name: "a new committed file",
    act: (f) => {
      f.write("new.txt", "x");
      f.commitAll();
    },
    expected: ["created new.txt"],
  },
  {
    name: "a file that is in HEAD and no longer in the index",
    act: (f) => {
      f.write("new.txt", "x");
      f.commitAll();
      f.git("rm", "-q", "--cached", "new.txt");
    },
    expected: ["created new.txt"],
  },
  { name: "a modification", act: (f) => f.write("a.txt", "changed"), expected: ["modified a.txt"] },
  {
    name: "a committed modification",
    act: (f) => {
      f.write("a.txt", "changed");
      f.commitAll();
    },
    expected: ["modified a.txt"],
  },
  {
    name: "a modification of the same size and time",
    before: (f) => {
      utimesSync(join(f.work, "a.txt"), 1, 1);
      f.git("update-index", "--refresh");
      // git keeps whole seconds; the status change time is what gives it away in the next one.
      execFileSync("sleep", ["1.1"]);
    },
    act: (f) => {
      f.write("a.txt", long("b"));
      utimesSync(join(f.work, "a.txt"), 1, 1);
    },
    expected: ["modified a.txt"],
  },
  { name: "a touched file", act: (f) => utimesSync(join(f.work, "a.txt"), 5, 5), expected: [] },
  { name: "a file written again with the same content", act: (f) => f.write("a.txt", long("a")), expected: [] },
  { name: "a new mode", act: (f) => chmodSync(join(f.work, "a.txt"), 0o755), expected: ["modified a.txt"] },
  { name: "a deletion", act: (f) => f.remove("a.txt"), expected: ["deleted a.txt"] },
  {
    name: "a committed deletion",
    act: (f) => {
      f.remove("a.txt");
      f.commitAll();
    },
    expected: ["deleted a.txt"],
  },
  { name: "a deleted folder", act: (f) => f.remove("dir"), expected: ["deleted dir/one.txt", "deleted dir/two.txt"] },
  {
    name: "a rename in the index",
    act: (f) => f.git("mv", "a.txt", "b.txt"),
    expected: ["renamed a.txt -> b.txt"],
  },
  {
    name: "a rename in the folder alone",
    act: (f) => renameSync(join(f.work, "a.txt"), join(f.work, "b.txt")),
    expected: ["renamed a.txt -> b.txt"],
  },
  {
    name: "a rename with a change",
    act: (f) => {
      f.remove("a.txt");
      f.write("b.txt", `${long("a")}end\n`);
    },
    expected: ["renamed a.txt -> b.txt"],
  },
  {
    name: "a change back before the end",
    act: (f) => {
      f.write("a.txt", "changed");
      f.commitAll();
      f.write("a.txt", long("a"));
    },
    expected: [],
  },
  {
    name: "files that were dirty and were left alone",
    before: (f) => {
      f.write("a.txt", "dirty");
      f.write("new.txt", "x");
      f.write("staged.txt", "x");
      f.git("add", "staged.txt");
      f.remove("dir/one.txt");
    },
    act: (f) => f.commitAll(),
    expected: [],
  },
  {
    name: "files that were dirty and changed again",
    before: (f) => {
      f.write("a.txt", "dirty");
      f.write("new.txt", "x");
    },
    act: (f) => {
      f.write("a.txt", "dirtier");
      f.write("new.txt", "y");
    },
    expected: ["modified a.txt", "modified new.txt"],
  },
  {
    name: "a branch switch",
    before: (f) => {
      f.git("checkout", "-q", "-b", "other");
      f.write("other.txt", "x");
      f.write("a.txt", "other");
      f.commitAll();
      f.git("checkout", "-q", "main");
    },
    act: (f) => f.git("checkout", "-q", "other"),
    expected: ["modified a.txt", "created other.txt"],
  },
  {
    name: "a switch to a new branch with a commit",
    act: (f) => {
      f.git("checkout", "-q", "-b", "work");
      f.write("w.txt", "w");
      f.commitAll();
    },
    expected: ["created w.txt"],
  },
  {
    name: "a stash",
    before: (f) => f.write("a.txt", "dirty"),
    act: (f) => f.git("stash", "-q"),
    expected: ["modified a.txt"],
  },
  {
    name: "ignored files",
    before: (f) => {
      f.write(".gitignore", "*.log\n/out/\n");
      f.write("old.log", "x");
    },
    act: (f) => {
      f.write("new.log", "x");
      f.write("old.log", "y");
      f.write("out/deep/file.txt", "x");
      f.write("seen.txt", "x");
    },
    expected: ["untracked seen.txt"],
  },
  {
    name: "files ignored by the repository's own exclude file",
    before: (f) => f.write(".git/info/exclude", "*.tmp\n"),
    act: (f) => f.write("x.tmp", "x"),
    expected: [],
  },
  {
    name: "a tracked file that an ignore rule covers",
    before: (f) => {
      f.write("kept.log", "x");
      f.commitAll();
      f.write(".gitignore", "*.log\n");
    },
    act: (f) => f.write("kept.log", "y"),
    expected: ["modified kept.log"],
  },
  {
    name: "an untracked file that becomes ignored",
    before: (f) => f.write("note.log", "x"),
    act: (f) => {
      f.write(".gitignore", "*.log\n");
      f.write("note.log", "y");
    },
    expected: ["untracked .gitignore"],
  },
  {
    name: "a symlink, its change and its end",
    before: (f) => {
      symlinkSync("a.txt", join(f.work, "link"));
      symlinkSync("a.txt", join(f.work, "gone"));
      f.commitAll();
    },
    act: (f) => {
      unlinkSync(join(f.work, "link"));
      symlinkSync("/nowhere", join(f.work, "link"));
      unlinkSync(join(f.work, "gone"));
      symlinkSync("dir", join(f.work, "more"));
    },
    expected: ["deleted gone (symlink)", "modified link (symlink)", "untracked more (symlink)"],
  },
  {
    name: "a file that becomes a symlink",
    act: (f) => {
      unlinkSync(join(f.work, "a.txt"));
      symlinkSync("dir", join(f.work, "a.txt"));
    },
    expected: ["modified a.txt (symlink)"],
  },
  {
    name: "a file that becomes a folder, and a folder that becomes a file",
    act: (f) => {
      f.remove("a.txt");
      f.write("a.txt/inner.txt", "x");
      f.remove("dir");
      f.write("dir", "x");
    },
    expected: [
      "deleted a.txt",
      "untracked a.txt/inner.txt",
      "untracked dir",
      "deleted dir/one.txt",
      "deleted dir/two.txt",
    ],
  },
  {
    name: "a folder that becomes a link, and one that becomes a link to another with the same files",
    before: (f) => {
      f.write("other/inner/x.txt", "x");
      f.write("twin/inner/x.txt", "x");
      f.commitAll();
    },
    act: (f) => {
      f.remove("dir");
      symlinkSync("/nowhere", join(f.work, "dir"));
      f.remove("other");
      symlinkSync("twin", join(f.work, "other"));
    },
    expected: [
      "untracked dir (symlink)",
      "deleted dir/one.txt",
      "deleted dir/two.txt",
      "untracked other (symlink)",
      "deleted other/inner/x.txt",
    ],
  },
  {
    name: "strange names",
    act: (f) => {
      for (const name of ["new\nline", 'quo"te', "back\\slash", " space ", "tab\t", "-dash", ":(top)x", "ünï/ç.txt"]) {
        f.write(name, name);
      }
    },
    expected: [
      "untracked  space ",
      "untracked -dash",
      "untracked :(top)x",
      "untracked back\\slash",
      "untracked new\nline",
      'untracked quo"te',
      "untracked tab\t",
      "untracked ünï/ç.txt",
    ],
  },
  {
    name: "a merge with conflicts",
    before: (f) => {
      f.git("checkout", "-q", "-b", "other");
      f.write("a.txt", "other");
      f.commitAll();
      f.git("checkout", "-q", "main");
      f.write("a.txt", "main");
      f.commitAll();
    },
    act: (f) => expect(() => f.git("merge", "-q", "other")).toThrow(),
    expected: ["modified a.txt"],
  },
  {
    name: "a file made in the middle of a merge",
    before: (f) => {
      f.git("checkout", "-q", "-b", "other");
      f.write("a.txt", "other");
      f.commitAll();
      f.git("checkout", "-q", "main");
      f.remove("a.txt");
      f.commitAll();
      expect(() => f.git("merge", "-q", "other")).toThrow();
    },
    act: (f) => f.write("new.txt", "x"),
    expected: ["untracked new.txt"],
  },
  {
    name: "a file marked as assumed unchanged",
    before: (f) => f.git("update-index", "--assume-unchanged", "a.txt"),
    act: (f) => f.write("a.txt", "changed"),
    expected: ["modified a.txt"],
  },
  {
    name: "a file marked as left out of the checkout",
    before: (f) => f.git("update-index", "--skip-worktree", "a.txt"),
    act: (f) => f.write("a.txt", "changed"),
    expected: ["modified a.txt"],
  },
  {
    name: "an agent that marks files so that git does not look at them",
    act: (f) => {
      f.git("update-index", "--skip-worktree", "a.txt");
      f.write("a.txt", "changed");
      f.git("update-index", "--assume-unchanged", "dir/one.txt");
      f.write("dir/one.txt", "changed");
      f.git("update-index", "--skip-worktree", "dir/two.txt");
      f.remove("dir/two.txt");
    },
    expected: ["modified a.txt", "modified dir/one.txt", "deleted dir/two.txt"],
  },
  {
    name: "a sparse checkout",
    before: (f) => {
      f.git("sparse-checkout", "set", "--no-cone", "/a.txt");
      expect(existsSync(join(f.work, "dir"))).toBe(false);
    },
    act: (f) => f.write("a.txt", "changed"),
    expected: ["modified a.txt"],
  },
  {
    name: "a sparse checkout whose index the agent changes",
    before: (f) => f.git("sparse-checkout", "set", "--no-cone", "/a.txt", "/dir/one.txt"),
    act: (f) => {
      f.write("new.txt", "x");
      f.git("add", "--sparse", "new.txt");
      f.git("update-index", "--skip-worktree", "dir/one.txt");
      f.remove("dir/one.txt");
    },
    expected: ["deleted dir/one.txt", "created new.txt"],
  },
  {
    name: "a split index",
    before: (f) => f.git("update-index", "--split-index"),
    act: (f) => f.write("a.txt", "changed"),
    expected: ["modified a.txt"],
  },
  {
    name: "line ends under core.autocrlf",
    before: (f) => f.git("config", "core.autocrlf", "true"),
    act: (f) => f.write("a.txt", long("a").replaceAll("\n", "\r\n")),
    expected: [],
  },
  {
    name: "modes under core.filemode off",
    before: (f) => f.git("config", "core.filemode", "false"),
    act: (f) => chmodSync(join(f.work, "a.txt"), 0o755),
    expected: [],
  },
  {
    name: "a pipe in the place of a tracked file, beside other changes",
    act: (f) => {
      f.remove("a.txt");
      execFileSync("mkfifo", [join(f.work, "a.txt"), join(f.work, "pipe")]);
      f.write("new.txt", "x");
    },
    expected: ["deleted a.txt", "untracked new.txt"],
  },
  {
    name: "a nested repository with a commit",
    act: (f) => {
      f.write("nested/file.txt", "x");
      const nested = fixtureAt(f.root, join(f.work, "nested"));
      nested.git("init", "-q");
      nested.commitAll();
    },
    expected: ["untracked nested (submodule)"],
  },
  {
    name: "a nested repository without a commit",
    act: (f) => {
      f.write("nested/.gitignore", "*.o\n");
      f.write("nested/src/file.txt", "x");
      f.write("nested/file.o", "x");
      fixtureAt(f.root, join(f.work, "nested")).git("init", "-q");
    },
    expected: ["untracked nested/.gitignore", "untracked nested/src/file.txt"],
  },
  {
    name: "files whose folder becomes a repository",
    before: (f) => f.write("nested/file.txt", "x"),
    act: (f) => {
      const nested = fixtureAt(f.root, join(f.work, "nested"));
      nested.git("init", "-q");
      nested.commitAll();
    },
    expected: ["untracked nested (submodule)"],
  },
];

describe("listArtifacts in a repository", () => {
  for (const scenario of inRepository) {
    it(`tells ${scenario.name}`, async () => {
      const f = repository();
      f.write("a.txt", long("a"));
      f.write("dir/one.txt", long("one"));
      f.write("dir/two.txt", long("two"));
      f.commitAll();
      scenario.before?.(f);
      expect(inShort(await changesOf(f, () => scenario.act(f)))).toEqual(scenario.expected);
    });
  }

  it("gives digest and size of what lies there now", async () => {
    const f = repository();
    f.write("a.txt", "old");
    f.write("gone.txt", "old");
    f.commitAll();
    const list = await changesOf(f, () => {
      f.write("a.txt", "new content");
      f.remove("gone.txt");
      symlinkSync("a.txt", join(f.work, "link"));
    });
    expect(list.artifacts).toEqual([
      { path: "a.txt", change: "modified", kind: "file", sha256: sha256("new content"), bytes: 11, lines: one(1, 1) },
      { path: "gone.txt", change: "deleted", kind: "file", sha256: null, bytes: null, lines: one(0, 1) },
      { path: "link", change: "untracked", kind: "symlink", sha256: sha256("a.txt"), bytes: 5 },
    ]);
  });

  it("counts the lines of each change as git does, and of nothing that has none", async () => {
    const f = repository();
    f.write("sub/kept.txt", long("kept"));
    f.write("sub/moved.txt", long("moved"));
    f.write("sub/copied.txt", long("copied"));
    f.write("sub/old.bin", new Uint8Array([0, 1, 2]));
    f.write("sub/mode.sh", "x");
    f.write("sub/odd\tname\n.txt", "a\n");
    f.write("outside.txt", "x\n");
    f.commitAll();
    const list = await changesOf(f, () => {
      f.write("sub/kept.txt", `first\n${long("kept").replace("\n", " and more\n")}`);
      f.write("sub/renamed.txt", `${long("moved")}one\ntwo\n`);
      f.remove("sub/moved.txt");
      f.write("sub/new.txt", "1\n2\n3");
      f.write("sub/empty.txt", "");
      f.write("sub/old.bin", new Uint8Array([0, 1, 3]));
      f.write("sub/large.txt", "line\n".repeat(1_000_000));
      f.write("sub/odd\tname\n.txt", "a\nb\n");
      f.write("outside.txt", "y\n");
      chmodSync(join(f.work, "sub/mode.sh"), 0o755);
      symlinkSync("new.txt", join(f.work, "sub/link"));
    }, { workdir: join(f.work, "sub") });
    expect(Object.fromEntries(list.artifacts!.map(({ path, lines }) => [path, lines ?? null]))).toEqual({
      "kept.txt": one(2, 1),
      "renamed.txt": one(2, 0),
      "new.txt": one(3, 0),
      "empty.txt": one(0, 0),
      "old.bin": null,
      "large.txt": null,
      "odd\tname\n.txt": one(1, 0),
      "mode.sh": one(0, 0),
      "link": null,
    });
  });

  it("counts no lines of a flood of files", async () => {
    const f = folder();
    const list = await changesOf(f, () => {
      for (let at = 0; at < 400; at++) f.write(`${at}.txt`, "x\n");
    });
    expect(list.artifacts).toHaveLength(400);
    expect(list.artifacts!.filter(({ lines }) => lines !== undefined)).toEqual([]);
    const few = await changesOf(f, () => f.write("a.txt", "x\ny\n"));
    expect(few.artifacts).toMatchObject([{ path: "a.txt", lines: one(2, 0) }]);
  });

  it("gives HEAD before and after", async () => {
    const f = repository();
    f.commitAll();
    const first = f.git("rev-parse", "HEAD").trim();
    const snapshot = await takeSnapshot(f.work, { scratchDir: f.scratch });
    f.commitAll("second");
    const list = await listArtifacts(snapshot);
    await releaseSnapshot(snapshot);
    expect(snapshot.head).toBe(first);
    expect(list.head).toBe(f.git("rev-parse", "HEAD").trim());
    expect(list.head).not.toBe(first);
    expect(list.artifacts).toEqual([]);
  });

  it("works before the first commit, without an index, and with SHA-256 ids", async () => {
    const f = folder();
    f.git("init", "-q", "--object-format=sha256");
    f.write("old.txt", "x");
    const list = await changesOf(f, () => f.write("new.txt", "x"));
    expect(inShort(list)).toEqual(["untracked new.txt"]);
    expect(list.head).toBeNull();
    expect(inShort(await changesOf(f, () => f.commitAll()))).toEqual([]);
    expect(inShort(await changesOf(f, () => f.git("mv", "old.txt", "moved.txt")))).toEqual([
      "renamed old.txt -> moved.txt",
    ]);
  });

  it("counts only paths below a working directory that is a sub-folder, though conflicts lie outside", async () => {
    const f = repository();
    f.write("outside.txt", "base");
    f.write("sub/dir/in.txt", long("in"));
    f.commitAll();
    f.git("checkout", "-q", "-b", "other");
    f.write("outside.txt", "other");
    f.commitAll();
    f.git("checkout", "-q", "main");
    f.write("outside.txt", "main");
    f.commitAll();
    const list = await changesOf(f, () => {
      expect(() => f.git("merge", "-q", "other")).toThrow();
      f.write("sub/dir/in.txt", "changed");
      f.write("sub/dir/deep/new.txt", "x");
      f.write("sub/other.txt", "x");
      f.write("more.txt", "x");
    }, { workdir: join(f.work, "sub/dir") });
    expect(inShort(list)).toEqual(["untracked deep/new.txt", "modified in.txt"]);
    mkdirSync(join(f.work, "empty"));
    const empty = await changesOf(f, () => f.write("empty/x.txt", "x"), { workdir: join(f.work, "empty") });
    expect(inShort(empty)).toEqual(["untracked x.txt"]);
  });

  it("takes a submodule as a pointer", async () => {
    const f = repository();
    const source = fixtureAt(f.root, join(f.root, "source"));
    mkdirSync(source.work);
    source.git("init", "-q");
    source.write("s.txt", "1");
    source.commitAll();
    f.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source.work, "sub");
    f.commitAll();
    const sub = fixtureAt(f.root, join(f.work, "sub"));
    expect(inShort(await changesOf(f, () => sub.write("s.txt", "dirty")))).toEqual([]);
    const list = await changesOf(f, () => sub.commitAll());
    expect(list.artifacts).toEqual([{ path: "sub", change: "modified", kind: "submodule", sha256: null, bytes: null }]);
    expect(inShort(await changesOf(f, () => sub.write("new.txt", "x"), { workdir: sub.work }))).toEqual([
      "untracked new.txt",
    ]);
  });

  it("works in a linked worktree", async () => {
    const f = repository();
    f.write("a.txt", "a");
    f.commitAll();
    f.git("worktree", "add", "-q", "../linked", "-b", "linked");
    const linked = fixtureAt(f.root, join(f.root, "linked"));
    const list = await changesOf(linked, () => {
      linked.write("a.txt", "b");
      linked.write("c.txt", "c");
      linked.commitAll();
    });
    expect(inShort(list)).toEqual(["modified a.txt", "created c.txt"]);
    expect(inShort(await changesOf(f, () => linked.write("d.txt", "d")))).toEqual([]);
  });

  it("works in a partial clone, whose old contents are missing", async () => {
    const f = repository();
    f.write("a.txt", long("a"));
    f.write("dir/b.txt", long("b"));
    f.commitAll();
    f.git("config", "uploadpack.allowFilter", "true");
    f.git("clone", "-q", "--filter=blob:none", `file://${f.work}`, "../clone");
    const clone = fixtureAt(f.root, join(f.root, "clone"));
    for (const name of readdirSync(join(clone.work, ".git/objects/pack"))) {
      chmodSync(join(clone.work, ".git/objects/pack", name), 0o644);
    }
    clone.git("checkout", "-q", "--detach");
    const list = await changesOf(clone, () => {
      clone.remove("a.txt");
      clone.write("c.txt", `${long("a")}end\n`);
      renameSync(join(clone.work, "dir/b.txt"), join(clone.work, "dir/d.txt"));
    });
    expect(list.artifacts).not.toBeNull();
    expect(inShort(list)).toContain("renamed dir/b.txt -> dir/d.txt");
  });

  it("tells many new files, and a rename without a change among them", async () => {
    const f = repository();
    f.write("a.txt", long("a"));
    f.commitAll();
    const list = await changesOf(f, () => {
      for (let index = 0; index < 2100; index++) f.write(`many/${index}.txt`, `${index}`);
      renameSync(join(f.work, "a.txt"), join(f.work, "b.txt"));
    });
    expect(list.artifacts).toHaveLength(2101);
    expect(inShort(list).filter((line) => !line.startsWith("untracked many/"))).toEqual(["renamed a.txt -> b.txt"]);
  }, 120_000);

  it("gives a name that is not UTF-8 with replacement characters", async () => {
    const f = repository();
    const list = await changesOf(
      f,
      () => execFileSync("sh", ["-c", `printf x > "$(printf 'bad\\377name')"`], { cwd: f.work }),
    );
    expect(inShort(list)).toEqual(["untracked bad\u{FFFD}name"]);
  });
});

describe("listArtifacts in a folder that is no repository", () => {
  it("tells created, modified, deleted and renamed files, ignored ones left out", async () => {
    const f = folder();
    f.write(".gitignore", "*.log\n");
    f.write("keep.txt", "keep");
    f.write("old.txt", "old");
    f.write("gone.txt", "gone");
    f.write("move.txt", long("move"));
    const list = await changesOf(f, () => {
      f.write("old.txt", "new");
      f.remove("gone.txt");
      renameSync(join(f.work, "move.txt"), join(f.work, "moved.txt"));
      f.write("deep/er/new.txt", "x");
      f.write("x.log", "x");
    });
    expect(inShort(list)).toEqual([
      "untracked deep/er/new.txt",
      "deleted gone.txt",
      "renamed move.txt -> moved.txt",
      "modified old.txt",
    ]);
    expect(list.head).toBeNull();
    expect(readdirSync(f.work)).not.toContain(".git");
  });

  it("leaves out a file that becomes ignored", async () => {
    const f = folder();
    f.write("note.log", "x");
    const list = await changesOf(f, () => {
      f.write(".gitignore", "*.log\n");
      f.write("note.log", "y");
    });
    expect(inShort(list)).toEqual(["untracked .gitignore"]);
  });

  it("tells tracked from untracked files when the folder becomes a repository", async () => {
    const f = folder();
    f.write("old.txt", "x");
    const list = await changesOf(f, () => {
      f.git("init", "-q");
      f.write("tracked.txt", "x");
      f.commitAll();
      f.write("untracked.txt", "x");
    });
    expect(inShort(list)).toEqual(["created tracked.txt", "untracked untracked.txt"]);
    expect(list.head).toMatch(/^[0-9a-f]{40}$/);
  });

  it("takes a bare repository as the plain folder it is", async () => {
    const f = folder();
    f.git("init", "-q", "--bare");
    expect(inShort(await changesOf(f, () => f.write("note.txt", "x")))).toEqual(["untracked note.txt"]);
  });

  it("leaves out the scratch folder and excluded folders that lie inside", async () => {
    const f = folder();
    const scratch = join(f.work, "state [1]/scratch");
    mkdirSync(scratch, { recursive: true });
    const list = await changesOf(f, () => {
      f.write("own/journal", "x");
      f.write("state [1]/seen.txt", "x");
    }, { scratchDir: scratch, exclude: [join(f.work, "own")] });
    expect(inShort(list)).toEqual(["untracked state [1]/seen.txt"]);
  });
});

describe("takeSnapshot", () => {
  it("gives the reason when git is missing", async () => {
    const f = repository();
    const path = process.env["PATH"];
    process.env["PATH"] = f.scratch;
    try {
      const snapshot = await takeSnapshot(f.work, { scratchDir: f.scratch });
      expect(snapshot).toMatchObject({ reason: "git_missing", head: null });
      expect(await listArtifacts(snapshot)).toEqual({ artifacts: null, reason: "git_missing", head: null });
    } finally {
      process.env["PATH"] = path;
    }
  });

  it("does not run a git that lies in the working directory, though the PATH names it relatively", async () => {
    const f = folder();
    f.write("git", `#!/bin/sh\ntouch '${f.root}/ran'\n`);
    chmodSync(join(f.work, "git"), 0o755);
    const path = process.env["PATH"];
    process.env["PATH"] = `.::${path}`;
    try {
      expect(inShort(await changesOf(f, () => f.write("x", "x")))).toEqual(["untracked x"]);
    } finally {
      process.env["PATH"] = path;
    }
    expect(existsSync(join(f.root, "ran"))).toBe(false);
  });

  it("gives git's first error line as the reason when the repository is broken", async () => {
    const f = repository();
    f.write(".git/config", "[broken\n");
    const snapshot = await takeSnapshot(f.work, { scratchDir: f.scratch });
    expect(snapshot.reason).toMatch(/^git (?:rev-parse|config) failed: fatal: bad config line 1/);
    expect(readdirSync(f.scratch)).toEqual([]);
  });

  it("gives the reason when the index is broken, and leaves nothing behind", async () => {
    const f = repository();
    f.commitAll();
    f.write(".git/index", "not an index");
    const snapshot = await takeSnapshot(f.work, { scratchDir: f.scratch });
    expect(snapshot.reason).toMatch(/^git update-index failed: (error|fatal): /);
    expect(readdirSync(f.scratch)).toEqual([]);
  });

  it("gives the reason when the working directory is missing, before or after", async () => {
    const f = folder();
    const missing = await takeSnapshot(join(f.work, "none"), { scratchDir: f.scratch });
    expect(missing.reason).toBe("workdir_missing");
    const list = await changesOf(f, () => rmSync(f.work, { recursive: true }));
    expect(list).toEqual({ artifacts: null, reason: "workdir_missing", head: null });
  });

  it("gives the reason when the deadline passes", async () => {
    const f = repository();
    const snapshot = await takeSnapshot(f.work, { scratchDir: f.scratch, timeoutMs: 0 });
    expect(snapshot.reason).toBe("git took longer than 0 ms.");
  });

  it("gives up on a large folder outside git, before or after, and says why", async () => {
    const f = folder();
    for (const name of ["a", "b", "c"]) f.write(name, name);
    const look = (limits: { files: number; ms: number }) => takeSnapshot(f.work, { scratchDir: f.scratch, limits });
    const reason = "not a git repository, and it has more than 3 files to compare";
    const small = await look({ files: 3, ms: 60_000 });
    expect(small.reason).toBeNull();
    for (const name of ["d", "e", "f", "g"]) f.write(name, name);
    expect(await listArtifacts(small)).toEqual({ artifacts: null, reason, head: null });
    await releaseSnapshot(small);
    expect((await look({ files: 3, ms: 60_000 })).reason).toBe(reason);
    expect((await look({ files: 3, ms: 0 })).reason)
      .toBe("not a git repository, and reading its files takes longer than 0 s");
    expect(readdirSync(f.scratch)).toEqual([]);
  });

  it("throws what the signal was aborted with", async () => {
    const f = repository();
    const reason = new Error("stop");
    const signal = AbortSignal.abort(reason);
    await expect(takeSnapshot(f.work, { scratchDir: f.scratch, signal })).rejects.toBe(reason);
    const snapshot = await takeSnapshot(f.work, { scratchDir: f.scratch });
    await expect(listArtifacts(snapshot, { signal })).rejects.toBe(reason);
    await releaseSnapshot(snapshot);
    expect(readdirSync(f.scratch)).toEqual([]);
  });

  it("honours the user's own exclude file", async () => {
    const f = repository();
    mkdirSync(join(f.root, "home"));
    writeFileSync(join(f.root, "home/.gitconfig"), "[core]\n\texcludesFile = ~/my-ignores\n");
    writeFileSync(join(f.root, "home/my-ignores"), "*.mine\n");
    const { HOME, XDG_CONFIG_HOME } = process.env;
    process.env["HOME"] = join(f.root, "home");
    delete process.env["XDG_CONFIG_HOME"];
    try {
      const list = await changesOf(f, () => {
        f.write("x.mine", "x");
        f.write("y.txt", "y");
      });
      expect(inShort(list)).toEqual(["untracked y.txt"]);
    } finally {
      process.env["HOME"] = HOME;
      if (XDG_CONFIG_HOME !== undefined) process.env["XDG_CONFIG_HOME"] = XDG_CONFIG_HOME;
    }
  });
});
