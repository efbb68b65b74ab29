import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { CliTool } from "../../../plugin-sdk/manifest.ts";
import { manifestJsonSchema } from "../../../plugin-sdk/manifest-json-schema.ts";
import { readTextFile } from "../../ground/config/read-text-file.ts";
import { readManifest } from "../../packages/registry/read-manifest.ts";
import { basename, extname, join } from "../../ground/runtime/paths.ts";
import { readAcpEntry } from "./acp-entry.ts";
import { acpFiles } from "./acp-files.ts";
import { wordsOf, type WrittenPlugin } from "./new-plugin.ts";
import { writePackageFolder } from "./package-folder.ts";
import { fillCommon } from "./templates.ts";
import { readToolMap, toolManifest, toolScript } from "./tool-map.ts";

/** Options of {@link importPlugins}. */
export interface ImportOptions {
  /** Each plugin becomes a folder in this one. */
  into: string;
  /** The program of an agent, where it is not called as its package is. */
  command?: string | undefined;
}

/**
 * Makes a plugin of an entry of the registry of agents that speak the Agent Client Protocol (`agent.json`), or one of
 * each tool of a map (`tools: <name>: {binary, command_template, models, env_vars}`).
 * @throws {BulkheadError} `not_found`, `io_error`, `invalid_config` with what is wrong where, `already_exists`,
 * `unsupported`
 */
export async function importPlugins(file: string, { into, command }: ImportOptions): Promise<WrittenPlugin[]> {
  const name = basename(file);
  const text = await readTextFile(file, { maxBytes: 256 * 1024, code: "invalid_config", name });
  const entry = extname(file) === ".json" ? parseJson(text, name) : null;
  if (entry !== null && "distribution" in entry) return [await importAgent(entry, { into, command })];
  const written: WrittenPlugin[] = [];
  for (const [id, cli] of readToolMap(text, name)) written.push(await importTool(id, cli, into));
  return written;
}

async function importAgent(entry: object, { into, command }: ImportOptions): Promise<WrittenPlugin> {
  const agent = readAcpEntry(entry, { command });
  const words = await wordsOf({ folder: into, template: "acp", name: agent.name }, agent.id);
  return await write(join(into, agent.id), agent.id, await acpFiles(agent, words));
}

async function importTool(id: string, cli: CliTool, into: string): Promise<WrittenPlugin> {
  const words = await wordsOf({ folder: into, template: "cli", name: id }, id);
  const files = await fillCommon({ ...words, files: "[]" });
  files.set("plugin.yaml", toolManifest(id, cli));
  files.set("conformance.yaml", toolScript(cli));
  files.set("README.md", `# ${id}\n\nMade from a map of tools by \`bulkhead plugin import\`.\n`);
  return await write(join(into, id), id, files);
}

async function write(folder: string, id: string, files: Map<string, string>): Promise<WrittenPlugin> {
  files.set("plugin.schema.json", `${JSON.stringify(manifestJsonSchema(), null, 2)}\n`);
  await writePackageFolder(folder, files);
  await readManifest(folder);
  return { id, folder, files: [...files.keys()].sort() };
}

function parseJson(text: string, name: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch (cause) {
    throw new BulkheadError("invalid_config", `Cannot import ${name}: it is not JSON.`, { cause });
  }
  throw new BulkheadError("invalid_config", `Cannot import ${name}: it is no JSON object.`);
}
