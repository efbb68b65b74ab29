import { type Command, CommanderError } from "commander";
import { documents } from "../structure/snippets.ts";
import { listFiles, literal, parse, readSource, visitNodes } from "../structure/source.ts";

/** A command line that a person is told to type. */
export interface TypedCommand {
  path: string;
  text: string;
  /** Only named in a sentence: then arguments may be missing. */
  isNamed: boolean;
}

/** Command lines in the documents: whole ones in their blocks of shell, and those that sentences name. */
export function documentCommands(): TypedCommand[] {
  return documents().flatMap((path) => {
    const text = readSource(path);
    const blocks = [...text.matchAll(/^```sh\b[^\n]*\n([\s\S]*?)^```/gm)].flatMap(([, block = ""]) =>
      block.split("\n")
    );
    const named = text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/`([^`\n]+)`/g);
    return [
      ...blocks.flatMap(linesOf).map((line) => ({ path, text: line, isNamed: false })),
      ...[...named].flatMap(([, code = ""]) => linesOf(code)).map((line) => ({ path, text: line, isNamed: true })),
    ];
  });
}

/** Command lines in texts of the program: hints, tables, empty lists, and pages of the console. */
export function printedCommands(): TypedCommand[] {
  return [...listFiles("core", ".ts"), ...listFiles("core", ".tsx")].flatMap((path) =>
    literalsOf(path).flatMap(commandsIn).map((text) => ({ path, text, isNamed: true }))
  );
}

/** Lines that begin with the command, after what a shell has before it: another command, or a variable. */
function linesOf(line: string): string[] {
  return line.split(/&&|;|\||\$\(|<\(/).map((part) => part.trim().replace(/^(?:[A-Z_]+=\S+ )+/, ""))
    .filter((part) => /^(?:npx )?bulkhead(?: |$)/.test(part))
    // The bracket that ends `$(bulkhead …)`.
    .map((part) => part.replace(/^npx /, "").replace(/^([^(]*)\)$/, "$1"));
}

/** Stands for a part of a text that is put in when the program runs. */
export const filled = "1";

/** Texts in a source file. */
function literalsOf(path: string): string[] {
  const texts: string[] = [];
  const source = readSource(path);
  if (!source.includes("bulkhead ")) return texts;
  visitNodes(parse(path, source), (node) => {
    if (node.type === "Literal" || node.type === "JSXText") texts.push(String(literal(node)));
    if (node.type !== "TemplateLiteral") return;
    const parts = node["quasis"] as { value: { cooked: string } }[];
    texts.push(parts.map(({ value }) => value.cooked).join(filled));
  });
  return texts;
}

/** Command lines in a text: quoted ones, and those that begin a line or follow a colon, up to the end of the sentence. */
function commandsIn(text: string): string[] {
  const quoted = [...text.matchAll(/"(bulkhead [^"]+)"/g)].map(([, line = ""]) => line);
  const rest = text.replaceAll(/"bulkhead [^"]+"/g, "");
  const told = [
    ...rest.matchAll(/(?:^ *|[:,(] )(bulkhead (?:"[^"]*"|[^\n")])+?)(?=\.?(?:[ ,;]*$| {2}|\. |, |; |\)))/gm),
  ];
  return [...quoted, ...told.map(([, line = ""]) => line)];
}

/** Splits a command line as a shell does, far enough for those that are printed; ends where another command begins. */
export function wordsOf(line: string): string[] {
  const words: string[] = [];
  for (const [, single, double, bare] of line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)) {
    if (bare !== undefined && /^(?:#|\||>|2>|&&|<$|\))/.test(bare)) break;
    words.push(single ?? double ?? bare!);
  }
  return words;
}

/** Command lines that one with alternatives stands for: `session diff|apply <id>` is two. */
export function alternativesOf(words: readonly string[]): string[][] {
  return words.reduce<string[][]>(
    (lines, word) => {
      const isChoice = /^[a-z-]+(?:\|[a-z-]+)+$/.test(word);
      return (isChoice ? word.split("|") : [word]).flatMap((one) => lines.map((line) => [...line, one]));
    },
    [[]],
  );
}

/** Makes every command of a program do nothing, so that parsing alone says whether a line is right. */
export function disarm(program: Command): void {
  for (const command of [program, ...program.commands]) {
    if (command !== program) disarm(command);
    if (command.commands.length === 0) command.action(() => {});
    command.configureOutput({ writeOut() {}, writeErr() {}, outputError() {} });
  }
}

/** Why the program does not take a command line; null where it does. */
export async function refusalOf(program: Command, words: readonly string[], { isNamed }: { isNamed: boolean }) {
  try {
    await program.parseAsync([...words], { from: "user" });
    return null;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help that was asked for, or a group that a sentence names.
    if (error.exitCode === 0 || (isNamed && error.code === "commander.help")) return null;
    if (isNamed && error.code === "commander.missingArgument") return null;
    return error.message;
  }
}
