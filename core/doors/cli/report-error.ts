import { type TextSink, throughWrite } from "../../ground/platform/terminal/standard-streams.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import { toBulkheadError } from "../../ground/errors/to-error-data.ts";
import type { Terminal } from "../../ground/platform/terminal/terminal.ts";
import { safeText } from "./render/agent-text.ts";
import { tellError } from "./render/error-text.ts";
import { cleanJson } from "../../ground/log/terminal-text.ts";

/** Prints an error on standard error as a sentence and a hint, or with `--json` as JSON, and returns the exit code. */
export async function reportError(thrown: unknown, terminal: Terminal): Promise<number> {
  const error = toBulkheadError(thrown);
  const data = error.toJSON();
  if (wantsJson(terminal.args)) {
    await jsonTerminal(terminal).stdout.write(`${JSON.stringify({ error: data })}\n`);
  }
  await tellError(data, terminal);
  if (error.code === "internal" && terminal.env("BULKHEAD_DEBUG") && error.cause instanceof Error) {
    await terminal.stderr.write(`${safeText(error.cause.stack ?? "")}\n`);
  }
  return errorTable[error.code].exit_code;
}

/** Whether the arguments ask for JSON; known before they are parsed. */
export function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end === -1 ? args.length : end).includes("--json");
}

/**
 * Wraps the terminal of a command that prints JSON. All its output passes here, so no command can forget it: characters
 * that a terminal would obey, or that could deceive a reader, become JSON escapes, and a program reads the same values.
 */
export function jsonTerminal(terminal: Terminal): Terminal {
  const { stdout } = terminal;
  const write: TextSink["write"] = (text) => stdout.write(typeof text === "string" ? cleanJson(text) : text);
  return { ...terminal, stdout: throughWrite(stdout, write) };
}
