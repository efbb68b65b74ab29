import { execFileSync } from "node:child_process";
import { access, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import process from "node:process";
import { dirname, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { guardedPlaces } from "../../../core/sessions/host/guarded-places.ts";
import { type Greeter, greeterFiles, greeterPackage, newOperator, type Operator } from "./operator.ts";
import { packageOf } from "./tar-archive.ts";

vi.setConfig({ testTimeout: 120_000 });

const asks = ["read: [workdir]", 'net: ["api.example.com:443"]'];

async function installed(operator: Operator): Promise<string> {
  const [own = ""] = await readdir(join(operator.data, "installed"));
  return join(operator.data, "installed", own);
}

/** Folder of the one version of a plugin that is locked. */
async function folderOf(operator: Operator, id = "greeter"): Promise<string> {
  const { plugins } = await operator.lock();
  const { version, files } = plugins[id]!;
  return join(await installed(operator), id, `${version}-${files.slice(0, 12)}`);
}

/** Writes the greeter into a repository, and returns what it is installed by. */
async function inRepository(operator: Operator, greeter: Greeter): Promise<string> {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: join(operator.folder, "g") });
  for (const [path, content] of Object.entries(greeterFiles(greeter))) await operator.write(`g/${path}`, content);
  git("init", "--quiet");
  git("add", "-A");
  git("commit", "--quiet", "-m", "one");
  return `git+file://${operator.folder}/g`;
}

const isThere = (path: string) => access(path).then(() => true, () => false);

