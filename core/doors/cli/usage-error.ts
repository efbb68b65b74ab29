import type { Command, CommanderError } from "commander";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { nameOf } from "./program.ts";

/** Turns wrong usage into an error of ours, with a hint at the right help. */
export function usageError(error: CommanderError, program: Command, args: readonly string[]): BulkheadError {
  return movedCommand(args) ?? new BulkheadError("invalid_config", ...sentenceAndHint(error, commandOf(program, args)));
}

function sentenceAndHint(error: CommanderError, command: Command) {
  const help = `For its usage: ${nameOf(command)} --help`;
  const details = { usage: error.code };
  if (isHelp(error)) {
    const names = command.commands.map((one) => one.name()).join(", ");
    return [`Name a sub-command of "${nameOf(command)}": ${names}.`, { hint: help, details }] as const;
  }
  // Commander's messages begin with "error: " and put its suggestion in brackets on a second line.
  const [first = "", suggestion] = error.message.replace(/^error: /, "").split("\n");
  const message = first.charAt(0).toUpperCase() + first.slice(1);
  const hint = suggestion?.replace(/^\(|\)$/g, "") ?? help;
  return [message.endsWith(".") ? message : `${message}.`, { hint, details }] as const;
}

/** Whether commander showed help because a group was named without a sub-command. */
export function isHelp(error: CommanderError): boolean {
  return error.code === "commander.help";
}

/** The command that the words of a command line name, or its group where the next word names none. */
function commandOf(program: Command, args: readonly string[]): Command {
  return args.reduce((command, arg) => command.commands.find((one) => one.name() === arg) ?? command, program);
}

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
