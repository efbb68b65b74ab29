import { Argument, type Command, type Option } from "commander";
import { unlessAborted } from "../../../ground/platform/engine/within.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { helpPages } from "../help-pages.ts";
import { openPlugins } from "../open-plugins.ts";
import { daemonFor, openSessions } from "../open-sessions.ts";
import { shortId } from "../../../ground/log/short-id.ts";

/** Longest wait of a shell for the words; a slow machine gets none. Milliseconds. */
const patienceMs = 2000;
const shownSessions = 50;

/** `bulkhead complete <words…>`: candidates for the last word. For the scripts of `completion`. */
export const defineComplete: DefineCommand = (command, bind) => {
  command
    .argument("[words...]", "the words of the command line, the last one unfinished")
    .allowUnknownOption()
    .action(bind(complete));
};

async function complete(call: Invocation): Promise<number> {
  // After "--", so that no flag of the line is one of this command.
  const typed = call.args.map((word) => word ?? "");
  const found = await unlessAborted(candidates(call, typed), AbortSignal.timeout(patienceMs)).catch(() => []);
  const begin = typed.at(-1) ?? "";
  const fitting = [...new Set(found)].filter((word) => word.startsWith(begin));
  await call.terminal.stdout.write(fitting.map((word) => `${word}\n`).join(""));
  return 0;
}

/** A place in a command line that a word is wanted for. */
interface Place {
  command: Command;
  /** The option whose value is wanted; null for an argument or a flag. */
  option: Option | null;
  /** The argument that is wanted; null where none is. */
  argument: Argument | null;
  /** Words before it that are arguments, or no command. */
  given: number;
}

async function candidates(call: Invocation, typed: readonly string[]): Promise<string[]> {
  const { command, option, argument, given } = placeOf(await call.wholeProgram(), typed.slice(0, -1));
  if (option !== null) return option.argChoices ?? await valuesOf(call, option.long ?? "");
  if (typed.at(-1)?.startsWith("-")) return flagsOf(command);
  const children = command.commands.filter((child) => child.name() !== "complete").map((child) => child.name());
  if (children.length > 0) return given === 0 ? children : [];
  if (command.name() === "help") {
    return [...command.parent?.commands.map((child) => child.name()) ?? [], ...Object.keys(helpPages)];
  }
  return argument === null ? [] : argument.argChoices ?? await argumentsOf(call, { command, argument });
}

function placeOf(program: Command, words: readonly string[]): Place {
  let command = program;
  let option: Option | null = null;
  let given = 0;
  for (const word of words) {
    const wanted: Option | null = option;
    option = null;
    if (wanted !== null) continue;
    if (word.startsWith("-")) {
      const known = [...command.options, ...program.options].find((one) => one.long === word || one.short === word);
      option = known !== undefined && known.required ? known : null;
      continue;
    }
    const child = command.commands.find((one) => one.name() === word);
    if (child === undefined) given += 1;
    else command = child;
  }
  const { registeredArguments } = command;
  const last = registeredArguments.at(-1);
  return { command, option, argument: registeredArguments[given] ?? (last?.variadic === true ? last : null), given };
}

function flagsOf(command: Command): string[] {
  const all: Option[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) all.push(...at.options);
  return [...all.flatMap(({ long }) => long ?? []), "--help"];
}

async function valuesOf(call: Invocation, flag: string): Promise<string[]> {
  return ["--agent", "--agents", "--adapter"].includes(flag) ? await pluginIds(call) : [];
}

async function argumentsOf(
  call: Invocation,
  { command, argument }: { command: Command; argument: Argument },
): Promise<string[]> {
  const group = command.parent?.name();
  if (argument.name() === "adapter") return await pluginIds(call);
  if (argument.name() !== "id" && argument.name() !== "plugin") return [];
  if (group === "plugin") return await pluginIds(call, { all: true });
  return group === "session" ? await sessionIds(call) : [];
}

async function pluginIds(call: Invocation, { all = false }: { all?: boolean } = {}): Promise<string[]> {
  await using opened = await openPlugins(call);
  return (await opened.facts.list()).filter(({ enabled }) => all || enabled).map(({ id }) => id);
}

/** Ids of the daemon's sessions. Without a daemon there are none: a key in a shell must not open a journal. */
async function sessionIds(call: Invocation): Promise<string[]> {
  if (await daemonFor(call) === null) return [];
  await using opened = await openSessions(call);
  return (await opened.sessions.list({ limit: shownSessions })).map(({ session_id }) => shortId(session_id));
}

/** `bulkhead completion <shell>`. */
export const defineCompletion: DefineCommand = (command, bind) => {
  command
    .addArgument(new Argument("<shell>", "whose script").choices(["bash", "zsh", "fish"]))
    .addHelpText(...examples(
      ["source <(bulkhead completion bash)", "for this shell"],
      ["bulkhead completion fish > ~/.config/fish/completions/bulkhead.fish", "for good"],
    ))
    .action(bind(completion));
};

async function completion({ terminal, args }: Invocation): Promise<number> {
  await terminal.stdout.write(scripts[args[0] as keyof typeof scripts]);
  return 0;
}

const bash = `_bulkhead() {
  local IFS=$'\\n'
  COMPREPLY=($(bulkhead complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null))
}
complete -o default -F _bulkhead bulkhead
`;

/** Scripts that ask "bulkhead complete" for the words: ids of plugins and sessions are not the same tomorrow. */
const scripts = {
  bash,
  zsh: `#compdef bulkhead
autoload -U +X bashcompinit && bashcompinit
${bash}`,
  fish: `complete -c bulkhead -a '(bulkhead complete -- (commandline -opc)[2..] (commandline -ct) 2> /dev/null)'
`,
};
