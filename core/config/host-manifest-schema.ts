// The whole module as a namespace: a bundle then holds what is used of it, and not a text for every language.
import * as z from "zod";
import { type AgentCapabilities, capabilityFlags } from "../../plugin-sdk/capabilities.ts";
import { cliToolSchema, idPattern } from "../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../plugin-sdk/permissions.ts";
import { osWallNames, type OsWallUses } from "../runtime/os-walls/os-wall.ts";
import type { PromptSettings } from "../prompt/prompt-settings.ts";
import type { DaemonSettings } from "./daemon-settings.ts";
import { defaultKeepMs, type HostManifest, type PluginSettings, type Routing, unsaid } from "./host-manifest.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import { reservedIds } from "./reserved-ids.ts";
import { readSecretReference } from "./secret-reference.ts";

/** The host manifest as its schema checks it: a tool's own keys are checked by the contract's schema. */
type WrittenManifest = Omit<HostManifest, "file" | "tools"> & { tools: Record<string, unknown> };

interface Schemas {
  schema: z.ZodType<WrittenManifest>;
  tool: object;
}

let built: Schemas | null = null;

/** What a person may write into the host manifest, but for the keys of a tool. Made when it is first asked for. */
export function hostManifestSchema(): z.ZodType<WrittenManifest> {
  return (built ??= build()).schema;
}

/** JSON Schema of `bulkhead.yaml`, for editors. */
export function hostManifestJsonSchema(): Record<string, unknown> {
  const { schema, tool } = built ??= build();
  return z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema !== tool) return;
      // Through text, which leaves the schema library's symbols behind.
      const own = JSON.parse(JSON.stringify(cliToolSchema)) as { properties: object; required: string[] };
      const grant = jsonSchema.properties;
      Object.assign(jsonSchema, own, { properties: { ...own.properties, ...grant } });
    },
  });
}

