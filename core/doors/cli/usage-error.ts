import type { CommanderError } from "commander";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Terminal } from "../../ground/runtime/terminal.ts";
import { commands } from "./commands.ts";

/** Turns wrong usage into an error of ours, with a hint at the right help. */
export function usageError(error: CommanderError, terminal: Terminal): BulkheadError {
  // Commander's messages begin with "error: " and put its suggestion in brackets on a second line.
  const [first = "", suggestion] = error.message.replace(/^error: /, "").split("\n");
  const message = first.charAt(0).toUpperCase() + first.slice(1);
  const help = `For its usage: bulkhead ${[...commandWords(terminal.args), "--help"].join(" ")}`;
  const moved = movedCommand(terminal.args);
  if (moved !== null) return moved;
  return new BulkheadError("invalid_config", message.endsWith(".") ? message : `${message}.`, {
    hint: suggestion === undefined ? help : suggestion.replace(/^\(|\)$/g, ""),
    details: { usage: error.code },
  });
}

/** The words of the command line that name a command; the first may be the value of a flag before the command. */
function commandWords(args: readonly string[]): string[] {
  const at = args.findIndex((arg) => commands.some((command) => command.name === arg));
  if (at < 0) return [];
  const [name = "", sub = ""] = args.slice(at);
  return groups.has(name) && /^[a-z]/.test(sub) ? [name, sub] : [name];
}

/** Commands that have sub-commands. */
const groups: ReadonlySet<string> = new Set(["plugin", "session", "journal", "secret", "token", "config", "service"]);

/** The error for a command that people try and that has another name here. */
function movedCommand(args: readonly string[]): BulkheadError | null {
  const [first = "", named] = args;
  if (first !== "install" && first !== "uninstall") return null;
  const isPlugin = named !== undefined && !named.startsWith("-");
  const verb = first === "install" ? "add" : "remove";
  return new BulkheadError("invalid_config", `There is no command "${first}".`, {
    hint: isPlugin
      ? `To ${first} a plugin: bulkhead plugin ${verb} ${named}`
      : `For the daemon: bulkhead service ${first}`,
  });
}
