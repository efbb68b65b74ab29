// Imports the whole module as a namespace: the bundle then contains only the used parts, not every language's messages.
import * as z from "zod";
import { cliToolSchema } from "../../../plugin-sdk/manifest.ts";
import { defaultKeepMs, type HostManifest } from "./host-manifest.ts";
import {
  blockedSection,
  budgetsSection,
  clusterSection,
  daemonSection,
  journalSection,
  mcpServersSection,
  notifySection,
  promptSection,
  routingSection,
  secretsSection,
  telemetrySection,
} from "./sections/settings.ts";
import { idKey, limitsSection, osWallsSection, permissionsSection, pluginSection } from "./sections/plugins.ts";
import { line, time } from "./sections/texts.ts";

/** Host manifest as its schema checks it; the contract's schema checks the keys of a tool. */
type WrittenManifest = Omit<HostManifest, "file" | "left_out" | "tools"> & { tools: Record<string, unknown> };

interface Schemas {
  schema: z.ZodType<WrittenManifest>;
  tool: object;
}

/** Held weakly: they take about 1 MB, and a host that runs for weeks seldom reads its manifest. */
let built: WeakRef<Schemas> | null = null;

function schemas(): Schemas {
  const known = built?.deref();
  if (known !== undefined) return known;
  const made = build();
  built = new WeakRef(made);
  return made;
}

/** Schema of the host manifest without the keys of a tool. Made when it is needed. */
export function hostManifestSchema(): z.ZodType<WrittenManifest> {
  return schemas().schema;
}

/** JSON Schema of `bulkhead.yaml`, for editors. */
export function hostManifestJsonSchema(): Record<string, unknown> {
  const { schema, tool } = schemas();
  return z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema !== tool) return;
      // The round trip through text drops the schema library's symbols.
      const own = JSON.parse(JSON.stringify(cliToolSchema)) as { properties: object; required: string[] };
      const grant = jsonSchema.properties;
      Object.assign(jsonSchema, own, { properties: { ...own.properties, ...grant } });
    },
  });
}

function build(): Schemas {
  /** The contract's schema, which packages use as well, checks a tool's own keys. */
  const tool = z.looseObject({
    grant: permissionsSection().prefault({}),
    description: line().exactOptional(),
    output_schema: z.record(z.string(), z.unknown()).exactOptional(),
    expose: z.literal("tool").exactOptional(),
  });

  const schema: z.ZodType<WrittenManifest> = z
    .strictObject({
      bulkhead: z.literal(1).meta({ title: 'the line "bulkhead: 1"' }),
      // Commenting out everything below the key leaves null.
      plugins: z.record(idKey(), pluginSection()).nullable().prefault({}).transform((plugins) => plugins ?? {}),
      tools: z.record(idKey(), tool).nullable().prefault({}).transform((tools) => tools ?? {}),
      blocked: blockedSection().exactOptional(),
      secrets: secretsSection().exactOptional(),
      mcp_servers: mcpServersSection().exactOptional(),
      routing: routingSection().prefault({ agent: "auto" }),
      approval: z.enum(["ask", "reads", "edits", "all", "deny"]).exactOptional(),
      prompt: promptSection().exactOptional(),
      budgets: budgetsSection().exactOptional(),
      limits: limitsSection().prefault({}),
      os_walls: osWallsSection().exactOptional(),
      state_dir: line().exactOptional(),
      journal: journalSection().exactOptional(),
      workspaces: z.strictObject({ keep_ms: time().default(defaultKeepMs) }).exactOptional(),
      daemon: daemonSection().exactOptional(),
      telemetry: telemetrySection().exactOptional(),
      notify: notifySection().exactOptional(),
      cluster: clusterSection().exactOptional(),
    });
  return { schema, tool };
}