describe("plugin add", () => {
  it("installs an archive: shows what it asks for, writes grants, comments kept, and the lock", async () => {
    const operator = await newOperator("# mine\nbulkhead: 1 # one\nplugins:\n  # theirs\n  replay: {}\n");
    const file = await operator.write("a.tgz", greeterPackage({ permissions: asks }));
    const { code, out, err } = await operator.bulkhead("plugin", "add", file, "--yes");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("read files in the working directory");
    expect(out).toContain('send anything it knows to "api.example.com:443"');
    expect(out).toContain("signed  not signed");
    expect(await operator.manifest()).toBe(
      "# mine\nbulkhead: 1 # one\nplugins:\n  # theirs\n  replay: {}\n" +
        "  greeter:\n    grant:\n      read:\n        - workdir\n      net:\n        - api.example.com:443\n",
    );
    expect(await operator.lock()).toMatchObject({
      lock: 1,
      plugins: {
        greeter: {
          source: { type: "tarball", path: "a.tgz" },
          version: "1.0.0",
          highest: "1.0.0",
          integrity: expect.stringMatching(/^sha512-/),
          signed_by: null,
        },
      },
    });
    const listed = (await operator.bulkhead("plugin", "list", "--json")).out.trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    expect(listed.find(({ id }) => id === "greeter")).toMatchObject({
      enabled: true,
      origin: "installed",
      version: "1.0.0",
    });
  });

  it("installs a folder with the packages that it has, without a repository or links to programs", async () => {
    const operator = await newOperator();
    const files = greeterFiles({
      packageJson: { name: "g", version: "1.0.0", type: "module", dependencies: { small: "1.0.0" } },
      files: {
        "words.ts": 'export { words } from "small";\n',
        "node_modules/small/package.json": '{"name":"small","version":"1.0.0","main":"index.js"}',
        "node_modules/small/index.js": 'export const words = (prompt) => "Small, " + prompt;\n',
        ".git/config": "[core]",
      },
    });
    for (const [path, content] of Object.entries(files)) await operator.write(`greeter/${path}`, content);
    await mkdir(join(operator.folder, "greeter/node_modules/.bin"));
    await symlink("../small/index.js", join(operator.folder, "greeter/node_modules/.bin/small"));
    expect(await operator.bulkhead("plugin", "add", "./greeter")).toMatchObject({ code: 0, err: "" });
    expect((await operator.lock()).plugins["greeter"]).toMatchObject({
      source: { type: "folder", path: "greeter" },
      integrity: null,
    });
    const folder = await folderOf(operator);
    expect((await readdir(folder)).sort()).toEqual([
      "mod.ts",
      "node_modules",
      "package.json",
      "plugin.yaml",
      "words.ts",
    ]);
    // The folder itself may go: what was installed is a copy.
    await rm(join(operator.folder, "greeter"), { recursive: true });
    expect(await operator.bulkhead("plugin", "check", "greeter")).toMatchObject({ code: 0 });
  });

  it("adds and removes beside an entry that is wrong, and removes that one", async () => {
    const operator = await newOperator();
    for (const [path, content] of Object.entries(greeterFiles())) await operator.write(`greeter/${path}`, content);
    const manifest = await operator.manifest();
    await operator.write("bulkhead.yaml", `${manifest.trimEnd()}\nplugins:\n  worse: { grant: { nonsense: 3 } }\n`);
    expect(await operator.bulkhead("plugin", "add", "./greeter")).toMatchObject({ code: 0, err: "" });
    expect(await operator.manifest()).toContain("nonsense");
    expect(await operator.bulkhead("plugin", "remove", "greeter")).toMatchObject({ code: 0, err: "" });
    expect(Object.keys((await operator.lock()).plugins)).toEqual([]);
    expect(await operator.bulkhead("plugin", "remove", "worse")).toMatchObject({ code: 0, err: "" });
    expect(await operator.manifest()).not.toContain("worse");
  });

  it("names the package whose manifest cannot be read, not the place where it was unpacked", async () => {
    const operator = await newOperator();
    await operator.write("broken.tgz", packageOf({ ...greeterFiles(), "plugin.yaml": "id: greeter\nname: [\n" }));
    const broken = await operator.bulkhead("plugin", "add", "./broken.tgz");
    expect(broken).toMatchObject({ code: 2 });
    expect(broken.err).toContain(`${join(operator.folder, "broken.tgz")}/plugin.yaml:3:1: not valid YAML`);
    const { "plugin.yaml": _, ...others } = greeterFiles();
    await operator.write("none.tgz", packageOf(others));
    const none = await operator.bulkhead("plugin", "add", "./none.tgz");
    expect(none.err).toContain(`${join(operator.folder, "none.tgz")}: it has no plugin.yaml`);
    expect(broken.err + none.err).not.toContain(".staging");
  });

  it("installs a commit of a git repository, and restores just that one", async () => {
    const operator = await newOperator();
    const repository = join(dirname(operator.folder), "repository");
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
        cwd: repository,
        encoding: "utf8",
      });
    await mkdir(repository);
    for (const [path, content] of Object.entries(greeterFiles())) await writeFile(join(repository, path), content);
    git("init", "--quiet", "-b", "main");
    git("add", "-A");
    git("commit", "--quiet", "-m", "one");
    const commit = git("rev-parse", "HEAD").trim();
    expect(await operator.bulkhead("plugin", "add", `git+file://${repository}#main`)).toMatchObject({
      code: 0,
      err: "",
    });
    expect((await operator.lock()).plugins["greeter"]).toMatchObject({ source: { type: "git", ref: "main", commit } });
    await writeFile(join(repository, "words.ts"), 'export const words = () => "New";\n');
    git("commit", "--quiet", "-am", "two");
    await rm(await installed(operator), { recursive: true });
    expect(await operator.bulkhead("plugin", "check", "greeter")).toMatchObject({ code: 5 });
    expect(await operator.bulkhead("plugin", "add")).toMatchObject({ code: 0, out: "Installed: greeter 1.0.0.\n" });
    expect(await readFile(join(await folderOf(operator), "words.ts"), "utf8")).toContain("Hello");
    expect(await operator.bulkhead("plugin", "add", `git+file://${repository}#nowhere`)).toMatchObject({ code: 1 });
    const before = await operator.lock();
    for (const ref of ["semver:^1.0.0", "+refs/heads/*:x", "main::path:words", "a:b"]) {
      expect(await operator.bulkhead("plugin", "add", `git+file://${repository}#${ref}`)).toMatchObject({
        code: 2,
        err: expect.stringContaining(`"${ref}" is no branch, tag or commit`) as string,
      });
    }
    expect(await operator.lock()).toEqual(before);
  });

  it("I2: refuses a folder and a repository with links", async () => {
    const operator = await newOperator();
    for (const [path, content] of Object.entries(greeterFiles())) await operator.write(`greeter/${path}`, content);
    await symlink("/etc/passwd", join(operator.folder, "greeter/passwd"));
    expect(await operator.bulkhead("plugin", "add", "./greeter")).toMatchObject({
      code: 2,
      err: expect.stringContaining('"passwd" is no plain file'),
    });
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
        cwd: join(operator.folder, "greeter"),
      });
    git("init", "--quiet");
    git("add", "-A");
    git("commit", "--quiet", "-m", "one");
    expect(await operator.bulkhead("plugin", "add", `git+file://${operator.folder}/greeter`)).toMatchObject({
      code: 2,
      err: expect.stringContaining("SymbolicLink"),
    });
    expect(await isThere(join(operator.folder, "bulkhead.lock"))).toBe(false);
  });

  it("I4: runs no script of a package, wherever it comes from", async () => {
    const operator = await newOperator();
    const trap = `node -e "require('fs').writeFileSync('${operator.folder}/ran', '')"`;
    const names = ["preinstall", "install", "postinstall", "prepare", "prepack", "build"];
    const packageJson = { name: "g", version: "1.0.0", scripts: Object.fromEntries(names.map((name) => [name, trap])) };
    const file = await operator.write("a.tgz", greeterPackage({ packageJson, id: "archived" }));
    for (const [path, content] of Object.entries(greeterFiles({ packageJson }))) {
      await operator.write(`g/${path}`, content);
    }
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: join(operator.folder, "g") });
    git("init", "--quiet");
    git("add", "-A");
    git("commit", "--quiet", "-m", "one");
    expect(await operator.bulkhead("plugin", "add", file)).toMatchObject({ code: 0 });
    expect(await operator.bulkhead("plugin", "add", "./g")).toMatchObject({ code: 0 });
    expect(await operator.bulkhead("plugin", "add", `git+file://${operator.folder}/g`, "--replace-source"))
      .toMatchObject({ code: 0 });
    expect(await isThere(join(operator.folder, "ran"))).toBe(false);
  });

  it("asks at the terminal: all, none of it, or not at all", async () => {
    const operator = await newOperator();
    const file = await operator.write("a.tgz", greeterPackage({ permissions: asks }));
    expect(await operator.typing("no\n", "plugin", "add", file)).toMatchObject({
      code: 0,
      out: expect.stringContaining("Nothing was installed."),
    });
    expect(await isThere(join(operator.folder, "bulkhead.lock"))).toBe(false);
    expect(await operator.typing("without\n", "plugin", "add", file)).toMatchObject({ code: 0 });
    expect(await operator.manifest()).toContain("greeter: {}");
    await operator.bulkhead("plugin", "remove", "greeter");
    expect(await operator.typing("grant\n", "plugin", "add", file)).toMatchObject({ code: 0 });
    expect(await operator.manifest()).toContain("- api.example.com:443");
  });

  it("I8: shows what amounts to everything first, and wants it named", async () => {
    const operator = await newOperator();
    const file = await operator.write(
      "a.tgz",
      greeterPackage({ permissions: [...asks, 'run: [{ binary: sh, args: ["{...}"] }]', 'write: ["/"]'] }),
    );
    const shown = await operator.bulkhead("plugin", "add", file, "--yes");
    expect(shown).toMatchObject({ code: 4, err: expect.stringContaining("missing grants: run:sh, write:/") });
    expect(shown.out.indexOf("! start the program")).toBeGreaterThan(0);
    expect(shown.out.indexOf("! start the program")).toBeLessThan(shown.out.indexOf("read files in the working"));
    expect(shown.out).toContain("amounts to everything");
    expect(await isThere(join(operator.folder, "bulkhead.lock"))).toBe(false);
    expect(await operator.bulkhead("plugin", "add", file, "--yes", "--grant", "run:sh", "--grant", "write:/"))
      .toMatchObject({ code: 0 });
    expect(await operator.manifest()).toContain("- sh");
  });

  it("shows what its options decide, with what they hold, and asks for no more than that", async () => {
    const options = "{ type: object, properties: { command: { type: string }, args: { type: array }, " +
      'url: { type: string, default: "https://api.example.com/v1" }, key: { type: string } } }';
    const permissions = [
      'run: [{ binary: "{config.command}", args: ["{config.args}"], env: ["{config.key}"] }]',
      'net: ["{config.url}"]',
    ];
    const operator = await newOperator();
    const file = await operator.write("a.tgz", greeterPackage({ lines: { config: options }, permissions }));
    const { out } = await operator.bulkhead("plugin", "add", file, "--yes");
    expect(out).toContain('  send anything it knows to "api.example.com:443"\nIt asks for what these options say');
    expect(out).toContain(
      "\n    command (now not set): which program it starts\n    args (now not set): with which arguments\n",
    );
    expect(out).toContain('\n    url (now "https://api.example.com/v1"): where it sends what it knows\n');
    const settings = '\n    config: { command: git, args: [log, "${PATH}/x"], key: SECRET_NAME }\n';
    await operator.write("bulkhead.yaml", `${(await operator.manifest()).trimEnd()}${settings}`);
    const info = (await operator.bulkhead("plugin", "info", "greeter")).out;
    expect(info).toContain('start the program "git" with (hidden) (hidden)\n');
    for (const command of ["info", "explain"]) {
      for (const flags of [[], ["--json"]]) {
        const shown = await operator.bulkhead("plugin", command, "greeter", ...flags);
        expect(shown.out).not.toContain(`${process.env["PATH"]}/x`);
      }
    }
    expect(info).toContain('\n    command (now "git"): which program it starts\n');
    expect(info).toContain("\n    key (now hidden): which variables it sets for a program\n");
    // Another address by default is more than was granted.
    const lines = { config: options.replace("api.example", "elsewhere.example") };
    const next = await operator.write("b.tgz", greeterPackage({ version: "1.1.0", lines, permissions }));
    expect(await operator.bulkhead("plugin", "add", next)).toMatchObject({
      code: 4,
      err: expect.stringContaining("missing grants: net:elsewhere.example.com:443"),
    });
  });

  it("grants only what is named, and nothing that is not asked for", async () => {
    const operator = await newOperator();
    const file = await operator.write("a.tgz", greeterPackage({ permissions: asks }));
    expect(await operator.bulkhead("plugin", "add", file)).toMatchObject({
      code: 4,
      err: expect.stringContaining("--grant read:workdir --grant net:api.example.com:443"),
    });
    expect(await operator.bulkhead("plugin", "add", file, "--grant", "write:workdir")).toMatchObject({ code: 2 });
    expect(await operator.bulkhead("plugin", "add", file, "--grant", "read:workdir")).toMatchObject({ code: 0 });
    expect(await operator.manifest()).not.toContain("api.example.com");
  });

  it("checks the list of hashes that a packed plugin has", async () => {
    const { createHash } = await import("node:crypto");
    const files = greeterFiles();
    const hash = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");
    const list = (own: Record<string, string | Uint8Array>) =>
      JSON.stringify({
        integrity: 1,
        algorithm: "sha256",
        files: Object.fromEntries(Object.entries(own).map(([path, content]) => [path, hash(content)])),
      });
    const operator = await newOperator();
    const good = await operator.write("good.tgz", packageOf({ ...files, "integrity.json": list(files) }));
    const other = await operator.write(
      "other.tgz",
      packageOf({ ...files, "words.ts": "export {};", "integrity.json": list(files) }),
    );
    const more = await operator.write("more.tgz", packageOf({ ...files, "x.ts": "", "integrity.json": list(files) }));
    expect(await operator.bulkhead("plugin", "add", other)).toMatchObject({
      code: 2,
      err: expect.stringContaining('"words.ts" is not as its integrity.json says'),
    });
    expect(await operator.bulkhead("plugin", "add", more)).toMatchObject({
      code: 2,
      err: expect.stringContaining('"x.ts"'),
    });
    expect(await operator.bulkhead("plugin", "add", good)).toMatchObject({ code: 0 });
  });

  it("writes a host manifest where there is none", async () => {
    const operator = await newOperator();
    await rm(join(operator.folder, "bulkhead.yaml"));
    const file = await operator.write("a.tgz", greeterPackage());
    expect(await operator.bulkhead("plugin", "add", file)).toMatchObject({
      code: 0,
      err: expect.stringContaining("wrote"),
    });
    expect(await operator.manifest()).toContain("greeter: {}");
  });
});

