import { literalOf } from "./argument-samples.ts";
import { type ArgumentPattern, parseArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import type { RunPermission } from "../../../plugin-sdk/permissions.ts";
import { containLevel } from "../../ground/config/contain-level.ts";
import { basename, isAbsolute } from "../../ground/platform/files/paths.ts";
import { runtimeName } from "../../ground/platform/engine/platform.ts";
import { type Broadness, everything, much } from "./breadth.ts";
import {
  broadPrograms,
  codeCommands,
  codeOptions,
  harmlessOptions,
  programOptions,
  quietAgentCommands,
  quietServiceCommands,
} from "./broad-programs.ts";

type Argument = ArgumentPattern[number];

/** One way in which a program may be started. */
interface BroadLine {
  /** An argument pattern. */
  line: string;
  /** Whether the same plugin may write files that lie where it runs. */
  workdirIsWritten: boolean;
  /** Whether it runs contained where the permission says nothing. */
  contained: boolean;
}

/** How broad a granted program with one argument pattern is; null when the pattern binds it. */
export function broadRun(run: RunPermission, { line, workdirIsWritten, contained }: BroadLine): Broadness | null {
  const pattern = parseArgumentPattern(line);
  const name = programName(run.binary);
  const found = broadProgram(name, pattern) ?? (workdirIsWritten ? broadProject(name, pattern) : null) ??
    broadPattern(name, pattern);
  const level = containLevel(run);
  if (found === null || level === 0 || level === 1 && !contained) return found;
  const net = level === 3 ? ", and reaches no network" : level === 1 ? ", and reaches only granted hosts" : "";
  return { breadth: "much", why: `${found.why.slice(0, -1)}${held}, it writes only the working directory${net}.` };
}

const held = "; contained";

/** The reason alone, for readers who see the program's walls beside it. */
export function withoutWalls(why: string): string {
  return why.includes(held) ? `${why.slice(0, why.indexOf(held))}.` : why;
}

/** A program's name as the table has it: `/usr/bin/python3.11` is `python`. */
function programName(binary: string): string {
  if (binary === "@runtime") return runtimeName;
  const name = basename(binary).toLowerCase().replace(/\.(exe|cmd|bat)$/, "");
  return broadPrograms.has(name) ? name : name.replace(/-?\d+(\.\d+)*$/, "");
}

function broadProgram(name: string, pattern: ArgumentPattern): Broadness | null {
  switch (broadPrograms.get(name)) {
    case "code":
      return broadCode(name, pattern);
    case "launcher":
      return broadLauncher(name, pattern);
    case "fetcher":
      if (!pattern.some(hasSlot)) return null;
      return everything(`${name} gets and runs programs of others, and these arguments do not say which.`);
    case "options":
      return broadOptions(name, pattern);
    case "agent":
      return broadAgent(name, pattern);
    case "runner":
      if (!pattern.some(hasSlot)) return null;
      return everything(`${name} runs the code of the files it is given, and these arguments do not say which.`);
    case "checker":
      if (!pattern.some(mayBeOption)) return null;
      return everything(`${name} loads code that its options name, and these arguments allow options.`);
    case "script":
      return broadCode(name, pattern) ?? broadOptions(name, pattern);
    case "client":
      if (isHarmless(pattern) || pattern.length > 1 && !pattern.some(hasSlot)) return null;
      return everything(`${name} starts programs by its commands, and these arguments leave the commands open.`);
    case "remote":
      if (!pattern.some(hasSlot)) return null;
      return everything(`${name} runs commands on other machines, and these arguments leave them open.`);
    case "service":
      if (isHarmless(pattern) || literalWords(pattern).some((word) => quietServiceCommands.has(word))) return null;
      return everything(`${name} has programs started later or by the system, outside all that ends with the session.`);
    case undefined:
      return null;
  }
}

function broadOptions(name: string, pattern: ArgumentPattern): Broadness | null {
  const startsAny = pattern.some((argument, at) => {
    const [first] = argument;
    const word = first !== undefined && "literal" in first ? first.literal.split("=")[0] ?? "" : "";
    return programOptions.has(word) &&
      (hasSlot(argument) || pattern[at + 1] !== undefined && hasSlot(pattern[at + 1]!));
  });
  if (!startsAny && !pattern.some(mayBeOption)) return null;
  return everything(
    `${name} starts programs or writes any file by its options, and these arguments allow ${
      startsAny ? "such a value" : "options"
    }.`,
  );
}

function broadAgent(name: string, pattern: ArgumentPattern): Broadness | null {
  const words = pattern.map(literalOf);
  if (isHarmless(pattern) || !words.includes(null) && quietAgentCommands.has(words.join(" "))) return null;
  return everything(`${name} is an agent: it runs the programs that its model decides on, by what it is told.`);
}

/** A build tool runs commands from files of the working directory, which the same plugin may write. */
function broadProject(name: string, pattern: ArgumentPattern): Broadness | null {
  const kind = broadPrograms.get(name);
  const isProjects = kind === "fetcher" || kind === "runner" || kind === "checker" ||
    kind === "code" && runsOwnFile(literalWords(pattern));
  if (!isProjects || isHarmless(pattern)) return null;
  return everything(`${name} runs what files of the working directory say, and the plugin may write such files.`);
}

/** Whether an interpreter's arguments name a task, a module or a file where it runs, not a file elsewhere or a text. */
function runsOwnFile(words: readonly string[]): boolean {
  const [first] = words;
  if (first === "task" || words.includes("-m")) return true;
  const at = words.findIndex((word) => !word.startsWith("-") && !codeCommands.has(word));
  return at !== -1 && !isAbsolute(words[at] ?? "") && !codeOptions.has(words[at - 1] ?? "");
}

function isHarmless(pattern: ArgumentPattern): boolean {
  const [only] = pattern;
  return pattern.length === 1 && only !== undefined && harmlessOptions.has(literalOf(only) ?? "");
}

function literalWords(pattern: ArgumentPattern): string[] {
  return pattern.map(literalOf).filter((word) => word !== null);
}

/** An interpreter is bound when its arguments spell out what it runs before any open argument. */
function broadCode(name: string, pattern: ArgumentPattern): Broadness | null {
  for (const [index, argument] of pattern.entries()) {
    const literal = literalOf(argument);
    if (literal === null) {
      const file = fileAtEnd(argument);
      return file === null
        ? everything(`${name} runs any code it is given, and these arguments leave that open.`)
        : much(`${name} runs a file called ${file}, and these arguments leave open in which folder.`);
    }
    if (harmlessOptions.has(literal) && pattern.length === 1) return null;
    if (codeOptions.has(literal)) {
      const next = pattern[index + 1];
      if (next !== undefined && literalOf(next) !== null) return null;
    } else if (!literal.startsWith("-") && !codeCommands.has(literal)) {
      // Behind an option a bare word may be its value; what looks like a file is taken for what is run.
      const previous = literalOf(pattern[index - 1] ?? []) ?? "";
      if (!previous.startsWith("-") || /[./]/.test(literal) && !loads(previous)) return null;
    }
  }
  return everything(`${name} without a file runs the code that comes on its standard input.`);
}

/** An option that loads code beside what is run; its value is not what is run. */
function loads(option: string): boolean {
  return ["-r", "-I", "-M", "--require", "--import", "--loader", "--preload", "--config"].includes(option);
}

/** A launcher is as broad as the program that its arguments name first, which it starts. */
function broadLauncher(name: string, pattern: ArgumentPattern): Broadness | null {
  for (const [index, argument] of pattern.entries()) {
    const literal = literalOf(argument);
    if (literal === null) break;
    if (harmlessOptions.has(literal) && pattern.length === 1) return null;
    if (/^(-|\d+[smhd]?$|\w+=)/.test(literal)) continue;
    const inner = programName(literal);
    return broadProgram(inner, pattern.slice(index + 1)) ?? broadPattern(inner, pattern.slice(index + 1));
  }
  return everything(`${name} starts any other program, and these arguments do not say which.`);
}

function broadPattern(name: string, pattern: ArgumentPattern): Broadness | null {
  const isOpen = pattern.length > 0 && pattern.every(mayBeOption);
  return isOpen ? much(`${name} may be given any arguments at all.`) : null;
}

function hasSlot(argument: Argument): boolean {
  return literalOf(argument) === null;
}

/** `{*}` and `{...}` may stand for an option, `{}` never does. */
function mayBeOption(argument: Argument): boolean {
  const first = argument[0];
  return first !== undefined && "slot" in first && first.slot !== "value";
}

/** `main.mjs` of `{}/main.mjs`; null for an argument that leaves the file's name open. */
function fileAtEnd(argument: Argument): string | null {
  const last = argument.at(-1);
  const first = argument[0];
  const leads = first !== undefined && "slot" in first && first.slot === "value";
  return leads && last !== undefined && "literal" in last ? /\/([^/]+)$/.exec(last.literal)?.[1] ?? null : null;
}
