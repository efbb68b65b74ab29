import { BulkheadError, type ErrorData } from "../../../plugin-sdk/errors.ts";
import { manifestJsonSchema } from "../../../plugin-sdk/manifest-json-schema.ts";
import { readTextFile } from "../../ground/config/read-text-file.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { basename, extname, join } from "../../ground/platform/files/paths.ts";
import { publishedManifest } from "../../packages/install/published-manifest.ts";
import { readAcpEntry } from "./acp-entry.ts";
import { acpFiles, ownAdapter } from "./acp-files.ts";
import { type KeyNames, readKeyNames } from "./key-names.ts";
import { wordsOf, type WrittenPlugin } from "./new-plugin.ts";
import { modulesAround, npmProgram, type NpmProgramOptions } from "./npm-program.ts";
import { writePackageFolders } from "./package-folder.ts";
import { freeId, type TakenIds, takenIds, type TakenPlaces } from "./taken-ids.ts";
import { fillCommon } from "./templates.ts";
import { type FoundTool, readToolMap, toolManifest, toolScript } from "./tool-map.ts";

interface ImportOptions extends TakenPlaces {
  /** Each plugin becomes a folder in this one. */
  into: string;
  /** The id of the plugin, where not that of the entry or tool. */
  id?: string | undefined;
  /** The one of several that is wanted, by its id. */
  only?: string | undefined;
  /** The program of an agent, where its name is not found or is wrong. */
  command?: string | undefined;
  /** Whether no registry is asked for the program of an npm package. */
  offline?: boolean | undefined;
}

interface ImportedPlugin extends WrittenPlugin {
  /** Sentences that the operator should read. */
  notes: string[];
}

/** Outcome of an import. */
export interface ImportReport {
  written: ImportedPlugin[];
  /** Entries of a registry that were left out, each with the reason. */
  refused: { id: string; error: ErrorData }[];
  /** Parts of the file that were left out, each a sentence. */
  notes: string[];
}

/** A plugin before it is written. */
interface Draft {
  id: string;
  files: Map<string, string>;
  notes: string[];
}

interface ImportDeps {
  taken: TakenIds;
  adapter: () => Promise<string>;
  keyNames: KeyNames;
  programOf: (packageSpec: string) => Promise<string | null>;
}

const maxBytes = 4 * 1024 * 1024;
const registryTimeoutMs = 5000;

/**
 * Makes a plugin of each entry of the registry of agents that speak the Agent Client Protocol (`agent.json`, or the whole
 * `registry.json`), or of each tool of a map (`tools: <name>: {binary, command_template, models, env_vars}`). An import
 * that is refused leaves nothing; of a registry each entry is an import of its own.
 * @throws {BulkheadError} `not_found`, `io_error`, `invalid_config` with what is wrong where, `already_exists`,
 * `unsupported`
 */
export async function importPlugins(file: string, options: ImportOptions): Promise<ImportReport> {
  const name = basename(file);
  const text = await readTextFile(file, { maxBytes, code: "invalid_config", name });
  const entries = extname(file) === ".json" ? acpEntries(parseJson(text, name)) : null;
  const deps = await openDeps(options);
  return entries === null
    ? await importTools(readToolMap(text, name), options, deps)
    : await importAgents(entries, options, deps);
}

async function openDeps(options: ImportOptions): Promise<ImportDeps> {
  const { into, root, offline = false } = options;
  let adapter: Promise<string> | undefined;
  const modules = [...new Set([...modulesAround(into), ...modulesAround(root)])];
  const ask = { folder: root, timeoutMs: registryTimeoutMs };
  const askRegistry: NpmProgramOptions["askRegistry"] = (wanted) =>
    offline ? Promise.resolve(null) : publishedManifest(wanted, ask);
  return {
    taken: await takenIds(options),
    adapter: () => adapter ??= ownAdapter(),
    keyNames: await readKeyNames(),
    programOf: (spec) => npmProgram(spec, { modules, askRegistry }),
  };
}

async function importAgents(
  { entries, isList }: AcpEntries,
  options: ImportOptions,
  deps: ImportDeps,
): Promise<ImportReport> {
  const chosen = chooseOnly(entries.map((entry) => [idIn(entry), entry] as const), options);
  if (!isList || options.only !== undefined) {
    const drafts = await Promise.all(chosen.map(([, entry]) => draftAgent(entry, options, deps)));
    return { written: await write(drafts, options), refused: [], notes: [] };
  }
  // Together, so that a registry that does not answer is waited for once.
  const drafts = await Promise.allSettled(chosen.map(([, entry]) => draftAgent(entry, options, deps)));
  const report: ImportReport = { written: [], refused: [], notes: [] };
  for (const [index, draft] of drafts.entries()) {
    try {
      if (draft.status === "rejected") throw draft.reason;
      report.written.push(...await write([draft.value], options));
    } catch (error) {
      if (!(error instanceof BulkheadError)) throw error;
      report.refused.push({ id: chosen[index]![0], error: toErrorData(error) });
    }
  }
  return report;
}

