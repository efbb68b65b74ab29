import { CommanderError } from "commander";
import { BulkheadError, type ErrorData } from "../../../plugin-sdk/errors.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import { toBulkheadError } from "../../ground/errors/to-error-data.ts";
import type { Terminal } from "../../ground/runtime/terminal.ts";
import { commands } from "./commands.ts";
import { pageOfError } from "./help-pages.ts";
import { jsonTerminal } from "./json-terminal.ts";
import { safeText } from "./render/agent-text.ts";
import { createPaint } from "./render/paint.ts";

/** Prints an error as a sentence and a hint on standard error, with `--json` as a line of JSON, and gives the exit code. */
export async function reportError(thrown: unknown, terminal: Terminal): Promise<number> {
  const error = thrown instanceof CommanderError ? usageError(thrown, terminal) : toBulkheadError(thrown);
  const data = error.toJSON();
  if (wantsJson(terminal.args)) {
    await jsonTerminal(terminal).stdout.write(`${JSON.stringify({ error: data })}\n`);
  }
  await terminal.stderr.write(errorText(data, terminal.colours.stderr));
  if (error.code === "internal" && terminal.env("BULKHEAD_DEBUG") && error.cause instanceof Error) {
    await terminal.stderr.write(`${safeText(error.cause.stack ?? "")}\n`);
  }
  return errorTable[error.code].exit_code;
}

/** An error as lines for people. */
export function errorText(error: ErrorData, colours: boolean): string {
  const paint = createPaint(colours);
  // Wrong usage of a command is explained by its own help.
  const page = error.details?.["usage"] === undefined ? pageOfError[error.code] : undefined;
  const below = [error.hint, page === undefined ? undefined : `More: bulkhead help ${page}`];
  const lines = below.flatMap((line) => line === undefined ? [] : [`${paint("dim", `  ${safeText(line)}`)}\n`]);
  return `${paint("red", "error:")} ${safeText(error.message)}\n${lines.join("")}`;
}

function usageError(error: CommanderError, terminal: Terminal): BulkheadError {
  // Commander's messages begin with "error: " and put its suggestion in brackets on a second line.
  const [first = "", suggestion] = error.message.replace(/^error: /, "").split("\n");
  const message = first.charAt(0).toUpperCase() + first.slice(1);
  // The first word may be the value of a flag that stands before the command.
  const name = terminal.args.find((arg) => commands.some((command) => command.name === arg));
  const help = `Run "bulkhead${name === undefined ? "" : ` help ${name}`}" for the usage.`;
  return new BulkheadError("invalid_config", message.endsWith(".") ? message : `${message}.`, {
    hint: suggestion === undefined ? help : suggestion.replace(/^\(|\)$/g, ""),
    details: { usage: error.code },
  });
}

function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end === -1 ? args.length : end).includes("--json");
}
