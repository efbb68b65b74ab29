import { CommanderError } from "commander";
import type { Host, HostOptions } from "../../sessions/host/host.ts";
import type { HostSeams } from "../../sessions/host/host-seams.ts";
import type { Terminal } from "../../ground/runtime/terminal.ts";
import { spelledOut } from "./aliases.ts";
import { createProgram } from "./program.ts";
import { reportError } from "./report-error.ts";
import { usageError } from "./usage-error.ts";

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
    else await program.parseAsync(terminal.args, { from: "user" });
    return exit.code;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    return await reportError(error instanceof CommanderError ? usageError(error, terminal) : error, terminal);
  }
}

/** Loads what makes a host, and makes one. */
export async function loadHost(options: HostOptions, seams?: HostSeams): Promise<Host> {
  const { createHost } = await import("../../sessions/host/create-host.ts");
  return await createHost(options, seams);
}