function build(): Schemas {
  const line = z.string().min(1).max(1024);
  const name = z.string().min(1).max(256);
  const names = z.array(name).max(64);
  const positive = z.int().min(1);

  const run = z.union([
    line.transform((binary) => ({ binary })),
    z.strictObject({
      binary: line,
      args: z.array(z.string().max(4096)).max(64).exactOptional(),
      env: names.exactOptional(),
      contain: z.literal("workdir").exactOptional(),
      contain_net: z.boolean().exactOptional(),
    }),
  ]);

  const secret = z.union([
    name.transform((text) => ({ name: text })),
    z.strictObject({ name, env: names.exactOptional(), hosts: names.exactOptional() }),
  ]);

  const permissions: z.ZodType<Permissions> = z.strictObject({
    run: z.array(run).max(64).exactOptional(),
    read: z.array(line).max(64).exactOptional(),
    write: z.array(line).max(64).exactOptional(),
    net: names.exactOptional(),
    env: names.exactOptional(),
    secrets: z.array(secret).max(64).exactOptional(),
    kv: z.boolean().exactOptional(),
    limits: z.strictObject({
      children: positive.exactOptional(),
      file_bytes: positive.exactOptional(),
      response_bytes: positive.exactOptional(),
    }).exactOptional(),
  });

  const limits: z.ZodType<Partial<Limits>> = z.strictObject(
    Object.fromEntries(Object.keys(defaultLimits).map((key) => [key, positive.exactOptional()])),
  );

  const osWalls: z.ZodType<Partial<OsWallUses>> = z.strictObject(
    Object.fromEntries(osWallNames.map((wall) => [wall, z.enum(["optional", "required", "off"]).exactOptional()])),
  );

  const capabilities: z.ZodType<AgentCapabilities> = z.strictObject({
    ...Object.fromEntries(capabilityFlags.map((flag) => [flag, z.boolean().exactOptional()])),
    max_context_tokens: positive.exactOptional(),
    custom: z.record(z.string().min(1).max(64), z.boolean()).exactOptional(),
  });

  const routing: z.ZodType<Routing> = z.strictObject({
    agent: z.union([line, z.array(line).min(1).max(64)]).default("auto"),
    order: z.array(line).max(64).exactOptional(),
    require: capabilities.exactOptional(),
    availability_ttl_ms: z.int().min(0).exactOptional(),
  });

  const id = z.string().regex(new RegExp(idPattern)).max(64).refine((text) => !reservedIds.includes(text), {
    params: { expected: `an id other than ${reservedIds.join(", ")}` },
  });

  // An id alone, with nothing after its colon, enables the plugin without grants.
  const plugin: z.ZodType<PluginSettings> = z.strictObject({
    enabled: z.boolean().default(true),
    source: line.exactOptional(),
    trusted: z.boolean().default(false),
    trust_tools: z.boolean().exactOptional(),
    isolation: z.enum(["process", "thread"]).default("process"),
    grant: permissions.prefault({}),
    deny: permissions.prefault({}),
    limits: limits.prefault({}),
    os_walls: osWalls.exactOptional(),
    config: z.record(z.string().min(1).max(64), z.unknown()).default({}),
  }).superRefine((settings, context) => {
    if (settings.isolation !== "thread" || settings.trusted) return;
    context.addIssue({
      code: "custom",
      path: ["isolation"],
      params: { expected: "process, or trusted: true beside it" },
    });
  }).nullable().transform((settings) => settings ?? { ...unsaid(), enabled: true });

  const text = z.string().min(1).max(65_536);
  const roleInstructions = z.strictObject({ full: text.exactOptional(), condensed: text.exactOptional() });

  const prompt: z.ZodType<Partial<PromptSettings>> = z.strictObject({
    enhance: z.enum(["asked", "always", "never"]).exactOptional(),
    signal: z.string().min(1).max(256).refine((signal) => signal.trim() === signal && !/[\r\n]/.test(signal), {
      params: { expected: "one line without blanks around it" },
    }).exactOptional(),
    scratchpad: line.exactOptional(),
    full_iterations: z.int().min(0).exactOptional(),
    instructions: z.strictObject({
      orchestrator: roleInstructions.exactOptional(),
      implementor: roleInstructions.exactOptional(),
    }).exactOptional(),
  });

  /** A tool's own keys are checked by the contract's schema, which packages use as well. */
  const tool = z.looseObject({ grant: permissions.prefault({}) });

  const secretName = z.string().max(256).refine((text) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text), {
    params: { expected: "a name of letters, digits and _" },
  });

  const reference = z.string().max(4096).refine((text) => readSecretReference(text) !== null, {
    params: { expected: "stored, env:NAME or file:/absolute/path" },
  });

  const daemon: z.ZodType<Partial<DaemonSettings>> = z.strictObject({
    port: z.int().min(0).max(65_535).exactOptional(),
    drain_ms: z.int().min(0).max(24 * 3_600_000).exactOptional(),
    log_level: z.enum(["debug", "info", "warn", "error"]).exactOptional(),
    log_file_bytes: z.int().min(4096).exactOptional(),
    log_files: z.int().min(0).max(64).exactOptional(),
  });

  const schema: z.ZodType<WrittenManifest> = z
    .strictObject({
      bulkhead: z.literal(1),
      // Nothing after the colon is what is left when all below it is commented out.
      plugins: z.record(id, plugin).nullable().prefault({}).transform((plugins) => plugins ?? {}),
      tools: z.record(id, tool).nullable().prefault({}).transform((tools) => tools ?? {}),
      secrets: z.record(secretName, reference).nullable().transform((secrets) => secrets ?? {}).exactOptional(),
      routing: routing.prefault({ agent: "auto" }),
      approval: z.enum(["ask", "reads", "edits", "all", "deny"]).exactOptional(),
      prompt: prompt.exactOptional(),
      limits: limits.prefault({}),
      os_walls: osWalls.exactOptional(),
      state_dir: line.exactOptional(),
      journal: z.strictObject({ keep_ms: positive.exactOptional(), max_bytes: positive.exactOptional() })
        .exactOptional(),
      workspaces: z.strictObject({ keep_ms: positive.default(defaultKeepMs) }).exactOptional(),
      daemon: daemon.exactOptional(),
    });
  return { schema, tool };
}
