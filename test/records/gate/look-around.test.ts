import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type GateFixture, gateFixture } from "./gate-fixture.ts";

/** What an agent leaves, and what is held of it then. */
type Case = [name: string, leave: (at: GateFixture) => void, held: Record<string, string>];

const deep = "node_modules/a/lib/deep";

const left: Case[] = [
  ["a repository", (at) => at.write(`${deep}/.git/HEAD`, "ref: x"), { [`${deep}/.git`]: "repository" }],
  ["a .git file", (at) => at.write("sub/.git", "gitdir: ../evil"), { "sub/.git": "repository" }],
  ["a .git link", (at) => at.link("sub/.git", "../evil"), { "sub/.git": "repository" }],
  [".git in another case", (at) => at.write("sub/.GiT/config"), { "sub/.GiT": "repository" }],
  [".git with an ignored code point", (at) => at.write("sub/.g\u200cit/config"), { "sub/.g\u200cit": "repository" }],
  [".git with dots and blanks", (at) => at.write("sub/.git. ./config"), { "sub/.git. .": "repository" }],
  ["the short name of .git", (at) => at.write("sub/GIT~1/config"), { "sub/GIT~1": "repository" }],
  ["a commondir", (at) => at.write("sub/commondir", "../evil"), { "sub/commondir": "repository" }],
  [
    "what makes the top a repository",
    (at) => ["HEAD", "config", "objects/x", "refs/x"].forEach((path) => at.write(path)),
    { HEAD: "repository", config: "repository", objects: "repository", refs: "repository" },
  ],
  [
    "a bare repository with one name missing",
    (at) => ["HEAD", "objects/x"].forEach((path) => at.write(`sub/bare/${path}`)),
    { "sub/bare/HEAD": "repository", "sub/bare/objects": "repository" },
  ],
  ["an agent's rules", (at) => at.write(`${deep}/AGENTS.md`), { [`${deep}/AGENTS.md`]: "acted_on" }],
  ["a folder of an editor", (at) => at.write("a/.vscode/tasks.json"), { "a/.vscode/tasks.json": "acted_on" }],
  ["a build server's folder", (at) => at.write("a/.github/workflows/x.yml"), {
    "a/.github/workflows/x.yml": "acted_on",
  }],
  ["a shell's file", (at) => at.write("dist/.envrc"), { "dist/.envrc": "acted_on" }],
  ["a guarded name in wide letters", (at) => at.write("sub/．envrc"), { "sub/．envrc": "acted_on" }],
  ["hooks of husky", (at) => at.write(".husky/_/pre-commit"), { ".husky/_/pre-commit": "acted_on" }],
  ["a manifest of Bulkhead", (at) => at.write("sub/bulkhead.yaml"), { "sub/bulkhead.yaml": "acted_on" }],
  ["a guarded name that is a link", (at) => at.link("sub/.envrc", "../a.txt"), { "sub/.envrc": "acted_on" }],
  ["a guarded name that is a hard link", (at) => {
    mkdirSync(join(at.top, "sub"));
    linkSync(join(at.top, "old.txt"), join(at.top, "sub/.envrc"));
  }, { "sub/.envrc": "acted_on" }],
  ["an absolute link", (at) => at.link("sub/x", "/etc"), { "sub/x": "link_out" }],
  ["a link upwards", (at) => at.link("sub/x", "../../x"), { "sub/x": "link_out" }],
  ["a link into .git", (at) => at.link("sub/x", "../.git/hooks"), { "sub/x": "link_out" }],
  ["a link through another", (at) => {
    at.link("deep/er/top", "../..");
    at.link("x", "deep/er/top/../outside");
  }, { x: "link_out" }],
  ["an old link, through a new one", (at) => {
    rmSync(join(at.top, "way"), { recursive: true });
    at.link("way", "..");
  }, { way: "link_out", through: "link_out" }],
  ["a program with its owner's rights", (at) => at.write("sub/x", "", 0o4755), { "sub/x": "set_user_id" }],
  ["a pipe", (at) => execFileSync("mkfifo", [join(at.top, "pipe")]), { pipe: "device" }],
];

