import { Type } from "@sinclair/typebox";
import { argumentPatterns, parseCommandTemplate } from "../../../plugin-sdk/command-template.ts";
import { type CliTool, cliToolSchema } from "../../../plugin-sdk/manifest.ts";
import { closed, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import { checkAgainst } from "../../ground/config/check-against.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { parseYaml } from "../../ground/config/yaml.ts";
import { pathText, problemsError } from "../../ground/config/yaml-problems.ts";
import { cliBinary } from "../../packages/permissions/requested-permissions.ts";
import { toolFaults } from "../../packages/manifest/tool-faults.ts";
import { plainToolMap } from "./plain-tool-map.ts";

/** A map of tools, as other programs keep it: `tools: <name>: {binary, command_template, models, env_vars}`. */
interface ToolMap {
  tools: Record<string, CliTool>;
}

const mapSchema: SchemaOf<ToolMap> = Type.Object({
  tools: Type.Record(Type.String({ minLength: 1, maxLength: 256 }), cliToolSchema),
}, closed) as unknown as SchemaOf<ToolMap>;

/** A tool of a map. */
export interface FoundTool {
  id: string;
  cli: CliTool;
  /** Parts that were left out or read in another way, each a sentence. */
  notes: string[];
}

/**
 * Reads a map of tools, also as other programs write it: what has no meaning here is left out, with a note.
 * @throws {BulkheadError} `invalid_config` with file, line and column of every problem
 */
export function readToolMap(text: string, file: string): { tools: FoundTool[]; notes: string[] } {
  const { manifest_bytes: maxBytes, yaml_aliases: maxAliases } = defaultLimits;
  const parsed = parseYaml(text, { file, maxBytes, maxAliases, code: "invalid_config" });
  const { value, notes, toolNotes } = plainToolMap(parsed.value);
  const { tools } = checkAgainst(mapSchema, { ...parsed, value }, { code: "invalid_config" });
  const problems = Object.entries(tools).flatMap(([id, cli]) =>
    [...toolFaults({ cli })].map(({ path, of, ...words }) => {
      const at = ["tools", id, ...path.slice(1)];
      return { file, ...parsed.locate(at, of), path: pathText(at), ...words };
    })
  );
  if (problems.length > 0) throw problemsError("invalid_config", problems);
  return { tools: Object.entries(tools).map(([id, cli]) => ({ id, cli, notes: toolNotes.get(id) ?? [] })), notes };
}

/** `plugin.yaml` of a tool. */
export function toolManifest(id: string, cli: CliTool): string {
  const manifest = {
    manifest: 1,
    id,
    name: id,
    version: "0.1.0",
    description: `Runs the program ${cliBinary(cli) ?? id}.`,
    license: "UNLICENSED",
    host: "^1.0.0",
    adapter_type: "cli",
    cli,
    capabilities: {},
  };
  return `# yaml-language-server: $schema=./plugin.schema.json\n${yamlOf(manifest)}`;
}

/** A script for the kit in which the tool prints one line. */
export function toolScript(cli: CliTool): string {
  const probes = [cli.version, cli.auth].flatMap((probe) =>
    probe ? [{ args: probe.args, probe: true, stdout: `${probe.contains ?? "1.0.0"}\n` }] : []
  );
  const template = parseCommandTemplate(cli.command_template);
  const answers = [
    ...probes,
    ...argumentPatterns(template).slice(0, 8).map((args) => ({
      ...(args === "" ? {} : { args }),
      ...(template.prompt_on_stdin ? { stdin: "read" } : {}),
      stdout: "Hello.\n",
    })),
  ];
  const script = {
    conformance: 1,
    sessions: [{ name: "hello", prompt: "Say hello." }],
    programs: [{ binary: cliBinary(cli) ?? "tool", answers }],
  };
  return `# How "bulkhead plugin test" tries this plugin: what stands in for its program.\n${yamlOf(script)}`;
}

/** Writes maps and lists in block style and scalars as JSON, which is valid YAML. */
function yamlOf(value: unknown, indent = ""): string {
  if (Array.isArray(value)) return value.map((item) => `${indent}- ${JSON.stringify(item)}\n`).join("");
  return Object.entries(value as object).filter(([, held]) => held !== undefined).map(([key, held]) => {
    const name = /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
    if (typeof held !== "object" || held === null || Object.keys(held).length === 0) {
      return `${indent}${name}: ${JSON.stringify(held)}\n`;
    }
    return `${indent}${name}:\n${yamlOf(held, `${indent}  `)}`;
  }).join("");
}
