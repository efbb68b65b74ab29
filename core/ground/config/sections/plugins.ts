import * as z from "zod";
import { type PluginSettings, unsaid } from "../host-manifest.ts";
import { idForm, maxIdLength, reservedIds } from "../plugin-ids.ts";
import { limitsSection, osWallsSection } from "./limits.ts";
import { permissionsSection } from "./permissions.ts";
import { line } from "./texts.ts";

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
