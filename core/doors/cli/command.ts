import type { Command } from "commander";
import type { Host, HostOptions } from "../../sessions/host/host.ts";
import type { HostSeams } from "../../sessions/host/host-seams.ts";
import type { Terminal } from "../../ground/platform/terminal/terminal.ts";

/** Input of a command: its arguments, its flags and the terminal. */
export interface Invocation {
  terminal: Terminal;
  /** Positional arguments in the order of the usage line; undefined for one left out. */
  args: readonly (string | undefined)[];
  /** Values of the command's own flags, by commander's names. */
  options: Readonly<Record<string, unknown>>;
  /** Flags that every command has. */
  json: boolean;
  configFile: string | undefined;
  stateDir: string | undefined;
  /** Run in this process, even where a daemon runs. */
  embedded: boolean;
  createHost(options: HostOptions, seams?: HostSeams): Promise<Host>;
  /** The whole program, with every command loaded: for completion. */
  wholeProgram(): Promise<Command>;
}

/** Does a command's work and returns the exit code. */
export type CommandHandler = (invocation: Invocation) => Promise<number>;

/** Adapts a handler to commander's calling convention. */
export type Bind = (handler: CommandHandler) => (...values: unknown[]) => Promise<void>;

/** Adds arguments, flags, examples and handler (or sub-commands) to a command that already has its name and summary. */
export type DefineCommand = (command: Command, bind: Bind) => void;

/** One command of the program. Its module is loaded only when the command is called. */
export interface CommandEntry {
  name: string;
  summary: string;
  /** Left out of the help text: for scripts. */
  hidden?: true;
  load(): Promise<DefineCommand>;
}

/** Arguments of `addHelpText` for a command's examples. Each line is a command and, after two blanks, why. */
export function examples(...lines: readonly (readonly [command: string, why: string])[]): ["after", string] {
  const width = Math.max(...lines.map(([command]) => command.length));
  const text = lines.map(([command, why]) => `  ${command.padEnd(width)}  ${why}`).join("\n");
  return ["after", `\nExamples:\n${text}`];
}

/** Prints a command's answer, a line of JSON with `--json` and else the text. Returns the exit code 0. */
export async function tell({ terminal, json }: Invocation, data: unknown, text: string): Promise<number> {
  await terminal.stdout.write(`${json ? JSON.stringify(data) : text}\n`);
  return 0;
}

/** Prints rows, with `--json` one a line, and else the text that is made of them. Returns the exit code 0. */
export async function tellEach(
  { terminal, json }: Invocation,
  rows: readonly unknown[],
  text: () => string,
): Promise<number> {
  await terminal.stdout.write(json ? rows.map((row) => `${JSON.stringify(row)}\n`).join("") : `${text()}\n`);
  return 0;
}

/** Command lines that people try, by the one way that there is here. */
export const movedCommands: Readonly<Record<string, string>> = {
  "exit-codes": "bulkhead help errors",
  "config schema": "bulkhead schema host",
};
