import { Command } from "commander";
import type { Host, HostOptions } from "../../sessions/host/host.ts";
import type { HostSeams } from "../../sessions/host/host-seams.ts";
import { hostBuild } from "../../ground/config/version.ts";
import type { Terminal } from "../../ground/platform/terminal/terminal.ts";
import { type Bind, type CommandEntry, type CommandHandler, examples, type Invocation } from "./command.ts";
import { commandGroups } from "./commands.ts";
import { isPlain } from "./render/paint.ts";
import { jsonTerminal, wantsJson } from "./report-error.ts";
import { fitHelp } from "./render/text-width.ts";
import { asTyped } from "./render/as-typed.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";

interface ProgramOptions {
  terminal: Terminal;
  createHost(options: HostOptions, seams?: HostSeams): Promise<Host>;
  /** Receives the exit code of the command that ran. */
  exit: { code: number };
  /** Load every command, even those that are not called: for completion. */
  whole?: boolean;
}

/** Creates the command line, with the modules of named commands alone. Parsing throws `CommanderError`, as for help. */
export async function createProgram(options: ProgramOptions): Promise<Command> {
  const { terminal, whole = false } = options;
  const program = new Command("bulkhead")
    .description("A plugin host for AI-agent adapters that can neither crash nor rob it.")
    .version(hostBuild, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .configureHelp({ minWidthToWrap: 20 })
    .helpCommand(false)
    .option("--json", "print JSON, one value a line")
    .option("--no-color", "print without colours, as with NO_COLOR=1")
    .option("--plain", "print words for signs, and nothing that moves, as with BULKHEAD_PLAIN=1")
    .option("--config <file>", "the host manifest; default: bulkhead.yaml here or above")
    .option("--state-dir <folder>", "where journal and state are kept")
    .option("--embedded", "run in this process, also where a daemon runs")
    .addHelpText(...examples(
      ["bulkhead demo", "see it work in seconds"],
      ["bulkhead setup", "find the agents of this machine and run a first session"],
      ['bulkhead run my-agent "Fix the failing test"', "run one session of an agent that setup has enabled"],
      ["bulkhead start", "run the daemon in the background"],
      ["bulkhead help permissions", "read a page of the documentation; bulkhead help lists them"],
    ));
  const bind = createBind(options, program);
  prepare(program, terminal);
  for (const { heading, commands } of commandGroups) {
    for (const entry of commands) {
      const command = program.command(entry.name, { hidden: entry.hidden ?? false }).description(entry.summary)
        .helpGroup(`${heading}:`);
      if (whole || terminal.args.includes(entry.name)) await define(command, { entry, bind });
      prepareAll(command, terminal);
      tellGlobalFlags(command);
    }
  }
  return program;
}

async function define(command: Command, { entry, bind }: { entry: CommandEntry; bind: Bind }): Promise<void> {
  (await entry.load())(command, bind);
}

/** Names the flags of the program where they are not listed. */
function tellGlobalFlags(command: Command): void {
  command.addHelpText(
    "after",
    "\nEvery command also takes --json, --no-color, --plain, --config, --state-dir and --embedded.",
  );
  command.commands.forEach(tellGlobalFlags);
}

function prepareAll(command: Command, terminal: Terminal): void {
  prepare(command, terminal);
  for (const child of command.commands) prepareAll(child, terminal);
}

function prepare(command: Command, terminal: Terminal): void {
  const columns = Math.min(terminal.stdout.columns || 100, 120);
  const write = (text: string) => void terminal.stdout.write(asTyped(fitHelp(text, columns)));
  command
    .exitOverride()
    .helpOption("-h, --help", "show help")
    .configureOutput({
      writeOut: write,
      // The help of a group that was named without a sub-command; JSON has the error alone.
      writeErr: wantsJson(terminal.args) ? () => {} : write,
      // The thrown error says the same and is reported once, in one place.
      outputError: () => {},
      getOutHelpWidth: () => columns,
      getErrHelpWidth: () => columns,
      getOutHasColors: () => terminal.colours.stdout === true,
      getErrHasColors: () => terminal.colours.stdout === true,
    });
}

/** Returns the words of a command, such as `bulkhead session apply`. */
export function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

function createBind(options: ProgramOptions, program: Command): Bind {
  const { terminal, createHost, exit } = options;
  return (handler) => async (...values) => {
    const command = values.at(-1);
    if (!(command instanceof Command)) throw new TypeError("A command's handler was called without its command.");
    const { json, config, stateDir, embedded, color } = program.opts<
      { json?: boolean; config?: string; stateDir?: string; embedded?: boolean; color: boolean }
    >();
    const shown = color || isPlain(terminal) ? terminal : { ...terminal, colours: { stdout: false, stderr: false } };
    exit.code = await accepting(handler)({
      terminal: json === true ? jsonTerminal(shown) : shown,
      // A last argument that takes several words is a list.
      args: values.slice(0, -2).flat().map((value) => typeof value === "string" ? value : undefined),
      options: command.opts(),
      json: json ?? false,
      configFile: config,
      stateDir,
      embedded: embedded ?? false,
      createHost: (options, seams) => createHost({ program: nameOf(command), ...options }, seams),
      wholeProgram: () => createProgram({ ...options, exit: { code: 0 }, whole: true }),
    });
  };
}

/** Wraps a command: where a file changed while an agent could write it, the person decides, and it begins again. */
function accepting(handler: CommandHandler): CommandHandler {
  return async (call) => {
    for (;;) {
      try {
        return await handler(call);
      } catch (error) {
        if (!(error instanceof BulkheadError) || error.code !== "unaccepted_change") throw error;
        if (!(await isAccepted(error, call))) throw error;
      }
    }
  };
}

async function isAccepted({ details }: BulkheadError, { terminal, json }: Invocation): Promise<boolean> {
  const path = details?.["path"];
  if (typeof path !== "string" || json) return false;
  const { Questions } = await import("./questions.ts");
  if (!Questions.possible(terminal)) return false;
  const [{ changeAt }, { acceptChange }] = await Promise.all([
    import("../../ground/recorded/demand-recorded.ts"),
    import("../../ground/recorded/accept-change.ts"),
  ]);
  // Only what is found here and now is shown and accepted, whatever the error says.
  const change = await changeAt(path);
  if (change === null) return false;
  const { digest, difference } = change.details as { digest: string; difference: string[] };
  const question = [change.message, ...difference.map((line) => `  ${line}`), "Did you, or a tool of yours, do that?"];
  const answer = await new Questions(terminal).choose(question.join("\n"), {
    choices: [{ word: "accept", value: true }, { word: "no", value: false }],
  });
  if (answer === true) await acceptChange(path, digest);
  return answer === true;
}
