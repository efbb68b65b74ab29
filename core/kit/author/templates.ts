import { readdir, readFile } from "../../ground/platform/files/files.ts";
import { fileURLToPath, join } from "../../ground/platform/files/paths.ts";

/** Templates of a new plugin. */
export const templateNames = ["code", "wrap", "cli", "acp"] as const;

/** One of {@link templateNames}. */
export type TemplateName = (typeof templateNames)[number];

/** Use of each template, in the words of the question to the author. */
export const templateUses: { readonly [N in TemplateName]: string } = {
  code: "a new agent that you write, in TypeScript",
  wrap: "an existing function or service",
  cli: "a program, without code",
  acp: "a program that speaks the Agent Client Protocol",
};

const own = import.meta.url;
const folder = fileURLToPath(
  new URL(own.endsWith(".ts") ? "../../../plugin-sdk/templates" : "../../../../plugin-sdk/templates", own),
);

/**
 * The files of a template, with every `{{word}}` filled in. They lie in the package with `.txt` behind their names, so
 * that nothing takes them for code of its own.
 * @throws {TypeError} for a word that has no value
 */
export async function fillTemplate(
  name: TemplateName,
  words: Readonly<Record<string, string>>,
): Promise<Map<string, string>> {
  return new Map([...await fillCommon(words), ...await fillPart(name, words)]);
}

/** The files that every template has. */
export function fillCommon(words: Readonly<Record<string, string>>): Promise<Map<string, string>> {
  return fillPart("common", words);
}

async function fillPart(part: string, words: Readonly<Record<string, string>>): Promise<Map<string, string>> {
  const filled = new Map<string, string>();
  const root = join(folder, part);
  const entries = await readdir(root, { withFileTypes: true, recursive: true });
  for (const entry of entries.filter((one) => one.isFile())) {
    const file = join(entry.parentPath, entry.name);
    const path = file.slice(root.length + 1, -".txt".length).replaceAll("\\", "/");
    filled.set(path, fill(await readFile(file, "utf8"), words));
  }
  return filled;
}

function fill(text: string, words: Readonly<Record<string, string>>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, word: string) => {
    const value = words[word];
    if (value === undefined) throw new TypeError(`A template names "${word}", without a value.`);
    return value;
  });
}