describe("what a package may be", () => {
  const refusals: [name: string, files: Record<string, string | Uint8Array>, words: string][] = [
    [
      "I5: a manifest of aliases",
      greeterFiles({ lines: { name: "&a [x]", models: `[${Array(40).fill("*a").join(",")}]` } }),
      "alias",
    ],
    ["I5: a manifest with a tag", greeterFiles({ lines: { name: "!!js/function 'x'" } }), "plugin.yaml"],
    ["I6: a key twice", greeterFiles({ lines: { name: "A\nname: B" } }), "plugin.yaml"],
    ["I6: a __proto__", greeterFiles({ lines: { name: "A\n__proto__: {}" } }), "plugin.yaml"],
    [
      "I6: a manifest of 100 KiB",
      greeterFiles({ lines: { name: `A # ${"x".repeat(100_000)}` } }),
      "at most 65536 bytes",
    ],
    [
      "I6: a manifest 1000 deep",
      greeterFiles({ lines: { config: `${"[".repeat(1000)}${"]".repeat(1000)}` } }),
      "plugin.yaml",
    ],
    ["I6: bytes that are no text", { ...greeterFiles(), "plugin.yaml": Uint8Array.of(0xff, 0xfe) }, "UTF-8"],
    ["I7: a permission that nobody knows", greeterFiles({ permissions: ["raed: [workdir]"] }), 'did you mean "read"'],
    ["I14: code outside", greeterFiles({ lines: { entry: "../../mod.ts" } }), "a path inside the package"],
    [
      "I14: an absolute path to code",
      greeterFiles({ lines: { entry: "/etc/passwd.ts" } }),
      "a path inside the package",
    ],
    [
      "I15: a pattern in its options",
      greeterFiles({ lines: { config: '{ type: object, properties: { a: { type: string, pattern: "(a+)+$" } } }' } }),
      "pattern",
    ],
    [
      "I15: a reference in its options",
      greeterFiles({ lines: { config: '{ type: object, properties: { a: { $ref: "http://x" } } }' } }),
      "$ref",
    ],
    ["I16: a template with logic", {
      ...greeterFiles(),
      "plugin.yaml": String(greeterFiles({ lines: { entry: "x" } })["plugin.yaml"]).replace(
        "entry: x\n",
        'cli: { binary: tr, command_template: "{binary} {constructor} {{#if x}}" }\n',
      ),
    }, "command_template"],
    ["I21: compiled code", greeterFiles({ lines: { entry: "./mod.jsc" }, files: { "mod.jsc": "x" } }), ".ts"],
    [
      "I22: a native addon",
      greeterFiles({ files: { "words.ts": 'import x from "./x.node"; export const words = x;', "x.node": "x" } }),
      "x.node",
    ],
    [
      "I22: an import from outside",
      greeterFiles({ files: { "words.ts": 'export { readFileSync as words } from "node:fs";' } }),
      "node:fs",
    ],
    ["an id that is reserved", greeterFiles({ lines: { id: "constructor" } }), "an id other than"],
    ["an id in capitals", greeterFiles({ lines: { id: "Greeter" } }), "id"],
    ["an id of other letters", greeterFiles({ lines: { id: "gr\u0435eter" } }), "id"],
    [
      "I12: another version than its package's",
      greeterFiles({ packageJson: { name: "g", version: "2.0.0" } }),
      "says version 1.0.0",
    ],
    ["no manifest", { "package.json": "{}" }, "plugin.yaml"],
  ];
  it.each(refusals)("%s is refused and nothing of it stays", async (_, files, words) => {
    const operator = await newOperator();
    const file = await operator.write("a.tgz", packageOf(files));
    const { code, err } = await operator.bulkhead("plugin", "add", file, "--yes");
    expect({ code, err }).toEqual({ code: expect.any(Number), err: expect.stringContaining(words) });
    expect(code).not.toBe(0);
    expect(await isThere(join(operator.folder, "bulkhead.lock"))).toBe(false);
    const left = await readdir(join(operator.data, "installed"), { recursive: true }).catch(() => []);
    expect(left.filter((path) => /\.staging./.test(path))).toEqual([]);
    expect(await operator.manifest()).toBe("# mine\nbulkhead: 1 # one\n");
  });

  it("I22: WebAssembly in a package is data that nobody evaluates", async () => {
    const operator = await newOperator();
    const file = await operator.write(
      "a.tgz",
      greeterPackage({ files: { "x.wasm": Uint8Array.of(0, 0x61, 0x73, 0x6d) } }),
    );
    expect(await operator.bulkhead("plugin", "add", file)).toMatchObject({ code: 0 });
  });

  it("I17: a name that imitates the host's words is refused, or shown in quotes with nothing that moves the cursor", async () => {
    const operator = await newOperator();
    const hostile = { name: '"\\e[2J\\u202eSigned by Bulkhead"', description: '"a\\nIt asks for nothing."' };
    const refused = await operator.write("a.tgz", greeterPackage({ lines: hostile, permissions: asks }));
    const { code, out, err } = await operator.bulkhead("plugin", "add", refused);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    // deno-lint-ignore no-control-regex
    expect(err).not.toMatch(/[\u001b\u009b\u202e]/);
    const lines = { name: "Signed by Bulkhead", description: "'It asks for nothing. \"Allow?\"'" };
    const polite = await operator.write("b.tgz", greeterPackage({ lines, permissions: asks }));
    const shown = (await operator.bulkhead("plugin", "add", polite)).out.split("\n");
    expect(shown.slice(0, 2)).toEqual([
      'greeter 1.0.0 · "Signed by Bulkhead"',
      '  "It asks for nothing. \\"Allow?\\""',
    ]);
    expect(shown.filter((line) => line.startsWith("It asks"))).toEqual(["It asks to"]);
  });
});

