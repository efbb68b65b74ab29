import {
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from "../../../core/ground/platform/files/files.ts";
import { actedOnGroups } from "../../../core/ground/platform/places/acted-on-names.ts";
import { makeFifo } from "../../../core/ground/platform/files/fifo.ts";
import { listenAt } from "../../../core/ground/platform/net/loopback-server.ts";
import { join } from "../../../core/ground/platform/files/paths.ts";
import { pid } from "../../../core/ground/platform/engine/platform.ts";
import type { AttackCase, AttackPlace } from "../../../core/kit/attack/attack-case.ts";
import { refusedTries, type Try } from "./refused-tries.ts";

const workdir = { read: ["workdir"], write: ["workdir"] };
const everything = { read: ["/", "data"], write: ["/", "data"] };
const nowhere: Try["codes"] = ["permission_denied", "not_found", "invalid_request"];

/** Names that programs act on by themselves, in the spellings of case folding and invisible characters. */
const autoexecFiles = [
  ".git/hooks/pre-commit",
  ".git/config",
  ".GIT/config",
  "sub/.git/hooks/post-checkout",
  ".ｇｉｔ/config",
  ".g\u200cit/config",
  ".git./config",
  ".bashrc",
  ".zshenv",
  ".profile",
  ".envrc",
  ".npmrc",
  ".mcp.json",
  ".vscode/tasks.json",
  ".idea/workspace.xml",
  ".husky/pre-commit",
  ".ssh/authorized_keys",
  "bulkhead.yaml",
  // Files from which coding agents take orders, tools and approvals, and some of each other kind on the list.
  ...actedOnGroups.flatMap(({ names }) => [...names].slice(0, 12)).filter((name) => name !== ".git"),
  // Files that build servers, task runners, checkers and shells run.
  ".github/workflows/ci.yml",
  ".gitlab-ci.yml",
  "package.json",
  "packages/a/PACKAGE.JSON",
  "node_modules/left-pad/index.js",
  "Makefile",
  "conftest.py",
  "build.rs",
  "eslint.config.mjs",
  "vitest.config.ts",
  ".eslintrc.cjs",
  ".gitattributes",
  ".env",
  ".env.local",
  ".config/fish/config.fish",
  ".config/git/config",
  ".config/systemd/user/x.service",
];

/** Corpus group G, files: reaching what is outside the granted folders, or what no grant opens. */
export const filesCases: readonly AttackCase[] = [
  refusedTries({
    id: "G1",
    name: "host-environment",
    attack: "Reads the host's environment variables without a grant, and one that is not the granted one.",
    permissions: { env: ["LANG"] },
    tries: ["PATH", "HOME", "USER", "SHELL", "NODE_OPTIONS", "lang"].map((name) => `await ctx.env.get("${name}")`),
  }),
  {
    id: "G1",
    name: "process-globals",
    attack: "Looks for the process and its environment among the globals.",
    body: `
    const found = ["process", "Deno", "Buffer", "require", "global"].filter((name) => name in globalThis);
    if (found.length > 0) yield { type: "progress", message: "BREACH " + found.join() };`,
    expected: { kind: "harmless" },
    withinMs: 10_000,
  },
  {
    id: "G1",
    name: "child-environment",
    attack: "Prints the environment of a child to find variables of the host in it.",
    permissions: { run: [{ binary: "env" }] },
    body: `
    const child = await ctx.run("env", []);
    let text = "";
    for await (const piece of child.stdout) text += piece;
    const names = text.trim().split("\\n").map((line) => line.slice(0, line.indexOf("=")));
    const plain = ["DENO_EXTRA_STDIO_FDS", "BULKHEAD_SESSION_MARK", "HOME", "LANG", "NO_COLOR", "PATH", "PWD", "TERM", "TMPDIR", "USER"];
    const others = names.filter((name) => !plain.includes(name) && !name.startsWith("GIT_CONFIG_"));
    if (names.length === 0 || others.length > 0) yield { type: "progress", message: "BREACH " + others.join() };`,
    expected: { kind: "harmless" },
    withinMs: 10_000,
  },
  refusedTries({
    id: "G2",
    name: "pseudo-file-systems",
    attack: "Reads processes and devices as files while everything is granted.",
    permissions: everything,
    stage: async ({ workdir }) => {
      await symlink("/proc/self", join(workdir, "me"));
      await symlink("/proc", join(workdir, "all"));
      await symlink("/dev", join(workdir, "devices"));
      return { params: { pid: String(pid) } };
    },
    tries: [
      ...[
        "/proc/self/environ",
        "/proc/thread-self/environ",
        "/proc/self/root/proc/self/environ",
        "/proc/1/environ",
        "/proc/self/fd/0",
        "/proc/self/mem",
        "/dev/fd/0",
        "/dev/stdin",
        "/dev/zero",
        "/sys/kernel/notes",
        "//proc/self/environ",
        "/./proc/../proc/self/environ",
        "me/environ",
        "all/self/maps",
        "devices/zero",
      ].map((path) => `await ctx.fs.readText("${path}")`),
      "await ctx.fs.readText(`/proc/${stage.pid}/environ`)",
      "await ctx.fs.readText(`all/${stage.pid}/environ`)",
      "await ctx.fs.list(`/proc/${stage.pid}/fd`)",
      "await ctx.fs.list('me/fd')",
      "await ctx.fs.stat('/proc/self/exe')",
      "await ctx.fs.writeText('/proc/self/oom_score_adj', '1000')",
      "await ctx.fs.writeText('/dev/null', 'x')",
    ],
  }),
  refusedTries({
    id: "G3",
    name: "path-spellings",
    attack: "Spells a path out of the working directory in every way that some system reads.",
    permissions: workdir,
    tries: [
      "await ctx.fs.readText(ctx.workdir + '/../outside/secret.txt')",
      "await ctx.fs.readText('../outside/secret.txt')",
      "await ctx.fs.readText('./x/../../outside/secret.txt')",
      "await ctx.fs.readText('x/../../outside/secret.txt')",
      "await ctx.fs.readText('////etc/passwd')",
      "await ctx.fs.readText('/etc/passwd')",
      "await ctx.fs.readText('data:../../../../../../../../etc/passwd')",
      "await ctx.fs.writeText('../outside/new.txt', 'BREACH')",
      "await ctx.fs.remove('../outside/secret.txt')",
      "await ctx.fs.list('..')",
      "await ctx.fs.list('../outside')",
      "await ctx.fs.stat('../outside/secret.txt')",
      ...[
        "../outside/secret.txt\u0000",
        "\u0000/etc/passwd",
        "a\n/etc/passwd",
        "..\ud800/outside",
        "~/.bashrc",
        "~root/.bashrc",
        "$HOME/.bashrc",
        "%2e%2e/outside/secret.txt",
        "..%2foutside%2fsecret.txt",
        "..%252foutside%252fsecret.txt",
        "..\\outside\\secret.txt",
        "C:\\Windows\\win.ini",
        "\\\\server\\share",
        "file:///etc/passwd",
        ".. /outside/secret.txt",
        "..../outside/secret.txt",
        ".../outside/secret.txt",
        "\u2025/outside/secret.txt",
        "\uff0e\uff0e/outside/secret.txt",
        "secret.txt::$DATA",
        "CON",
        "///etc/shadow",
      ].map((path): Try => ({ act: `await ctx.fs.readText(${JSON.stringify(path)})`, codes: nowhere })),
      { act: "await ctx.fs.readText('a/'.repeat(3000))", codes: ["invalid_request"] },
      { act: "await ctx.fs.readText('')", codes: ["invalid_request"] },
    ],
    stage: (place) => Promise.resolve({ reached: () => outsideChanged(place) }),
  }),
  refusedTries({
    id: "G4",
    name: "composed-name",
    attack: "Reads a folder whose name looks like the granted one, composed in another way.",
    stage: async (place) => {
      const granted = join(place.outside, "caf\u00e9");
      const twin = join(place.outside, "cafe\u0301");
      await mkdir(granted);
      await mkdir(twin, { recursive: true });
      await writeFile(join(twin, "secret.txt"), "BREACH: of the other folder");
      await writeFile(join(granted, "own.txt"), "own");
      // A file system that takes both for one name holds one folder: then there is nothing to confuse.
      const same = (await readdir(granted)).includes("secret.txt");
      if (same) await rm(join(twin, "secret.txt"));
      return { permissions: { read: [granted] }, params: { outside: place.outside } };
    },
    tries: [
      { act: "await ctx.fs.readText(stage.outside + '/cafe\\u0301/secret.txt')", codes: nowhere },
      { act: "await ctx.fs.readText(stage.outside + '/CAF\\u00c9/secret.txt')", codes: nowhere },
      { act: "await ctx.fs.list(stage.outside)" },
    ],
  }),
  refusedTries({
    id: "G5",
    name: "prefix",
    attack: "Goes to a folder whose name begins like the granted one.",
    permissions: workdir,
    stage: async (place) => {
      for (const ending of ["-evil", ".evil", "2"]) {
        await mkdir(place.workdir + ending);
        await writeFile(join(place.workdir + ending, "secret.txt"), "BREACH: of a neighbour");
      }
      return {};
    },
    tries: ["-evil", ".evil", "2"].flatMap((ending) => [
      `await ctx.fs.readText(ctx.workdir + "${ending}/secret.txt")`,
      `await ctx.fs.readText("../workdir${ending}/secret.txt")`,
      `await ctx.fs.writeText("../workdir${ending}/new.txt", "x")`,
    ]),
  }),
  refusedTries({
    id: "G6",
    name: "links-out",
    attack: "Reads, lists and writes through links that lead out of the working directory.",
    permissions: workdir,
    stage: async (place) => {
      const links = {
        file: join(place.outside, "secret.txt"),
        relative: "../outside/secret.txt",
        folder: place.outside,
        chain: "folder",
        twice: "chain/../outside/secret.txt",
        up: "..",
        root: "/",
        hanging: join(place.outside, "new.txt"),
        loop: "loop",
      };
      for (const [name, target] of Object.entries(links)) await symlink(target, join(place.workdir, name));
      return { reached: () => outsideChanged(place) };
    },
    tries: [
      "await ctx.fs.readText('file')",
      "await ctx.fs.readText('relative')",
      "await ctx.fs.readText('folder/secret.txt')",
      "await ctx.fs.readText('chain/secret.txt')",
      { act: "await ctx.fs.readText('twice')", codes: ["permission_denied", "io_error"] },
      "await ctx.fs.readText('up/outside/secret.txt')",
      "await ctx.fs.readText('root/etc/passwd')",
      "await ctx.fs.list('folder')",
      "await ctx.fs.list('up')",
      "await ctx.fs.stat('folder/secret.txt')",
      "await ctx.fs.writeText('file', 'BREACH')",
      "await ctx.fs.writeText('folder/new.txt', 'BREACH')",
      "await ctx.fs.writeText('folder/deep/new.txt', 'BREACH')",
      { act: "await ctx.fs.writeText('hanging', 'BREACH')", codes: ["permission_denied", "io_error"] },
      "await ctx.fs.remove('folder/secret.txt')",
      { act: "await ctx.fs.readText('loop/x')", codes: ["io_error"] },
    ],
  }),
  {
    id: "G7",
    name: "swapped-folder",
    attack: "A folder is swapped for a link out of it, again and again, while it is read from and written to.",
    permissions: workdir,
    limits: { timeout_ms: 20_000 },
    stage: async (place) => {
      const stop = await swapForever(place);
      return { reached: () => outsideChanged(place), close: stop };
    },
    body: `
    let read = 0;
    // For a while: where the processors are busy, sixty turns can pass between two swaps.
    const end = Date.now() + 500;
    for (let turn = 0; turn < 60 || Date.now() < end; turn++) {
      const [text] = await Promise.all([
        ctx.fs.readText("swapped/secret.txt").catch((error) => error.code),
        ctx.fs.writeText("swapped/new.txt", String(turn)).catch(() => {}),
        ctx.fs.list("swapped").then((names) => names.includes("only-outside") ? ctx.log.error("listed") : 0, () => {}),
      ]);
      if (text === "inside") read += 1;
      if (text.startsWith("BREACH")) yield { type: "progress", message: text };
    }
    yield { type: "progress", message: "read " + read };`,
    expected: { kind: "harmless" },
    withinMs: 30_000,
  },
  refusedTries({
    id: "G8",
    name: "hard-link",
    attack: "Writes through a hard link to a file outside.",
    permissions: workdir,
    stage: async (place) => {
      await link(join(place.outside, "secret.txt"), join(place.workdir, "twin.txt"));
      return { reached: () => outsideChanged(place) };
    },
    tries: ["await ctx.fs.writeText('twin.txt', 'BREACH')"],
  }),
  refusedTries({
    id: "G9",
    name: "special-files",
    attack: "Reads and writes pipes, sockets, devices and folders as files, which could hang forever.",
    permissions: workdir,
    limits: { file_bytes: 1000, timeout_ms: 15_000 },
    stage: async (place) => {
      await makeFifo(join(place.workdir, "pipe"));
      await mkdir(join(place.workdir, "folder"));
      await symlink("/dev/zero", join(place.workdir, "zeros"));
      await writeFile(join(place.workdir, "big"), "x".repeat(1001));
      const close = await listenAt(join(place.workdir, "socket"));
      return { close };
    },
    tries: [
      { act: "await ctx.fs.readText('pipe')", codes: ["io_error"] },
      { act: "await ctx.fs.writeText('pipe', 'x')", codes: ["io_error"] },
      { act: "await Promise.all(Array.from({ length: 60 }, () => ctx.fs.readText('pipe')))", codes: ["io_error"] },
      { act: "await ctx.fs.readText('socket')", codes: ["io_error"] },
      { act: "await ctx.fs.writeText('socket', 'x')", codes: ["io_error"] },
      { act: "await ctx.fs.readText('folder')", codes: ["io_error"] },
      { act: "await ctx.fs.writeText('folder', 'x')", codes: ["io_error"] },
      { act: "await ctx.fs.list('pipe')", codes: ["io_error", "not_found"] },
      "await ctx.fs.readText('zeros')",
      { act: "await ctx.fs.readText('big')", codes: ["too_large"] },
      { act: "await ctx.fs.writeText('new', 'x'.repeat(1001))", codes: ["too_large"] },
    ],
  }),
  refusedTries({
    id: "G10",
    name: "host-state",
    attack: "Reads and changes the host's journal, its lock, another plugin's store and its own package.",
    permissions: everything,
    stage: (place) => Promise.resolve({ params: { package: place.package } }),
    tries: [
      "await ctx.fs.list('data:../..')",
      "await ctx.fs.readText('data:../../host-1/journal.db')",
      "await ctx.fs.readText('data:../../host-1/lock')",
      "await ctx.fs.writeText('data:../../host-1/lock', '1')",
      "await ctx.fs.remove('data:../../host-1/lock')",
      "await ctx.fs.readText('data:../attack-g10-other/kv.json')",
      "await ctx.fs.writeText('data:../attack-g10-other/kv.json', '{}')",
      "await ctx.fs.readText('data:kv.json')",
      "await ctx.fs.writeText('data:kv.json', '{}')",
      "await ctx.fs.writeText(stage.package + '/plugin.yaml', '{}')",
      "await ctx.fs.writeText(stage.package + '/mod.js', '')",
      "await ctx.fs.remove(stage.package + '/mod.js')",
      "await ctx.fs.writeText(stage.package + '/new.js', '')",
    ],
  }),
  refusedTries({
    id: "G11",
    name: "files-that-run",
    attack: "Writes files that git, shells, editors, package managers and the host act on by themselves.",
    permissions: { ...workdir, run: [{ binary: "acme-agent" }] },
    limits: { timeout_ms: 20_000 },
    stage: async (place) => {
      await mkdir(join(place.workdir, ".git", "hooks"), { recursive: true });
      await writeFile(join(place.workdir, ".git", "config"), "[core]\n");
      await symlink(".git", join(place.workdir, "harmless"));
      return { reached: () => gitChanged(place) };
    },
    tries: [
      ...autoexecFiles.map((path) => `await ctx.fs.writeText(${JSON.stringify(path)}, "BREACH")`),
      // The folder of a tool that the manifest itself names.
      "await ctx.fs.writeText('.acme-agent/settings.json', 'BREACH')",
      "await ctx.fs.writeText('harmless/config', 'BREACH')",
      "await ctx.fs.writeText('harmless/hooks/pre-commit', 'BREACH')",
      "await ctx.fs.remove('.git/config')",
      "await ctx.fs.remove('harmless/config')",
    ],
  }),
  refusedTries({
    id: "G11",
    name: "bare-repository",
    attack: "Makes a repository without .git, whose config names a program, and runs the harmless git status in it.",
    permissions: { ...workdir, run: [{ binary: "git", args: ["status"] }] },
    stage: async (place) => {
      const at = (...names: string[]) => join(place.workdir, ...names);
      // One that some program made, and two that lack one piece.
      for (const folder of ["whole", "headless", "refless", "common"]) {
        await mkdir(at(folder, "objects"), { recursive: true });
        if (folder !== "refless") await mkdir(at(folder, "refs"));
        if (folder !== "headless") await writeFile(at(folder, "HEAD"), "ref: refs/heads/main\n");
        await writeFile(at(folder, "config"), trap(place));
      }
      return { reached: () => trapped(place), params: { trap: trap(place) } };
    },
    prepare: `
    const ran = async (cwd) => {
      const child = await ctx.run("git", ["status"], { cwd });
      const { exit_code } = await child.exit;
      if (exit_code !== 0) throw Object.assign(new Error("git took it for no repository."), { code: "not_found" });
    };
    await ctx.fs.writeText("sub/config", stage.trap);
    await ctx.fs.writeText("sub/objects/x", "");
    await ctx.fs.writeText("sub/refs/x", "");`,
    tries: [
      "await ctx.fs.writeText('sub/HEAD', 'ref: refs/heads/main')",
      "await ctx.fs.writeText('sub/head', 'ref: refs/heads/main')",
      "await ctx.fs.writeText('HEAD', 'ref: refs/heads/main')",
      "await ctx.fs.writeText('headless/HEAD', 'ref: refs/heads/main')",
      "await ctx.fs.writeText('refless/refs/heads/x', '')",
      "await ctx.fs.writeText('refless/commondir', '../common')",
      "await ctx.fs.writeText('whole/config', stage.trap)",
      "await ctx.fs.writeText('whole/hooks/post-checkout', stage.trap)",
      "await ctx.temp.write('HEAD', 'ref: refs/heads/main')",
      { act: "await ran('sub')", codes: ["not_found", "binary_missing"] },
      { act: "await ran('whole')", codes: ["not_found", "binary_missing"] },
      { act: "await ran('headless')", codes: ["not_found", "binary_missing"] },
    ],
  }),
  refusedTries({
    id: "G11",
    name: "granted-repository",
    attack: "Writes the missing piece of a repository into the very folder that is granted.",
    stage: async (place) => {
      const root = join(place.outside, "root");
      await mkdir(join(root, "refs"), { recursive: true });
      await mkdir(join(root, "objects"));
      return { permissions: { write: [root] }, params: { root } };
    },
    tries: [
      "await ctx.fs.writeText(stage.root + '/HEAD', 'ref: refs/heads/main')",
    ],
  }),
  refusedTries({
    id: "G11",
    name: "planted-plugin",
    attack: "Lays a plugin where a host looks for plugins, with the id of another.",
    permissions: workdir,
    stage: async (place) => {
      await mkdir(join(place.workdir, "deep"));
      // A manifest of the project's own, which the next host that is started there reads.
      for (const folder of [place.workdir, join(place.workdir, "deep")]) {
        await writeFile(join(folder, "bulkhead.yaml"), "bulkhead: 1\n");
      }
      return {};
    },
    tries: [
      "await ctx.fs.writeText('plugins/other/plugin.yaml', 'id: other')",
      "await ctx.fs.writeText('Plugins/other/plugin.yaml', 'id: other')",
      "await ctx.fs.writeText('deep/plugins/other/plugin.yaml', 'id: other')",
      "await ctx.fs.writeText('node_modules/other/plugin.yaml', 'id: other')",
      "await ctx.fs.writeText('deep/node_modules/other/plugin.yaml', 'id: other')",
    ],
  }),
  refusedTries({
    id: "G12",
    name: "crowded-folder",
    attack: "Lists a folder with more entries than the host will hold.",
    permissions: workdir,
    limits: { dir_entries: 500, timeout_ms: 15_000 },
    stage: async (place) => {
      await mkdir(join(place.workdir, "crowd"));
      for (let index = 0; index <= 500; index++) await writeFile(join(place.workdir, "crowd", `f${index}`), "");
      return {};
    },
    tries: [
      { act: "await ctx.fs.list('crowd')", codes: ["limit_exceeded"] },
      {
        act: "await Promise.all(Array.from({ length: 60 }, () => ctx.fs.list('crowd')))",
        codes: ["limit_exceeded"],
      },
      { act: `await ctx.fs.readText("a/".repeat(2040))`, codes: ["not_found", "io_error"] },
    ],
  }),
  {
    id: "G12",
    name: "no-watcher",
    attack: "Looks for a way to watch files, which could use up the system's watchers.",
    permissions: workdir,
    body: `
    const found = [...Object.keys(ctx.fs), ...Object.keys(ctx)].filter((name) => /watch/i.test(name));
    if (found.length > 0) yield { type: "progress", message: "BREACH " + found.join() };`,
    expected: { kind: "harmless" },
    withinMs: 10_000,
  },
];

async function outsideChanged({ outside }: AttackPlace): Promise<string | null> {
  const names = (await readdir(outside)).filter((name) => name !== "only-outside");
  if (names.join() !== "secret.txt") return `The folder outside holds ${names.join()}.`;
  const text = await readFile(join(outside, "secret.txt"), "utf8");
  return text.includes("the content of a file outside") ? null : "The file outside was changed.";
}

/** A config of git's that leaves a file outside when git looks at the work tree. */
function trap({ outside }: AttackPlace): string {
  return `[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch ${join(outside, "trapped")}; false"\n`;
}

async function trapped({ outside }: AttackPlace): Promise<string | null> {
  return (await readdir(outside)).includes("trapped") ? "git ran the program that the config names." : null;
}

async function gitChanged({ workdir: folder }: AttackPlace): Promise<string | null> {
  const config = await readFile(join(folder, ".git", "config"), "utf8").catch(() => null);
  const names = (await readdir(folder)).sort().join();
  const hooks = await readdir(join(folder, ".git", "hooks"));
  if (config !== "[core]\n" || hooks.length > 0) return "The repository was changed.";
  return names === ".git,harmless" ? null : `The working directory holds ${names}.`;
}

/** Swaps `swapped` between a folder and a link to the folder outside until it is stopped. */
async function swapForever(place: AttackPlace): Promise<() => Promise<void>> {
  const at = (name: string) => join(place.workdir, name);
  await mkdir(at("swapped"));
  await writeFile(join(at("swapped"), "secret.txt"), "inside");
  await writeFile(join(place.outside, "only-outside"), "");
  let running = true;
  const move = (from: string, to: string) =>
    // A write between two steps makes the folder again: remove it, or nothing would be swapped any more.
    rename(at(from), at(to)).catch(() => rm(at("swapped"), { recursive: true, force: true })).catch(() => {});
  const swapping = (async () => {
    while (running) {
      await symlink(place.outside, at("link")).catch(() => {});
      await move("swapped", "folder");
      await move("link", "swapped");
      await move("swapped", "link");
      await move("folder", "swapped");
    }
  })();
  return async () => {
    running = false;
    await swapping;
  };
}
