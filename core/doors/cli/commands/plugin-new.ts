import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { quoteWord } from "../../../ground/config/grant-command.ts";
import { idOf, newPlugin } from "../../../kit/author/new-plugin.ts";
import { type TemplateName, templateNames, templateUses } from "../../../kit/author/templates.ts";
import { join, resolve } from "../../../ground/runtime/paths.ts";
import type { Invocation } from "../command.ts";
import { Questions } from "../questions.ts";
import { asTyped } from "../render/as-typed.ts";
import { fitHelp } from "../render/fit-help.ts";
import { tableColumns } from "../show-session.ts";

/** `bulkhead plugin new <name>`. Asks for missing flags where the terminal can ask. */
export async function pluginNew(call: Invocation): Promise<number> {
  const { terminal, args, options, json } = call;
  const asks = Questions.possible(terminal) && options["yes"] !== true && !json;
  const questions = asks ? new Questions(terminal) : null;
  const name = args[0] ?? "";
  const id = idOf(name);
  const template = await templateOf(options["template"], questions);
  const command = await commandOf(options["command"], { template, id, questions });
  const given = options["folder"];
  const folder = typeof given === "string" ? resolve(terminal.cwd, given) : join(terminal.cwd, id);
  const written = await newPlugin({ folder, template, name, command });
  const named = quoteWord(String(given ?? id));
  const lines = [
    `Wrote the plugin ${written.id} to ${written.folder}`,
    ...written.files.map((file) => `  ${file}`),
    asTyped(fitHelp(nextText(named), tableColumns(terminal))),
    ...needs[template],
  ];
  await terminal.stdout.write(json ? `${JSON.stringify({ template, ...written })}\n` : `${lines.join("\n")}\n`);
  return 0;
}

function nextText(folder: string): string {
  const dev = `bulkhead plugin dev ${folder} "Say hello."`;
  const test = `bulkhead plugin test ${folder}`.padEnd(dev.length);
  return `Next:\n  ${test}  every rule of the contract, offline\n  ${dev}  a session, and again after each change`;
}

/** Things that a first session needs and that are still missing; the test scripts them all. */
const needs: { readonly [N in TemplateName]: readonly string[] } = {
  code: [],
  wrap: ["It asks a service at http://localhost:8080 for now: put yours into service.ts and plugin.yaml."],
  cli: ["A session starts the program itself, so that has to be installed; the test does without."],
  acp: ["A session starts the agent itself, so that has to be installed; the test does without."],
};

async function templateOf(given: unknown, questions: Questions | null): Promise<TemplateName> {
  const named = templateNames.find((name) => name === given);
  if (named !== undefined || questions === null) return named ?? "code";
  const uses = templateNames.map((name) => `  ${name.padEnd(5)} ${templateUses[name]}`).join("\n");
  const choices = templateNames.map((name) => ({ word: name, value: name }));
  // Two of the choices begin with the same letter; that letter means the first of them.
  return orInterrupted(await questions.choose(`What will it drive?\n${uses}`, { choices }));
}

async function commandOf(
  given: unknown,
  { template, id, questions }: { template: TemplateName; id: string; questions: Questions | null },
): Promise<string | undefined> {
  if (typeof given === "string") return given;
  if (questions === null || (template !== "cli" && template !== "acp")) return undefined;
  const typed = orInterrupted(await questions.text(`Which program runs it, with its arguments? Empty: ${id}`));
  return typed.trim() === "" ? undefined : typed.trim();
}

function orInterrupted<T>(answer: T | null): T {
  if (answer !== null) return answer;
  throw new BulkheadError("interrupted", "The question was not answered, so no plugin was written.");
}