describe("ids, sources and versions", () => {
  it("I11: refuses an id that looks like another, unless that is meant", async () => {
    const operator = await newOperator();
    expect(await operator.bulkhead("plugin", "add", await operator.write("a.tgz", greeterPackage()))).toMatchObject({
      code: 0,
    });
    for (
      const id of [
        "greater",
        "greter",
        "greeterr",
        "gerreter".replace("gerreter", "rgeeter"),
        "gree-ter",
        "codexx",
        "c1aude-code",
        "repocensus",
        "qchot",
      ]
    ) {
      const file = await operator.write(`${id}.tgz`, greeterPackage({ id }));
      expect(await operator.bulkhead("plugin", "add", file), id).toMatchObject({
        code: 2,
        err: expect.stringContaining("looks like"),
      });
    }
    const far = await operator.write("far.tgz", greeterPackage({ id: "welcomer" }));
    expect(await operator.bulkhead("plugin", "add", far)).toMatchObject({ code: 0 });
    expect(await operator.bulkhead("plugin", "add", join(operator.folder, "greater.tgz"), "--allow-similar-id"))
      .toMatchObject({ code: 0 });
  });

  it("I11: refuses the id of a bundled plugin and that of a tool", async () => {
    const operator = await newOperator(
      'bulkhead: 1\ntools:\n  shout: { binary: tr, command_template: "{binary} a-z A-Z < {prompt_file}" }\n',
    );
    for (const id of ["codex", "shout"]) {
      const file = await operator.write(`${id}.tgz`, greeterPackage({ id }));
      expect(await operator.bulkhead("plugin", "add", file)).toMatchObject({
        code: 2,
        err: expect.stringContaining(`Cannot install plugin "${id}"`),
      });
    }
    expect(await operator.bulkhead("plugin", "add", join(operator.folder, "codex.tgz"), "--replace-source"))
      .toMatchObject({ code: 0 });
    const { out } = await operator.bulkhead("plugin", "info", "codex", "--json");
    expect(JSON.parse(out)).toMatchObject({ origin: "installed", enabled: true });
  });

  it("I11, I18: binds an id to its source; another one gets nothing of what the first was granted or kept", async () => {
    const operator = await newOperator();
    const local = await operator.write("a.tgz", greeterPackage({ permissions: asks }));
    await operator.bulkhead("plugin", "add", local, "--yes");
    const kept = join(operator.state, "data/greeter/notes");
    await mkdir(dirname(kept), { recursive: true });
    await writeFile(kept, "x");
    const other = await inRepository(operator, { permissions: asks });
    expect(await operator.bulkhead("plugin", "add", other, "--yes")).toMatchObject({
      code: 2,
      err: expect.stringContaining("it is installed from a.tgz"),
    });
    expect(await operator.bulkhead("plugin", "add", other, "--replace-source")).toMatchObject({ code: 4 });
    expect(await isThere(kept)).toBe(true);
    expect(await operator.bulkhead("plugin", "add", other, "--replace-source", "--grant", "read:workdir", "--yes"))
      .toMatchObject({ code: 0 });
    expect(await isThere(kept)).toBe(false);
  });

  it("I12: refuses a version below the highest that was in use", async () => {
    const operator = await newOperator();
    const two = await operator.write("two.tgz", greeterPackage({ version: "2.0.0" }));
    const one = await operator.write("one.tgz", greeterPackage({ version: "1.0.0" }));
    const middle = await operator.write("middle.tgz", greeterPackage({ version: "1.5.0" }));
    await operator.bulkhead("plugin", "add", two);
    expect(await operator.bulkhead("plugin", "add", one)).toMatchObject({
      code: 2,
      err: expect.stringContaining("2.0.0 was in use already"),
    });
    expect(await operator.bulkhead("plugin", "add", one, "--allow-downgrade")).toMatchObject({ code: 0 });
    expect((await operator.lock()).plugins["greeter"]).toMatchObject({ version: "1.0.0", highest: "1.0.0" });
    // Who went back on purpose goes on from there.
    expect(await operator.bulkhead("plugin", "add", middle)).toMatchObject({ code: 0 });
    expect(await operator.bulkhead("plugin", "add", one)).toMatchObject({ code: 2 });
  });

  it("I12: a blocked version is refused when it is added, as an update, when it is restored and at every load", async () => {
    const block = (versions: string) =>
      `blocked:\n  - { plugin: greeter, versions: "${versions}", because: It leaks. }\n`;
    const operator = await newOperator(`bulkhead: 1\n${block("<1.2.0")}plugins: { replay: {} }\n`);
    const [one, two, three, four] = await Promise.all(
      ["1.0.0", "1.2.0-beta.1", "1.2.0", "2.0.0"].map((version) =>
        operator.write(`${version}.tgz`, greeterPackage({ version }))
      ),
    );
    const refused = (versions: string, version: string) => ({
      code: 4,
      err: expect.stringContaining(
        `Cannot use plugin "greeter": ${operator.folder}/bulkhead.yaml:3 blocks versions ${versions} of plugin "greeter", ` +
          `and this is ${version} (It leaks).`,
      ),
    });
    expect(await operator.bulkhead("plugin", "add", one!)).toMatchObject(refused("<1.2.0", "1.0.0"));
    expect(await operator.bulkhead("plugin", "add", two!)).toMatchObject(refused("<1.2.0", "1.2.0-beta.1"));
    expect(await isThere(join(operator.folder, "bulkhead.lock"))).toBe(false);
    expect(await operator.bulkhead("plugin", "add", three!)).toMatchObject({ code: 0 });

    await operator.write("bulkhead.yaml", (await operator.manifest()).replace("<1.2.0", "<1.9.0"));
    const atLoad = refused("<1.9.0", "1.2.0");
    expect(await operator.bulkhead("run", "greeter", "Good day")).toMatchObject(atLoad);
    expect(await operator.bulkhead("plugin", "enable", "greeter")).toMatchObject(atLoad);
    expect(await operator.bulkhead("plugin", "check", "greeter")).toMatchObject({ code: 4 });
    expect(await operator.bulkhead("plugin", "add")).toMatchObject(atLoad);
    expect((await operator.bulkhead("config", "check")).out).toContain('1 plugin enabled: replay.\nNot "greeter": ');
    // One that is blocked keeps nobody else from work.
    const listed = (await operator.bulkhead("plugin", "list", "--json")).out.trim().split("\n")
      .map((line) => JSON.parse(line));
    expect(listed.find(({ id }) => id === "greeter")).toMatchObject({
      enabled: false,
      blocked: expect.stringContaining("bulkhead.yaml:3 blocks"),
    });
    expect(listed.find(({ id }) => id === "replay")).toMatchObject({ enabled: true, blocked: null });
    expect(await operator.bulkhead("plugin", "add", four!)).toMatchObject({ code: 0 });
    expect(await operator.bulkhead("plugin", "check")).toMatchObject({ code: 0 });
  });

  it("I12: a blocked package is refused under whatever id it comes", async () => {
    const operator = await newOperator("bulkhead: 1\nblocked:\n  - package: bulkhead-greeter\n");
    const packageJson = { name: "bulkhead-greeter", version: "1.0.0", type: "module" };
    const file = await operator.write("a.tgz", greeterPackage({ id: "welcomer", packageJson }));
    expect(await operator.bulkhead("plugin", "add", file)).toMatchObject({
      code: 4,
      err: expect.stringContaining("bulkhead.yaml:3 blocks every version of package bulkhead-greeter."),
    });
    await operator.write("bulkhead.yaml", "bulkhead: 1\n");
    expect(await operator.bulkhead("plugin", "add", file)).toMatchObject({ code: 0 });
    await operator.write("bulkhead.yaml", `${await operator.manifest()}blocked: [{ package: bulkhead-greeter }]\n`);
    expect((await operator.bulkhead("plugin", "info", "welcomer")).out).toContain("blocks every version of package");
    expect(await operator.bulkhead("run", "welcomer", "Good day")).toMatchObject({ code: 4 });
  });

  it("I9: an update that asks for more waits, and the version in use stays", async () => {
    const operator = await newOperator();
    const run = 'run: [{ binary: git, args: ["log"] }]';
    const one = await operator.write("one.tgz", greeterPackage({ permissions: [run, "read: [workdir]"] }));
    await operator.bulkhead("plugin", "add", one, "--yes");
    const more = 'run: [{ binary: git, args: ["log", "status"] }]';
    const two = await operator.write(
      "two.tgz",
      greeterPackage({ version: "1.1.0", permissions: [more, "read: [workdir]"] }),
    );
    const before = [await operator.manifest(), JSON.stringify(await operator.lock())];
    const refused = await operator.bulkhead("plugin", "add", two);
    expect(refused).toMatchObject({ code: 4, err: expect.stringContaining("Version 1.0.0 stays in use.") });
    // The grant of "git" by its name does not cover what a later version adds.
    expect(refused.out).toContain('start the program "git" with status');
    expect(refused.out).not.toContain("with log");
    expect([await operator.manifest(), JSON.stringify(await operator.lock())]).toEqual(before);
    expect(await operator.bulkhead("plugin", "check", "greeter")).toMatchObject({ code: 0 });
    const waits = `greeter 1.1.0 waits; it asks for more: run:git. To take it:`;
    expect((await operator.bulkhead("plugin", "list")).out).toContain(
      `${waits}\n   bulkhead plugin add ${two} --grant run:git\n`,
    );
    const info = (await operator.bulkhead("plugin", "info", "greeter")).out;
    expect(info).toContain(waits);
    expect(info).toContain('start the program "git" with status');
    const waiting = async () => {
      const lines = (await operator.bulkhead("plugin", "list", "--json")).out.trim().split("\n");
      return lines.map((line) => JSON.parse(line)).find(({ id }) => id === "greeter").waiting_update;
    };
    expect(await waiting()).toMatchObject({ version: "1.1.0", asks: ["run:git"] });
    expect(await operator.bulkhead("plugin", "add", two, "--grant", "run:git")).toMatchObject({ code: 0 });
    expect(await waiting()).toBe(null);
    expect((await operator.lock()).plugins["greeter"]).toMatchObject({ version: "1.1.0", highest: "1.1.0" });
  });

  it("an update that asks for no more goes on at once, and leaves a plugin disabled that was", async () => {
    const operator = await newOperator();
    await operator.write("one.tgz", greeterPackage({ permissions: asks }));
    await operator.bulkhead("plugin", "add", "./one.tgz", "--yes");
    await operator.bulkhead("plugin", "disable", "greeter");
    await operator.write("one.tgz", greeterPackage({ version: "1.0.1", permissions: asks }));
    expect(await operator.bulkhead("plugin", "update")).toMatchObject({
      code: 0,
      out: expect.stringContaining("Updated: greeter is 1.0.1 now."),
    });
    expect(await operator.manifest()).toContain("enabled: false");
    expect(await operator.bulkhead("plugin", "update", "greeter")).toMatchObject({
      code: 0,
      out: "Up to date: greeter 1.0.1 is what one.tgz holds. To take another file: bulkhead plugin add <file>\n",
    });
  });
});