const harmless: Case[] = [
  ["sources", (at) => at.write("src/a.ts", "x"), {}],
  ["packages", (at) => at.write("node_modules/b/package.json", "{}"), {}],
  ["a package of the name commondir", (at) => at.write("node_modules/commondir/index.js"), {}],
  ["links inside", (at) => at.link("node_modules/.bin/x", "../a/x.js"), {}],
  ["a link to the folder by its own path", (at) => at.link("sub/x", join(at.top, "old.txt")), {}],
  ["empty folders of guarded names", (at) => mkdirSync(join(at.top, ".github")), {}],
  ["folders of objects and refs that were there", (at) => at.write("src/objects/b.ts"), {}],
];

describe("lookAround", () => {
  it.each([...left, ...harmless])("%s, as it was left", async (_name, leave, held) => {
    const at = gateFixture();
    at.write("old.txt");
    at.write("a.txt");
    at.write("way/a.txt");
    at.link("through", "way/a.txt");
    at.write("src/objects/a.ts");
    at.write("src/refs/a.ts");
    at.write("node_modules/a/index.js");
    await at.start();
    expect(await at.held()).toEqual({});
    leave(at);
    expect(await at.held()).toEqual(held);
  });

  it("tells what was there and changed from what was there, whatever times a program sets", async () => {
    const at = gateFixture();
    for (const name of ["kept", "changed", "replaced"]) at.write(`${name}/.envrc`, name);
    await at.start();
    const long = new Date(2001, 1, 1);
    writeFileSync(join(at.top, "changed/.envrc"), "other");
    utimesSync(join(at.top, "changed/.envrc"), long, long);
    at.write("replaced/.new", "other");
    at.move("replaced/.new", "replaced/.envrc");
    expect(await at.held()).toEqual({ "changed/.envrc": "acted_on", "replaced/.envrc": "acted_on" });
  });

  it("counts all that is in a folder that was moved as new", async () => {
    const at = gateFixture();
    at.write("examples/evil/.vscode/tasks.json");
    at.write("examples/evil/deep/.git/config");
    at.write("app/a.txt");
    await at.start();
    at.move("examples/evil", "app/tool");
    expect(await at.held()).toEqual({
      "app/tool/.vscode/tasks.json": "acted_on",
      "app/tool/deep/.git": "repository",
    });
  });

  it("does not name settings in a folder that only got another file", async () => {
    const at = gateFixture();
    at.write("packages/a/.vscode/tasks.json");
    await at.start();
    at.write("packages/a/new.ts");
    expect(await at.held()).toEqual({});
  });

  it("takes the everyday work of git for data, and holds what names programs", async () => {
    const at = gateFixture();
    const git = (...args: string[]) => execFileSync("git", args, { cwd: at.top, stdio: "pipe" });
    git("init", "-q");
    git("config", "user.email", "a@b");
    git("config", "user.name", "a");
    at.write("a.txt", "1");
    git("add", "-A");
    git("commit", "-qm", "one");
    await at.start();
    at.write("a.txt", "2");
    git("commit", "-qam", "two");
    git("branch", "other");
    git("tag", "v1");
    git("stash", "list");
    git("worktree", "add", "-q", `${at.top}/../${at.top.split("/").at(-1)}-tree`, "other");
    git("worktree", "remove", `${at.top}/../${at.top.split("/").at(-1)}-tree`);
    git("gc", "-q");
    expect(await at.held()).toEqual({});
    at.write(".git/commondir", "../evil");
    at.write(".git/hooks/pre-commit", "x");
    at.write(".git/config", `${readFileSync(join(at.top, ".git/config"), "utf8")}\n`);
    at.write(".git/worktrees/x/commondir", "../../../evil");
    at.write(".git/worktrees/x/config.worktree", "");
    at.write(".git/modules/x/HEAD", "");
    at.write(".git/modules/x/hooks/post-checkout", "");
    at.write(".git/rebase-merge/git-rebase-todo", "pick 1\nexec evil\n");
    at.write(".git/sequencer/todo", "pick 1\n");
    at.write(".git/objects/info/alternates", "/evil");
    expect(Object.keys(await at.held()).sort()).toEqual([
      ".git/commondir",
      ".git/config",
      ".git/hooks/pre-commit",
      ".git/modules/x/hooks/post-checkout",
      ".git/objects",
      ".git/rebase-merge/git-rebase-todo",
      ".git/worktrees/x/commondir",
      ".git/worktrees/x/config.worktree",
    ]);
  });

  it("holds what it could not look at", async () => {
    const at = gateFixture();
    at.write("a.txt");
    await at.start();
    at.write("closed/x");
    at.write("many/a/.envrc");
    at.write("few/a/b");
    const isRoot = process.getuid?.() === 0;
    chmodSync(join(at.top, "closed"), 0);
    const held = await at.held();
    chmodSync(join(at.top, "closed"), 0o700);
    expect(held).toEqual({ ...isRoot ? {} : { closed: "unseen" }, "many/a/.envrc": "acted_on" });
    const { found } = await at.look({ entries: 4, ms: 60_000, found: 100 });
    expect(found.map(({ path, kind }) => `${path} ${kind}`).sort()).toEqual(
      ["closed unseen", "few unseen", "many unseen"],
    );
  });

  it("names a bounded number of things, and holds the folder of the others", async () => {
    const at = gateFixture();
    await at.start();
    for (let number = 0; number < 30; number++) at.write(`r${number}.mdc`);
    at.write("sub/.envrc");
    const { found } = await at.look({ entries: 1000, ms: 60_000, found: 10 });
    expect(found).toHaveLength(12);
    expect(found.filter(({ kind }) => kind === "unseen").map(({ path }) => path)).toEqual([".", "sub"]);
  });

  it("reads the scripts that an install of the project runs", async () => {
    const at = gateFixture();
    at.write("package.json", '{"scripts":{"postinstall":"old"}}');
    await at.start();
    at.write("package.json", '{"scripts":{"postinstall":"evil","test":"x"}}');
    at.write("node_modules/a/package.json", '{"scripts":{"postinstall":"x"}}');
    expect((await at.look()).scripts).toEqual([{ path: "package.json", scripts: { postinstall: "evil" } }]);
  });

  it("names packages of no registry, native builds, and what is too large or too much to be read", async () => {
    const at = gateFixture();
    await at.start();
    const from = ["^1.0.0", "~1.2", ">=1 <2 || ~3", "npm:a@1", "workspace:*", "latest", "1.0.0 - 2.0.0"];
    const named = [
      "file:x",
      "./x",
      "../x.tgz",
      "x.tgz",
      "git+ssh://a/b",
      "https://a/b.tgz",
      "me/repo#main",
      "github:a/b",
    ];
    const dependencies = (all: string[]) => Object.fromEntries(all.map((one, index) => [`p${index}`, one]));
    at.write("registry/package.json", JSON.stringify({ dependencies: dependencies(from) }));
    for (const [index, one] of named.entries()) {
      at.write(`n${index}/package.json`, JSON.stringify({ devDependencies: { p: one } }));
    }
    at.write("native/binding.gyp", "{}");
    const { scripts } = await at.look();
    expect(scripts.map(({ path, scripts }) => `${path}: ${Object.keys(scripts).join()}`).sort()).toEqual([
      ...named.map((_, index) => `n${index}/package.json: packages from files or addresses`),
      "native/binding.gyp: install",
    ]);
    at.write("large/package.json", `{"scripts":{"postinstall":"evil"}${" ".repeat(1024 * 1024)}}`);
    for (let index = 0; index < 200; index++) at.write(`a/${index}/package.json`, '{"scripts":{"install":"x"}}');
    at.write("z/z/package.json", '{"scripts":{"postinstall":"evil"}}');
    expect(await at.held()).toMatchObject({ "large/package.json": "unseen", "z/z/package.json": "unseen" });
  });
});
