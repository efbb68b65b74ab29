import type { CommanderError } from "commander";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Terminal } from "../../ground/runtime/terminal.ts";
import { commands } from "./commands.ts";

/** Turns wrong usage into an error of ours, with a hint at the right help. */
export function usageError(error: CommanderError, terminal: Terminal): BulkheadError {
  // Commander's messages begin with "error: " and put its suggestion in brackets on a second line.
  const [first = "", suggestion] = error.message.replace(/^error: /, "").split("\n");
  const message = first.charAt(0).toUpperCase() + first.slice(1);
  // The first word may be the value of a flag before the command.
  const name = terminal.args.find((arg) => commands.some((command) => command.name === arg));
  const help = `Run "bulkhead${name === undefined ? "" : ` help ${name}`}" for the usage.`;
  return new BulkheadError("invalid_config", message.endsWith(".") ? message : `${message}.`, {
    hint: suggestion === undefined ? help : suggestion.replace(/^\(|\)$/g, ""),
    details: { usage: error.code },
  });
}
