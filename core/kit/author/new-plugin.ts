import { parseArguments } from "../../../plugin-sdk/command-template.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { manifestJsonSchema } from "../../../plugin-sdk/manifest-json-schema.ts";
import { nearest } from "../../ground/config/nearest.ts";
import { isPluginId } from "../../ground/config/plugin-ids.ts";
import { hostVersion } from "../../ground/config/version.ts";
import { readFile } from "../../ground/platform/files/files.ts";
import { basename, dirname, fileURLToPath, join } from "../../ground/platform/files/paths.ts";
import { writePackageFolders } from "./package-folder.ts";
import { fillTemplate, type TemplateName } from "./templates.ts";

interface NewPlugin {
  /** Folder to write to; made if it is missing. */
  folder: string;
  template: TemplateName;
  /** The name people read. */
  name: string;
  /** Command that runs the program, for plugins that have one, such as `my-agent --quiet`; default: its id. */
  command?: string | undefined;
}

/** A plugin that was written. */
export interface WrittenPlugin {
  id: string;
  folder: string;
  /** Paths in the folder, sorted. */
  files: string[];
}

/**
 * Writes a plugin that works as it is: `plugin check` and `plugin test` pass.
 * @throws {BulkheadError} `already_exists` for a folder that holds something, `invalid_config` for a name that gives no
 * id, `io_error`
 */
export async function newPlugin(wanted: NewPlugin): Promise<WrittenPlugin> {
  const { folder } = wanted;
  const id = idOf(wanted.name);
  const files = await filesOf(wanted, id);
  files.set("plugin.schema.json", `${JSON.stringify(manifestJsonSchema(), null, 2)}\n`);
  await writePackageFolders([{ folder, files }], { hint: "Name another folder with --folder, or remove this one." });
  return { id, folder, files: [...files.keys()].sort() };
}

async function filesOf(wanted: NewPlugin, id: string): Promise<Map<string, string>> {
  const words = await wordsOf(wanted, id);
  if (wanted.template !== "acp") return await fillTemplate(wanted.template, words);
  const { acpFiles } = await import("./acp-files.ts");
  const [binary = id, ...args] = wordsIn(wanted.command ?? `${id} --acp`);
  const facts = { version: "0.1.0", description: `Runs ${words["name"]}.`, license: "MIT", install: "" };
  return await acpFiles({ binary, args, env: {}, envNames: [], notes: [], ...facts }, { words });
}

/**
 * The id that a name gives: `My Agent` is `my-agent`.
 * @throws {BulkheadError} `invalid_config`
 */
export function idOf(name: string): string {
  const id = name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 64);
  if (isPluginId(id)) return id;
  throw new BulkheadError("invalid_config", `Cannot make a plugin "${name}": the name gives no id.`, {
    hint: "Take one with letters or digits, such as my-agent.",
  });
}

/** Returns the words that fill in every template, without those that only some need. */
export async function wordsOf(
  { name, template, command }: NewPlugin,
  id: string,
): Promise<Record<string, string>> {
  const plain = name.replaceAll(/[^\w .,+()/-]/g, "").trim() || id;
  const [binary = id, ...args] = command === undefined ? [id] : wordsIn(command);
  const { line, readsInput } = commandLine(args);
  return {
    id,
    name: plain,
    name_plain: plain,
    name_text: JSON.stringify(plain),
    name_json: JSON.stringify(plain),
    class: classOf(id),
    version: "0.1.0",
    host_json: JSON.stringify(await hostSpecifier()),
    binary,
    binary_text: JSON.stringify(binary),
    binary_json: JSON.stringify(binary),
    template_text: JSON.stringify(line),
    stdin: readsInput ? "stdin: read, " : "",
    grant: template === "wrap" ? '{ grant: { net: ["localhost:8080"] } }' : "{}",
    files: JSON.stringify(template === "wrap" || template === "cli" ? ["recordings"] : []),
  };
}

/** A command line split at its blanks; quotes group, and braces have no meaning yet. */
function wordsIn(command: string): string[] {
  const line = command.replace(/\s<\s*\{prompt_file\}\s*$/, "");
  return parseArguments(line.replace(/[{}]/g, "\\$&"));
}

/** The command template of a program, which reads the prompt from its input unless an argument holds it. */
function commandLine(args: readonly string[]): { line: string; readsInput: boolean } {
  const readsInput = !args.some((argument) => /\{prompt(?:_file)?\}/.test(argument));
  const words = ["{binary}", ...args.map(templateWord), ...(readsInput ? ["< {prompt_file}"] : [])];
  return { line: words.join(" "), readsInput };
}

/** Placeholders that need nothing else in the manifest. */
const freePlaceholders = ["prompt", "prompt_file", "workdir", "plugin_dir"];

/** An argument as a command template writes it; other words in braces are literal, unless they look like a typo. */
function templateWord(argument: string): string {
  const escaped = argument.replace(/[\\"'{}<>|[\]]/g, "\\$&");
  const text = escaped.replace(/\\\{([a-z_]+)\\\}/g, (literal, name: string) => {
    if (freePlaceholders.includes(name)) return `{${name}}`;
    const near = nearest(name, freePlaceholders);
    if (near === null) return literal;
    const message = `Cannot make a plugin: unknown placeholder {${name}} in its command; did you mean {${near}}?`;
    throw new BulkheadError("invalid_config", message);
  });
  return /\s/.test(text) || text === "" ? `"${text}"` : text;
}

function classOf(id: string): string {
  const words = id.split("-").map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return /^[A-Z]/.test(words) ? words : `Agent${words}`;
}

const own = import.meta.url;
const ownFolder = fileURLToPath(new URL(own.endsWith(".ts") ? "../../.." : "../../../..", own));

/** How a new plugin's `package.json` names this host: by versions of the registry, else by its folder. */
export async function hostSpecifier(folder: string = ownFolder): Promise<string> {
  const root = folder.replace(/[\\/]$/, "");
  return await isFromRegistry(root) ? `^${hostVersion}` : `file:${root}`;
}

/** Looks into npm's list of installed packages (`node_modules/.package-lock.json`). */
async function isFromRegistry(root: string): Promise<boolean> {
  const modules = dirname(root);
  if (basename(modules) !== "node_modules") return false;
  try {
    const { packages } = JSON.parse(await readFile(join(modules, ".package-lock.json"), "utf8")) as {
      packages?: Record<string, { resolved?: unknown } | undefined>;
    };
    const resolved = packages?.[`node_modules/${basename(root)}`]?.resolved;
    return typeof resolved === "string" && /^https?:/.test(resolved);
  } catch {
    return false;
  }
}
