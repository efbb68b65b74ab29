import { Argument, type Command } from "commander";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { exitCodeRows } from "../../../ground/errors/exit-codes.ts";
import { nearest } from "../../../ground/config/nearest.ts";
import { type DefineCommand, examples, type Invocation, movedCommands } from "../command.ts";
import { helpPages, isHelpPage, readHelpPage } from "../help-pages.ts";
import { asTyped } from "../render/as-typed.ts";
import { pageLines } from "../render/page-lines.ts";
import { createPaint } from "../render/paint.ts";

/** `bulkhead help [command or page]`. */
export const defineHelp: DefineCommand = (command, bind) => {
  const program = command.parent!;
  command
    .addArgument(new Argument("[words...]", "a command, with its sub-command, or the name of a page"))
    .addHelpText("after", pageList())
    .addHelpText(...examples(
      ["bulkhead help plugin grant", "usage of a command"],
      ["bulkhead help permissions", "a page of the documentation"],
    ))
    .action(async (...values: unknown[]) => {
      const [words] = values as [string[]];
      await bind((invocation) => help(invocation, { program, words }))(...values);
    });
};

async function help(
  { terminal, json }: Invocation,
  { program, words }: { program: Command; words: readonly string[] },
): Promise<number> {
  const [first = ""] = words;
  const isPage = words.length === 1 && isHelpPage(first);
  const named = commandOf(program, words);
  if (named === null && !isPage) throw unknownTopic(program, words);
  if (named !== null && !(json && isPage)) named.outputHelp();
  if (named === program) await terminal.stdout.write(asTyped(pageList()));
  // A word like "journal" names both a command and a page: the usage comes first.
  if (!isPage) return 0;
  const text = await readHelpPage(first);
  if (json) {
    const page = { page: first, markdown: text, ...(first === "errors" ? { exit_codes: exitCodeRows() } : {}) };
    await terminal.stdout.write(`${JSON.stringify(page)}\n`);
  } else {
    const columns = Math.min(terminal.stdout.columns || 100, 100);
    const lines = pageLines(asTyped(text), { columns, paint: createPaint(terminal.colours.stdout) });
    await terminal.stdout.write(`${lines.join("\n")}\n`);
  }
  return 0;
}

/** Finds the command that words name: the program for none, null for words that name none. */
function commandOf(program: Command, words: readonly string[]): Command | null {
  let at = program;
  for (const word of words) {
    const next = at.commands.find((child) => child.name() === word || child.aliases().includes(word));
    if (next === undefined) return null;
    at = next;
  }
  return at;
}

function pageList(): string {
  const width = Math.max(...Object.keys(helpPages).map((name) => name.length));
  const rows = Object.entries(helpPages).map(([name, about]) => `  ${name.padEnd(width)}  ${about}`);
  return `\nPages (bulkhead help <page>):\n${rows.join("\n")}\n`;
}

function unknownTopic(program: Command, words: readonly string[]): BulkheadError {
  const known = [...program.commands.map((command) => command.name()), ...Object.keys(helpPages)];
  const close = nearest(words[0] ?? "", known);
  const way = movedCommands[words.join(" ")];
  return new BulkheadError(
    "not_found",
    `There is no command "${words.join(" ")}", and no page of that name.`,
    {
      hint: way ?? (close === null ? "List them: bulkhead help" : `Did you mean: bulkhead help ${close}`),
    },
  );
}
