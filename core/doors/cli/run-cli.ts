import { type Command, CommanderError } from "commander";
import type { Host, HostOptions } from "../../sessions/host/host.ts";
import type { HostSeams } from "../../sessions/host/host-seams.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import type { Terminal } from "../../ground/runtime/terminal.ts";
import { createProgram } from "./program.ts";
import { reportError, wantsJson } from "./report-error.ts";
import { isHelp, usageError } from "./usage-error.ts";

/** Replacements for the collaborators of {@link runCli}. */
interface CliOptions {
  createHost?: (options: HostOptions, seams?: HostSeams) => Promise<Host>;
}

/** Exit code when the reader of the output goes away, as a shell reports SIGPIPE. */
const readerGone = 141;

/** Runs the command that the terminal's arguments name and returns the exit code. Never rejects. */
export async function runCli(opened: Terminal, { createHost = loadHost }: CliOptions = {}): Promise<number> {
  const terminal = { ...opened, args: spelledOut(opened.args) };
  const code = await run(terminal, createHost);
  await terminal.stdout.flush();
  await terminal.stderr.flush();
  return terminal.stdout.closed.aborted ? readerGone : code;
}

async function run(terminal: Terminal, createHost: NonNullable<CliOptions["createHost"]>): Promise<number> {
  const exit = { code: 0 };
  try {
    const program = await createProgram({ terminal, createHost, exit });
    if (terminal.args.length === 0) program.outputHelp();
    else await parse(program, terminal);
    return exit.code;
  } catch (error) {
    if (!(error instanceof CommanderError)) return await reportError(error, terminal);
    return error.exitCode === 0 ? 0 : errorTable.invalid_config.exit_code;
  }
}

/** Runs the command. What commander throws on purpose passes; of wrong usage it makes an error of ours. */
async function parse(program: Command, { args }: Terminal): Promise<void> {
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError) || error.exitCode === 0) throw error;
    // A person reads the help that was shown.
    throw isHelp(error) && !wantsJson(args) ? error : usageError(error, program, args);
  }
}

/** Loads what makes a host, and makes one. */
export async function loadHost(options: HostOptions, seams?: HostSeams): Promise<Host> {
  const { createHost } = await import("../../sessions/host/create-host.ts");
  return await createHost(options, seams);
}

/** Short forms of the first word of a command line, and what they stand for. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  "ls": ["session", "list"],
  "ps": ["session", "list", "--state", "running"],
  "version": ["--version"],
  "-v": ["--version"],
};

/** Spells out a short form at the beginning of a command line. */
function spelledOut(args: readonly string[]): readonly string[] {
  const [first = "", ...rest] = args;
  const alias = Object.hasOwn(aliases, first) ? aliases[first] : undefined;
  return alias === undefined ? args : [...alias, ...rest];
}
