import type { AdapterContext, ProcessExit, RunningProcess } from "./context.ts";
import { BulkheadError } from "./errors.ts";
import { splitText } from "./lines.ts";
import { omitUndefined } from "./optional-fields.ts";

/** A program to start, without a shell. */
export interface CliCommand {
  /** Program, as the run permission names it. */
  binary: string;
  args: readonly string[];
  env?: Record<string, string> | undefined;
  /** Folder inside the working directory; default: the working directory. */
  cwd?: string | undefined;
  /** As of `ctx.run`. */
  streams?: "pipes" | "sockets" | undefined;
  /** Text for standard input, which is then closed. Absent: standard input is closed from the start. */
  stdin?: string | undefined;
  /**
   * Keeps standard input open after that text, for an adapter that answers its program while it runs and closes it
   * itself.
   */
  keep_stdin_open?: boolean | undefined;
}

/** Output and exit of a short program. */
export interface CollectedOutput extends ProcessExit {
  stdout: string;
  stderr: string;
}

// Stays below a frame's default size even if every character takes three bytes.
const writeLength = 256 * 1024;

/**
 * Starts a command.
 * @throws {BulkheadError} `permission_denied`, `binary_missing`, `limit_exceeded`
 */
export function startCommand(command: CliCommand, ctx: AdapterContext): Promise<RunningProcess> {
  return ctx.run(command.binary, command.args, {
    ...omitUndefined({ env: command.env, cwd: command.cwd, streams: command.streams }),
    stdin: command.stdin === undefined ? "closed" : "open",
  });
}

/**
 * Writes the text to standard input and closes it, unless it must stay open. Run it in parallel with reading: a program
 * may print before it has read everything. Never rejects, because a program need not read its input: its exit tells
 * whether that was an error.
 */
export async function feedStdin(
  child: RunningProcess,
  text: string,
  options: Pick<CliCommand, "keep_stdin_open"> = {},
): Promise<void> {
  try {
    for (const part of splitText(text, writeLength)) await child.stdin.write(part);
    if (!options.keep_stdin_open) await child.stdin.close();
  } catch {
    // The program has closed its input or is gone.
  }
}

/**
 * Runs a short program, such as one that prints its version, to its end, and keeps the first `limit` UTF-16 units of
 * each output (default 64 Ki).
 * @throws {BulkheadError} as {@link startCommand}
 */
export async function collectOutput(
  command: CliCommand,
  ctx: AdapterContext,
  options: { limit?: number } = {},
): Promise<CollectedOutput> {
  const { limit = 64 * 1024 } = options;
  const child = await startCommand(command, ctx);
  const fed = command.stdin === undefined ? undefined : feedStdin(child, command.stdin);
  const [stdout, stderr, exit] = await Promise.all([
    readUpTo(child.stdout, limit),
    readUpTo(child.stderr, limit),
    child.exit,
  ]);
  await fed;
  return { stdout, stderr, exit_code: exit.exit_code, signal: exit.signal };
}

/**
 * Runs a program that prints its version, such as `git --version`, and returns the first text that looks like one;
 * null: it printed none.
 * @throws {BulkheadError} `unavailable` if the program fails
 */
export async function askVersion(command: CliCommand, ctx: AdapterContext): Promise<string | null> {
  const { stdout, stderr, exit_code } = await collectOutput(command, ctx);
  if (exit_code === 0) return /\d+\.\d+\.\d+[\w.+-]*/.exec(stdout)?.[0] ?? null;
  const asked = [command.binary, ...command.args ?? []].join(" ");
  throw new BulkheadError("unavailable", `${asked} failed: ${(stderr || stdout).trim().slice(0, 512)}`);
}

/** Closes a stream that may never have been read; its program can end only when both of its outputs are closed. */
export async function leaveStream(stream: AsyncIterable<string>): Promise<void> {
  try {
    await stream[Symbol.asyncIterator]().return?.();
  } catch {
    // It was read already: a stream can be read only once.
  }
}

/** Reads to the end, so that the program can print everything, and keeps the beginning. */
async function readUpTo(pieces: AsyncIterable<string>, maxLength: number): Promise<string> {
  let text = "";
  for await (const piece of pieces) {
    if (text.length < maxLength) text += piece.slice(0, maxLength - text.length);
  }
  return text;
}