describe("an installed plugin with instances", () => {
  const run = (args: string) => [`run: [{ binary: git, args: [${args}] }]`, "read: [workdir]"];
  const instances = "  first: { source: greeter, grant: { run: [git] } }\n  second: { source: greeter }\n";

  async function newInstances(): Promise<{ operator: Operator; two: string }> {
    const operator = await newOperator();
    const one = await operator.write("one.tgz", greeterPackage({ permissions: run("log") }));
    expect(await operator.bulkhead("plugin", "add", one)).toMatchObject({ code: 4 });
    expect(await operator.bulkhead("plugin", "add", one, "--grant", "read:workdir")).toMatchObject({ code: 0 });
    await operator.bulkhead("plugin", "disable", "greeter");
    await operator.bulkhead("plugin", "revoke", "greeter", "read:workdir");
    await operator.write("bulkhead.yaml", (await operator.manifest()) + instances);
    const two = await operator.write("two.tgz", greeterPackage({ version: "1.1.0", permissions: run("log, status") }));
    return { operator, two };
  }

  it("runs each of them, from the files that were installed", async () => {
    const { operator } = await newInstances();
    const { out, code } = await operator.bulkhead("run", "first", "Good day");
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining("Hello") });
    const listed = (await operator.bulkhead("plugin", "list", "--json")).out.trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    const facts = listed.filter(({ origin }) => origin === "installed")
      .map(({ id, instance_of, enabled }) => [id, instance_of, enabled]);
    expect(facts).toEqual([["first", "greeter", true], ["greeter", null, false], ["second", "greeter", true]]);
    expect((await operator.bulkhead("plugin", "list")).out).toMatch(/first .* greeter, installed/);
    const info = JSON.parse((await operator.bulkhead("plugin", "info", "first", "--json")).out);
    expect(info).toMatchObject({ id: "first", instance_of: "greeter", locked: { version: "1.0.0" } });
  });

  it("I9: asks for them before an update that asks for more, and grants it to those that are in use", async () => {
    const { operator, two } = await newInstances();
    const refused = await operator.bulkhead("plugin", "add", two);
    expect(refused).toMatchObject({ code: 4, err: expect.stringContaining("missing grants: run:git") });
    expect(refused.out).toContain("What is granted goes to first, second, as far as each asks for it.");
    expect((await operator.bulkhead("plugin", "list")).out).toContain(`plugin add ${two} --grant run:git\n`);
    expect(await operator.bulkhead("plugin", "add", two, "--grant", "run:git")).toMatchObject({ code: 0 });
    expect(await operator.manifest()).toContain(
      "  first: { source: greeter, grant: { run: [ git ] } }\n" +
        "  second: { source: greeter, grant: { run: [ git ] } }\n",
    );
    expect(await operator.manifest()).toContain("  greeter:\n    grant: {}\n    enabled: false\n");
  });

  it("I18: leaves them nothing of what they were granted or kept when its source is replaced", async () => {
    const { operator } = await newInstances();
    const kept = join(operator.state, "data/first/notes");
    await mkdir(dirname(kept), { recursive: true });
    await writeFile(kept, "x");
    const other = await inRepository(operator, {});
    expect(await operator.bulkhead("plugin", "add", other, "--replace-source")).toMatchObject({ code: 0 });
    expect(await isThere(kept)).toBe(false);
    const text = await operator.manifest();
    for (const id of ["first", "second"]) {
      expect(text).toContain(`  ${id}:\n    source: greeter\n    enabled: false\n`);
    }
    expect(text).not.toContain("git");
  });

  it("is removed after them, and each of them alone", async () => {
    const { operator } = await newInstances();
    expect(await operator.bulkhead("plugin", "remove", "greeter")).toMatchObject({
      err: expect.stringContaining('Cannot remove plugin "greeter": it has the instances first, second.'),
    });
    expect(await operator.bulkhead("plugin", "remove", "first")).toMatchObject({ code: 0 });
    expect(await operator.bulkhead("plugin", "remove", "second")).toMatchObject({ code: 0 });
    expect(Object.keys((await operator.lock()).plugins)).toEqual(["greeter"]);
    expect(await operator.bulkhead("plugin", "remove", "greeter")).toMatchObject({ code: 0 });
    expect(await operator.manifest()).not.toContain("greeter");
  });

  it("I11: takes no id that one of them has, or that looks like it", async () => {
    const { operator } = await newInstances();
    for (const [id, words] of [["first", "plugins.first.source"], ["flrst", 'looks like "first"']] as const) {
      const file = await operator.write(`${id}.tgz`, greeterPackage({ id }));
      expect(await operator.bulkhead("plugin", "add", file, "--replace-source")).toMatchObject({
        code: 2,
        err: expect.stringContaining(words),
      });
    }
  });
});

