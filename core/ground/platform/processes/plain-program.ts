import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { joinBytes } from "../files/join-bytes.ts";
import { launch, type LaunchedProgram } from "./launcher.ts";
import type { Command } from "../os-walls/os-wall.ts";

/** Result of {@link runPlainProgram}. */
interface PlainOutcome {
  /** Null when a signal ended it. */
  exit_code: number | null;
  /** At most the first MiB of each. */
  stdout: string;
  stderr: string;
}

const mostBytes = 1024 * 1024;

/**
 * Starts a program of the system without walls, by the launcher where there is one.
 * @throws {Error} with the system's code when it cannot be started
 */
export async function startPlainProgram(
  command: Command,
  options: { stdin: "open" | "closed"; endsWithHost?: boolean },
): Promise<LaunchedProgram> {
  return await launch(command, options) ?? await startHere(command);
}

/**
 * Runs a program of the system to its end, in the language `C`. It goes on when the host ends.
 * @throws {Error} with the system's code when it cannot be started
 */
export async function runPlainProgram(file: string, args: readonly string[]): Promise<PlainOutcome> {
  const command = { file, args: [...args], cwd: "/", env: { LC_ALL: "C" } };
  const program = await startPlainProgram(command, { stdin: "closed" });
  program.stdin?.end();
  const [stdout, stderr, { exit_code }] = await Promise.all([
    textOf(program.stdout),
    textOf(program.stderr),
    program.exited,
  ]);
  return { exit_code, stdout, stderr };
}

/** Starts a program as a child of this process. */
async function startHere({ file, args, cwd, env }: Command): Promise<LaunchedProgram> {
  const child = spawn(file, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
  const exited = new Promise<Awaited<LaunchedProgram["exited"]>>((resolve) => {
    child.on("exit", (exit_code, signal) => resolve({ exit_code, signal }));
  });
  const started = new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  const { stdin, stdout, stderr } = child;
  await started;
  stdin.on("error", () => undefined);
  return { pid: child.pid!, stdin, stdout, stderr, exited };
}

function textOf(stream: Readable): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  return new Promise((resolve) => {
    stream.on("data", (chunk: Uint8Array) => {
      if (bytes < mostBytes) chunks.push(chunk);
      bytes += chunk.byteLength;
    });
    stream.on("error", () => undefined);
    stream.once("close", () => resolve(new TextDecoder().decode(joinBytes(chunks)).slice(0, mostBytes)));
  });
}
