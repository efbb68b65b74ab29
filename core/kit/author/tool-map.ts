import { Type } from "@sinclair/typebox";
import { argumentPatterns, parseCommandTemplate } from "../../../plugin-sdk/command-template.ts";
import { type CliTool, cliToolSchema, idPattern } from "../../../plugin-sdk/manifest.ts";
import { closed, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import { checkAgainst } from "../../ground/config/check-against.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { reservedIds } from "../../ground/config/reserved-ids.ts";
import { parseYaml } from "../../ground/config/yaml.ts";
import { describeFound, pathText, problemsError } from "../../ground/config/yaml-problems.ts";
import { cliBinary } from "../../packages/registry/requested-permissions.ts";

/** A map of tools, as other programs keep it: `tools: <name>: {binary, command_template, models, env_vars}`. */
interface ToolMap {
  tools: Record<string, CliTool>;
}

const mapSchema: SchemaOf<ToolMap> = Type.Object({
  tools: Type.Record(Type.String({ minLength: 1, maxLength: 256 }), cliToolSchema),
}, closed) as unknown as SchemaOf<ToolMap>;

/**
 * Reads a map of tools.
 * @throws {BulkheadError} `invalid_config` with file, line and column of every problem
 */
export function readToolMap(text: string, file: string): Map<string, CliTool> {
  const { manifest_bytes: maxBytes, yaml_aliases: maxAliases } = defaultLimits;
  const parsed = parseYaml(text, { file, maxBytes, maxAliases, code: "invalid_config" });
  const tools = Object.entries(checkAgainst(mapSchema, parsed, { code: "invalid_config" }).tools);
  // A name becomes a folder's: what is no id must not lead elsewhere.
  const wrong = tools.filter(([id]) => !isId(id)).map(([id]) => {
    const path = ["tools", id];
    const words = { expected: "a name of lowercase letters, digits and hyphens", found: describeFound(id) };
    return { file, ...parsed.locate(path, "key"), path: pathText(path), ...words };
  });
  if (wrong.length > 0) throw problemsError("invalid_config", wrong);
  return new Map(tools);
}

function isId(name: string): boolean {
  return name.length <= 64 && new RegExp(idPattern).test(name) && !reservedIds.includes(name);
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

/** Maps and lists as blocks, and what they hold as JSON, which is YAML. */
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
