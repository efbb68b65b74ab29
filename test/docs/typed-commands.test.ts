import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { isHelpPage } from "../../core/doors/cli/help-pages.ts";
import { createProgram } from "../../core/doors/cli/program.ts";
import { fakeHost } from "../doors/cli/fake-host.ts";
import { fakeTerminal } from "../doors/cli/fake-terminal.ts";
import {
  alternativesOf,
  disarm,
  documentCommands,
  filled,
  printedCommands,
  refusalOf,
  type TypedCommand,
  wordsOf,
} from "./typed-commands.ts";

const program = await createProgram({
  terminal: fakeTerminal({ args: [], cwd: tmpdir() }),
  createHost: fakeHost().create,
  exit: { code: 0 },
  whole: true,
});
disarm(program);

const fromDocuments = documentCommands();
const fromProgram = printedCommands();

/** Whether the words that name the command itself are put in when the program runs. */
function isOpen([first, second]: readonly string[]): boolean {
  const group = program.commands.find((one) => one.name() === first);
  return first === filled ||
    (second === filled && (group === undefined || group.commands.length > 0 || first === "help"));
}

async function wrongIn({ path, text, isNamed }: TypedCommand): Promise<string[]> {
  const wrong: string[] = [];
  for (const [, ...words] of alternativesOf(wordsOf(text))) {
    if (isOpen(words)) continue;
    const [first, topic = ""] = words;
    const isTopic = isHelpPage(topic) || program.commands.some((one) => one.name() === topic);
    const why = first === "help" && words.length > 1 && !isTopic && !topic.startsWith("<")
      ? "There is no page or command of that name."
      : await refusalOf(program, words, { isNamed });
    if (why !== null) wrong.push(`${path}: ${text}\n    ${why}`);
  }
  return wrong;
}

test.each([["documents", fromDocuments], ["texts of the program and the console", fromProgram]])(
  "each command in the %s is one that there is, with its flags and arguments",
  async (_, commands) => {
    const wrong: string[] = [];
    for (const command of commands) wrong.push(...await wrongIn(command));
    expect(wrong.join("\n")).toBe("");
    expect(commands.length).toBeGreaterThan(100);
  },
);

test.each([
  ["bulkhead runn alpha go", "unknown command"],
  ["bulkhead run alpha go --nonsense", "unknown option"],
  ["bulkhead plugin install x", "unknown command"],
  ["bulkhead session show 3f2a 91c0", "too many arguments"],
])("%s would be found", async (line, why) => {
  expect(await refusalOf(program, wordsOf(line).slice(1), { isNamed: true })).toContain(why);
});

test("printedCommands sees empty states of the console, hints of errors and examples of the help", () => {
  const seen = fromProgram.map(({ path, text }) => `${path.split("/")[2]}: ${text}`);
  for (const one of ["console: bulkhead console", "routing: bulkhead setup", "cli: bulkhead session watch"]) {
    expect(seen).toContain(one);
  }
});