async function importTools(
  { tools, notes }: { tools: readonly FoundTool[]; notes: string[] },
  options: ImportOptions,
  deps: ImportDeps,
): Promise<ImportReport> {
  const chosen = chooseOnly(tools.map((tool) => [tool.id, tool] as const), options);
  const drafts = await Promise.all(chosen.map(([, tool]) => draftTool(tool, options, deps)));
  return { written: await write(drafts, options), refused: [], notes };
}

/** The items that are wanted; an id or program given by the operator fits only one. */
function chooseOnly<T>(
  all: readonly (readonly [string, T])[],
  { only, id, command }: ImportOptions,
): readonly (readonly [string, T])[] {
  const chosen = only === undefined ? all : all.filter(([one]) => one === only);
  if (only !== undefined && chosen.length === 0) {
    throw new BulkheadError("not_found", `Cannot import "${only}": the file has no entry with that id.`, {
      hint: `Name one of ${all.map(([one]) => one).join(", ")}.`,
    });
  }
  const given = id !== undefined ? "--id" : command !== undefined ? "--command" : null;
  if (chosen.length === 1 || given === null) return chosen;
  throw new BulkheadError("invalid_config", `Cannot import ${chosen.length} entries with ${given}: it fits only one.`, {
    hint: "Name the one with --only <id>.",
  });
}

async function draftAgent(entry: unknown, options: ImportOptions, deps: ImportDeps): Promise<Draft> {
  const { command, into } = options;
  const agent = await readAcpEntry(entry, { command, programOf: deps.programOf, keyNames: deps.keyNames });
  const wanted = options.id ?? agent.id;
  const id = freeId(wanted, { folder: join(into, wanted), taken: deps.taken });
  const words = await wordsOf({ folder: into, template: "acp", name: agent.name }, id);
  return { id, files: await acpFiles(agent, { words, adapter: await deps.adapter() }), notes: [...agent.notes] };
}

async function draftTool({ id: own, cli, notes }: FoundTool, options: ImportOptions, deps: ImportDeps): Promise<Draft> {
  const { into, id: wanted = own } = options;
  const id = freeId(wanted, { folder: join(into, wanted), taken: deps.taken });
  const words = await wordsOf({ folder: into, template: "cli", name: id }, id);
  const files = await fillCommon({ ...words, files: "[]" });
  files.set("plugin.yaml", toolManifest(id, options.command === undefined ? cli : { ...cli, binary: options.command }));
  files.set("conformance.yaml", toolScript(cli));
  files.set(
    "README.md",
    [`# ${id}`, "Made from a map of tools by `bulkhead plugin import`.", ...notes, ""].join("\n\n"),
  );
  return { id, files, notes };
}

async function write(drafts: readonly Draft[], { into }: ImportOptions): Promise<ImportedPlugin[]> {
  const schema = `${JSON.stringify(manifestJsonSchema(), null, 2)}\n`;
  const packages = drafts.map(({ id, files }) => ({
    folder: join(into, id),
    files: new Map([...files, ["plugin.schema.json", schema]]),
  }));
  try {
    await writePackageFolders(packages, {
      hint: "Remove it to import it again, or give it another id with --id <id>.",
    });
  } catch (error) {
    if (error instanceof BulkheadError && error.code === "invalid_manifest") throw notValid(drafts, error);
    throw error;
  }
  return drafts.map(({ id, notes }, index) => ({
    id,
    folder: join(into, id),
    files: [...packages[index]!.files.keys()].sort(),
    notes,
  }));
}

/** The operator did not write the manifest in which the fault stands. */
function notValid(drafts: readonly Draft[], cause: BulkheadError): BulkheadError {
  const ids = drafts.map(({ id }) => `"${id}"`).join(", ");
  const message = `Cannot import ${ids}: the plugin would not be valid.\n${cause.message}`;
  return new BulkheadError("invalid_config", message, {
    hint: "Correct the entry in the file. If it is the program, name it with --command <program>.",
    cause,
  });
}

function idIn(entry: unknown): string {
  const id: unknown = typeof entry === "object" && entry !== null && "id" in entry ? entry.id : undefined;
  return typeof id === "string" ? id : "(no id)";
}

function parseJson(text: string, name: string): object {
  const hint = "Name a file with JSON, such as agent.json or registry.json.";
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch (cause) {
    throw new BulkheadError("invalid_config", `Cannot import ${name}: it is not JSON.`, { hint, cause });
  }
  throw new BulkheadError("invalid_config", `Cannot import ${name}: it is no JSON object.`, { hint });
}

interface AcpEntries {
  entries: readonly unknown[];
  /** Whether the file is a list; its entries are then imported one by one. */
  isList: boolean;
}

/** Finds the entries of agents in JSON: one, the registry as served, a list or a map. Null where there are none. */
function acpEntries(value: object): AcpEntries | null {
  if ("distribution" in value) return { entries: [value], isList: false };
  const held = "agents" in value ? value.agents : value;
  if (Array.isArray(held)) return { entries: held, isList: true };
  if (typeof held !== "object" || held === null) return null;
  const entries: [string, unknown][] = Object.entries(held);
  if (entries.length === 0 || !entries.every(([, one]) => isEntry(one))) return null;
  return { entries: entries.map(([id, one]) => ({ id, ...(one as object) })), isList: true };
}

function isEntry(value: unknown): boolean {
  return typeof value === "object" && value !== null && "distribution" in value;
}
