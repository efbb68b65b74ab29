import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";

/** The programs' home, for all cases, so that a session can be continued in a later one. */
export interface Home {
  path: string;
  /** Removes it and gives the process its own environment back. */
  remove(): Promise<void>;
}

/**
 * Puts the pinned programs first on the PATH and gives them a home of their own.
 * @throws {Error} when they are not installed
 */
export async function openHome({ more }: { more: boolean }): Promise<Home> {
  const install = fileURLToPath(new URL("../programs/install.mjs", import.meta.url));
  const asked = [install, "--where", ...(more ? ["--more"] : [])];
  const folders = (await promisify(execFile)("node", asked)).stdout.trim().split("\n");
  const programs = folders.map((folder) => join(folder, "node_modules", ".bin"));
  const before = new Map(["PATH", "HOME"].map((name) => [name, process.env[name]]));
  const path = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-agents-home-")));
  process.env["HOME"] = path;
  process.env["PATH"] = [...programs, before.get("PATH")].join(delimiter);
  return {
    path,
    async remove() {
      for (const [name, value] of before) value === undefined ? delete process.env[name] : process.env[name] = value;
      await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}

/** Folders of one case. */
export interface Place {
  root: string;
  /** A repository with one commit. */
  workdir: string;
}

/** Makes the folders of a case. */
export async function openPlace(): Promise<Place> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-agents-")));
  const workdir = join(root, "workdir");
  await writeInto(join(workdir, "README.md"), "A repository for a test.\n");
  const git = (...args: string[]) => promisify(execFile)("git", ["-C", workdir, ...args]);
  await git("init", "--quiet");
  await git("add", ".");
  await git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--message", "base");
  await writeInto(join(workdir, ".git", "info", "exclude"), `/${settingsName}/\n`);
  return { root, workdir };
}

const settingsName = "mock-settings";

/** A place for settings that a request names: a client may name none outside of the working directory. */
export function settingsFolder({ workdir }: Pick<Place, "workdir">, name: string): string {
  return join(workdir, settingsName, name);
}

/** Writes a file and the folders above it. */
export async function writeInto(file: string, content: unknown): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
}

/** A process that belongs to a case. */
export interface CaseProcess {
  pid: number;
  command: string;
}

/**
 * Processes of a case: their environment, arguments or working directory name one of its folders. Whatever a program of
 * it starts inherits the folder for temporary files, so it is found wherever it went.
 */
export async function processesOf({ root }: Pick<Place, "root">): Promise<CaseProcess[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(pids.map(async (pid): Promise<CaseProcess | null> => {
    const read = (name: string) => readFile(`/proc/${pid}/${name}`, "latin1").catch(() => "");
    const [command, environ, cwd] = await Promise.all([
      read("cmdline"),
      read("environ"),
      readlink(`/proc/${pid}/cwd`).catch(() => ""),
    ]);
    // The walls of one case name the sockets of all others, to hide them.
    const words = command.replaceAll(/--ro-bind\0\/dev\/null\0[^\0]*\0/g, "");
    const ofCase = cwd.startsWith(root) || environ.includes(root) || words.includes(root);
    return ofCase ? { pid: Number(pid), command: command.replaceAll("\0", " ").trim() } : null;
  }));
  return found.flatMap((one) => (one === null || one.command === "" ? [] : [one]));
}

/** Command lines of a case's processes that are alive for longer than a program may take to end. */
export async function leftBehind(place: Pick<Place, "root">, waitMs = 8000): Promise<string[]> {
  const end = performance.now() + waitMs;
  for (;;) {
    const alive = await processesOf(place);
    if (alive.length === 0 || performance.now() > end) return alive.map(({ command }) => command.slice(0, 200));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
