import * as z from "zod";
import type { Permissions } from "../../../../plugin-sdk/permissions.ts";
import { type PluginSettings, unsaid } from "../host-manifest.ts";
import { defaultLimits, type Limits } from "../limits.ts";
import { idForm, maxIdLength, reservedIds } from "../plugin-ids.ts";
import { line, names, positive, time } from "./texts.ts";
import { osWallNames, type OsWallUses } from "../../platform/os-walls/os-wall.ts";

/** A key of `plugins` and of `tools`. */
export function idKey(): z.ZodString {
  return z.string().regex(idForm).max(maxIdLength).refine((text) => !reservedIds.includes(text), {
    params: { expected: `an id other than ${reservedIds.join(", ")}` },
  });
}

/** Names of folders in a home that belong to no agent. */
const ofNoAgent = ["cache", "config", "local", "var"];

/** The name of an agent's settings, which stand in `~/.<name>` and `~/.config/<name>`, or where the tables say. */
function agentName(): z.ZodString {
  return z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/).max(64).refine((name) => !ofNoAgent.includes(name), {
    params: { expected: "the name of an agent's settings: small letters, digits and dashes" },
  });
}

/** One entry of `plugins`. An id alone, with nothing after its colon, enables the plugin without grants. */
export function pluginSection(): z.ZodType<PluginSettings> {
  return z.strictObject({
    enabled: z.boolean().default(true),
    source: line().exactOptional(),
    trusted: z.boolean().default(false),
    trust_tools: z.boolean().exactOptional(),
    isolation: z.enum(["process", "thread"]).default("process"),
    grant: permissionsSection().prefault({}),
    deny: permissionsSection().prefault({}),
    limits: limitsSection().prefault({}),
    os_walls: osWallsSection().exactOptional(),
    settings_of: agentName().exactOptional(),
    config: z.record(z.string().min(1).max(64), z.unknown()).default({}),
  }).superRefine((settings, context) => {
    if (settings.isolation !== "thread" || settings.trusted) return;
    context.addIssue({
      code: "custom",
      path: ["isolation"],
      params: { expected: "process, or trusted: true beside it" },
    });
  }).nullable().transform((settings) => settings ?? { ...unsaid(), enabled: true });
}

/** `grant` and `deny`. A program or secret may be named alone. */
export function permissionsSection(): z.ZodType<Permissions> {
  const name = z.string().min(1).max(256);

  const run = z.union([
    line().transform((binary) => ({ binary })),
    z.strictObject({
      binary: line(),
      args: z.array(z.string().max(4096)).max(64).exactOptional(),
      env: names().exactOptional(),
      contain: z.enum(["workdir", "off"]).exactOptional(),
      contain_net: z.boolean().exactOptional(),
    }),
  ]);

  const secret = z.union([
    name.transform((text) => ({ name: text })),
    z.strictObject({ name, env: names().exactOptional(), hosts: names().exactOptional() }),
  ]);

  return z.strictObject({
    run: z.array(run).max(64).exactOptional(),
    read: z.array(line()).max(64).exactOptional(),
    write: z.array(line()).max(64).exactOptional(),
    net: names().exactOptional(),
    env: names().exactOptional(),
    secrets: z.array(secret).max(64).exactOptional(),
    mcp_servers: z.array(line()).max(64).exactOptional(),
    kv: z.boolean().exactOptional(),
    limits: z.strictObject({
      children: positive().exactOptional(),
      file_bytes: positive().exactOptional(),
      response_bytes: positive().exactOptional(),
    }).exactOptional(),
  });
}

/** `limits`, for all plugins or for one. */
export function limitsSection(): z.ZodType<Partial<Limits>> {
  return z.strictObject(
    Object.fromEntries(
      Object.keys(defaultLimits).map((key) => [key, (key.endsWith("_ms") ? time() : positive()).exactOptional()]),
    ),
  );
}

/** `os_walls`, for all plugins or for one. */
export function osWallsSection(): z.ZodType<Partial<OsWallUses>> {
  return z.strictObject({
    ...Object.fromEntries(osWallNames.map((wall) => [wall, z.enum(["optional", "required", "off"]).exactOptional()])),
    agents: z.enum(["required", "off"]).exactOptional(),
    unknown_hosts: z.enum(["deny", "ask"]).exactOptional(),
  });
}
