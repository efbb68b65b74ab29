import { type Command, CommanderError } from "commander";
import type { Host, HostOptions } from "../../sessions/host/host.ts";
import type { HostSeams } from "../../sessions/host/host-seams.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import { type Terminal, wantsPlain } from "../../ground/platform/terminal/terminal.ts";
import { movedCommands } from "./command.ts";
import { asTyped } from "./render/as-typed.ts";
import { createProgram, nameOf } from "./program.ts";
import { reportError, wantsJson } from "./report-error.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";

/** Replacements for the collaborators of {@link runCli}. */
interface CliOptions {
  createHost?: (options: HostOptions, seams?: HostSeams) => Promise<Host>;
}

/** Exit code when the reader of the output goes away, as a shell reports SIGPIPE. */
const readerGone = 141;

/** Runs the command that the terminal's arguments name and returns the exit code. Never rejects. */
export async function runCli(opened: Terminal, { createHost = loadHost }: CliOptions = {}): Promise<number> {
  const args = spelledOut(opened.args);
  const plain: Pick<Terminal, "colours"> = { colours: { stdout: "plain", stderr: "plain" } };
  const terminal = { ...opened, args, ...(wantsPlain({ args, env: opened.env }) ? plain : {}) };
  const code = await run(terminal, createHost);
  await terminal.stdout.flush();
  await terminal.stderr.flush();
  return terminal.stdout.closed.aborted ? readerGone : code;
}

async function run(terminal: Terminal, createHost: NonNullable<CliOptions["createHost"]>): Promise<number> {
  const exit = { code: 0 };
  try {
    const program = await createProgram({ terminal, createHost, exit });
    const place = placeAlone(terminal.args);
    const state = place !== null && terminal.stdout.isTty ? await stateHere(terminal, place) : "";
    if (state !== "") await terminal.stdout.write(asTyped(state));
    else if (terminal.args.length === 0) program.outputHelp();
    else await parse(program, terminal);
    return exit.code;
  } catch (error) {
    if (!(error instanceof CommanderError)) return await reportError(error, terminal);
    return error.exitCode === 0 ? 0 : errorTable.invalid_config.exit_code;
  }
}

/** Returns the state for a person with a daemon, which the whole help would push off the screen; else nothing. */
async function stateHere(terminal: Terminal, { config, stateDir }: Place): Promise<string> {
  const { stateNow } = await import("./commands/state-now.ts");
  return await stateNow({ terminal, configFile: config, stateDir });
}

type Place = { [flag in "config" | "stateDir"]?: string };

/** Returns the place that a command line names, if it names nothing else but looks; null if it does. */
function placeAlone(args: readonly string[]): Place | null {
  const looks = args.filter((arg) => arg === "--plain" || arg === "--no-color").length;
  const flag = (name: string) => args.includes(name) ? args[args.indexOf(name) + 1] : undefined;
  const [config, stateDir] = [flag("--config"), flag("--state-dir")];
  const place: Place = { ...(config === undefined ? {} : { config }), ...(stateDir === undefined ? {} : { stateDir }) };
  return args.length === looks + 2 * Object.keys(place).length ? place : null;
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

/** Turns wrong usage into an error of ours, with a hint at the right help. */
function usageError(error: CommanderError, program: Command, args: readonly string[]): BulkheadError {
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
  const isArgument = command.registeredArguments.some((one) => ["prompt", "text"].includes(one.name())) &&
    /'(?:-a|--agent|-p|--prompt)(?:=|')/.test(first);
  const hint = isArgument
    ? `The prompt is an argument: ${nameOf(command)} ${command.usage()}`
    : suggestion?.replace(/^\(|\)$/g, "") ?? help;
  return [message.endsWith(".") ? message : `${message}.`, { hint, details }] as const;
}

/** Whether commander showed help because a group was named without a sub-command. */
function isHelp(error: CommanderError): boolean {
  return error.code === "commander.help";
}

/** The command that the words of a command line name, or its group where the next word names none. */
function commandOf(program: Command, args: readonly string[]): Command {
  return args.reduce(
    (command, arg) => command.commands.find((one) => one.name() === arg || one.aliases().includes(arg)) ?? command,
    program,
  );
}

/** The error for a command that people try and that has another name here. */
function movedCommand(args: readonly string[]): BulkheadError | null {
  const [first = "", named] = args;
  for (const [words, hint] of Object.entries(movedCommands)) {
    if (args.slice(0, words.split(" ").length).join(" ") !== words) continue;
    return new BulkheadError("invalid_config", `There is no command "${words}".`, { hint });
  }
  if (first !== "install" && first !== "uninstall") return null;
  const isPlugin = named !== undefined && !named.startsWith("-");
  const verb = first === "install" ? "add" : "remove";
  return new BulkheadError("invalid_config", `There is no command "${first}".`, {
    hint: isPlugin
      ? `To ${first} a plugin: bulkhead plugin ${verb} ${named}`
      : `For the daemon: bulkhead service ${first}`,
  });
}