describe("what is evaluated", () => {
  it("I10: is what was installed: a file that was changed, added or removed is refused at the next load", async () => {
    const operator = await newOperator();
    await operator.bulkhead("plugin", "add", await operator.write("a.tgz", greeterPackage()));
    const folder = await folderOf(operator);
    const words = await readFile(join(folder, "words.ts"), "utf8");
    await writeFile(join(folder, "words.ts"), words.replace("Hello", "Howdy"));
    expect(await operator.bulkhead("plugin", "check", "greeter")).toMatchObject({
      code: 2,
      err: expect.stringContaining("not those that were installed: words.ts"),
    });
    await writeFile(join(folder, "words.ts"), words);
    expect(await operator.bulkhead("plugin", "check", "greeter")).toMatchObject({ code: 0 });
    await writeFile(join(folder, "more.ts"), "");
    expect(await operator.bulkhead("plugin", "list")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/✘ greeter cannot be used [^]*more\.ts/),
    });
    expect(await operator.bulkhead("run", "greeter", "hello")).toMatchObject({
      code: 2,
      err: expect.stringContaining("more.ts"),
    });
    await rm(join(folder, "more.ts"));
    await rm(join(folder, "package.json"));
    await symlink("/etc/passwd", join(folder, "package.json"));
    expect(await operator.bulkhead("run", "greeter", "hello")).toMatchObject({
      code: 2,
      err: expect.stringContaining("package.json"),
    });
    expect(await operator.bulkhead("plugin", "add")).toMatchObject({ code: 0, out: "Installed: greeter 1.0.0.\n" });
    expect(await operator.bulkhead("plugin", "list")).toMatchObject({ code: 0 });
  });

  it("I10: a lock with other hashes, or with a plugin's entry under another id, loads nothing", async () => {
    const operator = await newOperator();
    await operator.bulkhead("plugin", "add", await operator.write("a.tgz", greeterPackage()));
    const lock = await operator.lock();
    const { greeter } = lock.plugins;
    const write = (plugins: Record<string, unknown>) =>
      operator.write("bulkhead.lock", JSON.stringify({ lock: 1, plugins }));
    await write({ greeter: { ...greeter, files: `${greeter!.files.slice(0, 12)}${"0".repeat(52)}` } });
    expect(await operator.bulkhead("run", "greeter", "hello")).toMatchObject({
      code: 2,
      err: expect.stringContaining("not those that were installed"),
    });
    await write({ greeter: { ...greeter, version: "../../evil" } });
    // An entry that cannot be read stops its plugin, and no other.
    expect(await operator.bulkhead("plugin", "list")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/✘ greeter cannot be used [^]*bulkhead\.lock:1:/),
    });
    expect(await operator.bulkhead("run", "greeter", "hello")).toMatchObject({
      code: 2,
      err: expect.stringContaining("bulkhead.lock:1:"),
    });
    await write({ greeter: { ...greeter, more: 1 } });
    expect(await operator.bulkhead("plugin", "list")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/✘ greeter cannot be used [^]*a known key/),
    });
  });

  it("I10: a package that is gone, and a registry that is down, cost their own plugin", async () => {
    const operator = await newOperator();
    for (const id of ["vanished", "greeter"]) {
      const added = await operator.bulkhead("plugin", "add", await operator.write(`${id}.tgz`, greeterPackage({ id })));
      expect(added).toMatchObject({ code: 0 });
    }
    const lock = await operator.lock();
    const source = { type: "registry", name: "bulkhead-away", registry: "http://127.0.0.1:9/" };
    const plugins = { away: { ...lock.plugins["greeter"]!, source }, ...lock.plugins };
    await operator.write("bulkhead.lock", JSON.stringify({ lock: 1, plugins }));
    await operator.write("bulkhead.yaml", (await operator.manifest()).replace("plugins:", "plugins:\n  away: {}"));
    await rm(join(operator.data, "installed"), { recursive: true });
    await rm(join(operator.folder, "vanished.tgz"));
    const restored = await operator.bulkhead("plugin", "add");
    expect(restored).toMatchObject({ out: "Installed: greeter 1.0.0.\n", err: expect.stringMatching(/vanished\.tgz/) });
    expect(restored.err).toContain("bulkhead-away");
    expect(restored.code).not.toBe(0);
    expect((await operator.bulkhead("run", "greeter", "hello")).code).toBe(0);
    const agents = (await operator.bulkhead("agents", "--json")).out.trim().split("\n").map((line) => JSON.parse(line));
    for (const id of ["vanished", "away"]) {
      expect(agents.find((agent) => agent.id === id)).toMatchObject({
        availability: "unavailable",
        reason: expect.stringContaining("version 1.0.0 is locked, and not installed here"),
        next_step: expect.stringContaining("bulkhead plugin add"),
      });
    }
  });

  it("I20: the lock, the host manifest and all that is installed are closed to adapters", () => {
    const places = guardedPlaces({
      root: "/w",
      stateDirs: ["/s", "/own", "/s"],
      manifestFile: "/w/bulkhead.yaml",
      installedDir: "/d",
      secretPaths: [],
      plugins: [],
      unavailable: ["/w/dev"],
    });
    expect(places.protectedPaths).toEqual(["/s", "/own", "/w/bulkhead.yaml", "/w/bulkhead.lock"]);
    expect(places.sealedPaths).toEqual(["/w/dev", "/d"]);
    expect(places.pluginPlaces).toEqual(["/w/plugins", "/w/node_modules"]);
  });
});

