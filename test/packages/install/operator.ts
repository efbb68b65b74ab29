import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterEveryFile } from "../../clean-up.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import type { PluginLock } from "../../../core/packages/manifest/lock-format.ts";
import { fakeTerminal } from "../../doors/cli/fake-terminal.ts";
import { packageOf } from "./tar-archive.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const program = "Deno" in globalThis
  ? ["run", "-A", join(root, "core/doors/cli/main.ts")]
  : [join(root, "dist/bundle/cli.js")];

/** What a command came to. */
export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** Somebody with a folder, a host manifest in it, and folders of their own for all that is installed and kept. */
export interface Operator {
  /** Where the commands run and bulkhead.yaml lies. */
  folder: string;
  /** Folder of all that is installed. */
  data: string;
  state: string;
  /** Folder of all that could be fetched again. */
  cache: string;
  /** Runs a command in this process. */
  bulkhead(...args: string[]): Promise<Ended>;
  /** Runs a command at a terminal, with these lines typed. */
  typing(lines: string, ...args: string[]): Promise<Ended>;
  /** Runs a command in a process of its own. */
  spawned(args: readonly string[], env?: Record<string, string>): Started;
  manifest(): Promise<string>;
  lock(): Promise<PluginLock>;
  /** Writes a file below the folder, and gives its path. */
  write(path: string, content: string | Uint8Array): Promise<string>;
}

/** A command that runs in a process of its own. */
export interface Started {
  pid: number;
  ended: Promise<Ended>;
}

const folders = ["XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"] as const;
const made: string[] = [];
afterEveryFile(async () => {
  // A run has none; later files of this process must not see those that are gone.
  for (const name of folders) delete process.env[name];
  await Promise.all(made.splice(0).map((folder) => rm(folder, { recursive: true, force: true, maxRetries: 3 })));
});

export async function newOperator(manifest = "# mine\nbulkhead: 1 # one\n"): Promise<Operator> {
  const home = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-install-")));
  made.push(home);
  const folder = join(home, "work");
  await mkdir(folder);
  await writeFile(join(folder, "bulkhead.yaml"), manifest);
  const own = {
    XDG_DATA_HOME: join(home, "data"),
    XDG_STATE_HOME: join(home, "state"),
    XDG_CACHE_HOME: join(home, "cache"),
    XDG_CONFIG_HOME: join(home, "config"),
  };
  // Whoever was made last runs commands in this process.
  const here = async (lines: string | null, args: string[]): Promise<Ended> => {
    Object.assign(process.env, own);
    const terminal = fakeTerminal({ args, cwd: folder, ...(lines === null ? {} : { tty: true, stdin: lines }) });
    const code = await runCli(terminal);
    return { code, out: terminal.out(), err: terminal.err() };
  };
  return {
    folder,
    data: join(home, "data/bulkhead"),
    state: join(home, "state/bulkhead"),
    cache: join(home, "cache/bulkhead"),
    bulkhead: (...args) => here(null, args),
    typing: (lines, ...args) => here(lines, args),
    spawned: (args, env = {}) => start(args, { cwd: folder, env: { ...own, ...env } }),
    manifest: () => readFile(join(folder, "bulkhead.yaml"), "utf8"),
    lock: async () => JSON.parse(await readFile(join(folder, "bulkhead.lock"), "utf8")),
    write: async (path, content) => {
      const file = join(folder, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
      return file;
    },
  };
}

function start(args: readonly string[], { cwd, env }: { cwd: string; env: Record<string, string> }): Started {
  const { PATH = "", HOME = "", DENO_DIR } = process.env;
  const child = spawn(process.execPath, [...program, ...args], {
    cwd,
    env: { PATH, HOME, ...(DENO_DIR === undefined ? {} : { DENO_DIR }), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (texts.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (texts.err += text));
  const ended = new Promise<Ended>((settle) => child.once("close", (code) => settle({ code, ...texts })));
  return { pid: child.pid ?? 0, ended };
}

/** What a plugin's package is made with. */
export interface Greeter {
  id?: string;
  version?: string;
  /** Lines of the manifest's `permissions`. */
  permissions?: readonly string[];
  /** Other lines of the manifest, in place of its own of that key. */
  lines?: Readonly<Record<string, string>>;
  /** What it says. */
  says?: string;
  /** The whole `package.json`; null: none. */
  packageJson?: Record<string, unknown> | null;
  files?: Readonly<Record<string, string | Uint8Array>>;
}

/** Files of a small plugin that greets. */
export function greeterFiles(greeter: Greeter = {}): Record<string, string | Uint8Array> {
  const { id = "greeter", version = "1.0.0", permissions = [], lines = {}, says = "Hello", files = {} } = greeter;
  const { packageJson = { name: `bulkhead-${id}`, version, type: "module", keywords: ["bulkhead-plugin"] } } = greeter;
  const keys: Record<string, string> = {
    manifest: "1",
    id,
    name: "Greeter",
    version,
    description: "Greets.",
    license: "MIT",
    host: "^1.0.0",
    adapter_type: "tool",
    entry: "./mod.ts",
    capabilities: "{}",
    ...lines,
  };
  const asked = permissions.length === 0 ? "" : `permissions:\n${permissions.map((line) => `  ${line}\n`).join("")}`;
  return {
    "plugin.yaml": `${Object.entries(keys).map(([key, value]) => `${key}: ${value}\n`).join("")}${asked}`,
    "mod.ts": `import { defineAdapter } from "bulkhead/plugin-sdk";
import { words } from "./words.ts";
export default defineAdapter({
  id: ${JSON.stringify(id)},
  name: "Greeter",
  version: ${JSON.stringify(version)},
  async *runSession(request, ctx) {
    yield { type: "output", stream: "stdout", data: words(request.prompt) };
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
  },
});
`,
    "words.ts": `export const words = (prompt: string): string => ${JSON.stringify(`${says}, `)} + prompt + "\\n";\n`,
    ...(packageJson === null ? {} : { "package.json": JSON.stringify(packageJson) }),
    ...files,
  };
}

/** The package of a small plugin, as an archive. */
export function greeterPackage(greeter: Greeter = {}): Uint8Array {
  return packageOf(greeterFiles(greeter));
}