describe("plugin remove, enable, disable, revoke, info", () => {
  it("I18: removes a plugin with its grants, its files and what it kept", async () => {
    const operator = await newOperator();
    await operator.bulkhead(
      "plugin",
      "add",
      await operator.write("a.tgz", greeterPackage({ permissions: asks })),
      "--yes",
    );
    const kept = ["data/greeter/notes", "pins/greeter/x.json", "crashes/greeter.json"].map((path) =>
      join(operator.state, path)
    );
    for (const path of kept) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, "{}");
    }
    expect(await operator.bulkhead("plugin", "remove", "greeter")).toMatchObject({ code: 0 });
    expect(await operator.manifest()).not.toContain("greeter");
    expect((await operator.lock()).plugins).toEqual({});
    expect(await readdir(await installed(operator))).not.toContain("greeter");
    expect(await Promise.all(kept.map(isThere))).toEqual([false, false, false]);
    expect(await operator.bulkhead("plugin", "remove", "greeter")).toMatchObject({ code: 5 });
  });

  it("disables, enables and takes grants back, comments kept", async () => {
    const operator = await newOperator(
      "bulkhead: 1\nplugins:\n  # mine\n  replay:\n    grant:\n      read: [workdir, plugin] # both\n      run:\n        - { binary: git, args: [log] }\n",
    );
    expect(await operator.bulkhead("plugin", "disable", "replay")).toMatchObject({ code: 0 });
    expect(await operator.manifest()).toContain("enabled: false");
    expect(await operator.bulkhead("plugin", "enable", "replay")).toMatchObject({ code: 0 });
    expect(await operator.bulkhead("plugin", "enable", "nobody")).toMatchObject({ code: 5 });
    expect(await operator.bulkhead("plugin", "revoke", "replay", "read:plugin")).toMatchObject({ code: 0 });
    expect(await operator.bulkhead("plugin", "revoke", "replay", "run:git")).toMatchObject({ code: 0 });
    expect(await operator.bulkhead("plugin", "revoke", "replay", "run:git")).toMatchObject({
      code: 0,
      out: expect.stringContaining("Nothing to revoke"),
    });
    expect(await operator.manifest()).toBe(
      "bulkhead: 1\nplugins:\n  # mine\n  replay:\n    grant:\n      read: [ workdir ] # both\n",
    );
  });

  it("tells at once that a plugin which is enabled or installed is incomplete", async () => {
    const operator = await newOperator();
    const code = `import { AgentAdapter } from "bulkhead/plugin-sdk";\nexport default class extends AgentAdapter {}\n`;
    const manifest = `manifest: 1
id: half
name: half
version: 1.0.0
description: Lacks members.
license: MIT
host: ^1.0.0
adapter_type: agent
entry: ./mod.js
capabilities: {}
`;
    for (const folder of ["plugins/half", "other"]) {
      await operator.write(`${folder}/plugin.yaml`, manifest.replace("id: half", `id: ${folder.split("/").at(-1)}`));
      await operator.write(`${folder}/mod.js`, code);
    }
    const lacks = "The adapter lacks id, name, version, capabilities, accessModes, isAvailable, runSession.";
    const enabled = await operator.bulkhead("plugin", "enable", "half");
    expect(enabled.code).toBe(0);
    expect(enabled.out).toMatch(/^half is enabled /);
    expect(enabled.out).toContain(
      `It cannot run yet. Cannot load plugin "half": ${lacks}\nRun: bulkhead plugin check half\n`,
    );
    const again = await operator.bulkhead("plugin", "enable", "half", "--as", "second", "--json");
    expect(JSON.parse(again.out)).toMatchObject({
      plugin_id: "second",
      enabled: true,
      error: { code: "adapter_incomplete", message: `Cannot load plugin "second": ${lacks}` },
    });
    const added = await operator.bulkhead("plugin", "add", "./other");
    expect(added.out).toContain(`It cannot run yet. Cannot load plugin "other": ${lacks}`);
    expect(added.out).not.toContain("To run it:");
  });

  it("enables instances of a plugin, each with its options, and grants to each", async () => {
    const operator = await newOperator("bulkhead: 1\nplugins:\n  # mine\n  replay: { enabled: false }\n");
    const enable = (...words: string[]) => operator.bulkhead("plugin", "enable", ...words);
    expect(await enable("replay", "--as", "slow", "--option", "recording=a.jsonl", "--option", "speed=0.5"))
      .toMatchObject({
        code: 0,
        out: expect.stringMatching(
          /^slow is enabled \(.*\/bulkhead\.yaml\)\.\n\nIt may not yet:\n[^]*plugin grant slow read:plugin read:workdir write:workdir\n$/,
        ),
      });
    expect(await enable("replay", "--as", "fast", "--option", "speed=4")).toMatchObject({ code: 0 });
    expect(await operator.bulkhead("plugin", "grant", "fast", "read:workdir")).toMatchObject({ code: 0 });
    expect(await operator.bulkhead("plugin", "disable", "slow")).toMatchObject({ code: 0 });
    expect(await enable("replay", "--as", "slow")).toMatchObject({ code: 0 });
    expect(await enable("slow", "--option", "speed=1")).toMatchObject({ code: 0 });
    expect(await enable("slow", "--option", "speed=1")).toMatchObject({
      code: 0,
      out: expect.stringContaining("slow is enabled already"),
    });
    expect(await operator.manifest()).toBe(
      "bulkhead: 1\nplugins:\n  # mine\n  replay: { enabled: false }\n" +
        "  slow:\n    source: replay\n    config:\n      recording: a.jsonl\n      speed: 1\n" +
        "  fast:\n    source: replay\n    config:\n      speed: 4\n    grant:\n      read:\n        - workdir\n",
    );
    const explained = (await operator.bulkhead("plugin", "explain", "fast")).out;
    expect(explained).toMatch(/^fast .* · enabled · .*, an instance of replay\n/);
    expect(explained).toContain("bulkhead plugin grant fast read:plugin write:workdir");
  });

  it.each([
    [["replay", "--as", "codex"], 2, 'Cannot name an instance "codex": another plugin has that id.\n  Choose another'],
    [["replay", "--as", "replay"], 2, 'Cannot name an instance "replay"'],
    [["one", "--as", "two"], 2, "it is an instance itself.\n  bulkhead plugin enable replay --as two"],
    [["shout", "--as", "two"], 2, 'Cannot make an instance of "shout": it is a tool of the host manifest.'],
    [["replay", "--as", "auto"], 2, 'Cannot name a plugin "auto"'],
    [["relpay", "--as", "two"], 5, 'There is no plugin with the id "relpay".\n  Did you mean "replay"?'],
    [["nothing-like-it"], 5, "Found: acp, anthropic-api, claude-code, codex, "],
    [["replay", "--as", "two", "--option", "sped=1"], 2, 'found "sped"; did you mean "speed"?'],
    [["replay", "--as", "two", "--option", "speed=high"], 2, "--option speed: expected number"],
    [["replay", "--as", "two", "--option", "speed"], 2, "Expected name=value."],
  ])("does not enable %j", async (words, code, message) => {
    const text = "bulkhead: 1\nplugins: { one: { source: replay } }\n" +
      'tools: { shout: { binary: tr, command_template: "{binary} a-z A-Z < {prompt_file}" } }\n';
    const operator = await newOperator(text);
    const refused = await operator.bulkhead("plugin", "enable", ...words);
    expect(refused).toMatchObject({ code, err: expect.stringContaining(message) });
    expect(await operator.manifest()).toBe(text);
  });

  it("tells where a plugin came from and what it asks for", async () => {
    const operator = await newOperator();
    await operator.bulkhead(
      "plugin",
      "add",
      await operator.write("a.tgz", greeterPackage({ permissions: asks })),
      "--yes",
    );
    const { out } = await operator.bulkhead("plugin", "info", "greeter");
    expect(out).toContain("from    a.tgz");
    expect(out).toContain("read files in the working directory");
  });
});
