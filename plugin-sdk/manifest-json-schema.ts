import { manifestSchema } from "./manifest.ts";

// Descriptions that an editor shows beside a key.
const descriptions: Readonly<Record<string, string>> = {
  manifest: "Version of this format; always 1.",
  id: "What the plugin is called everywhere: lowercase letters, digits and single hyphens.",
  name: "The name people read.",
  version: "The plugin's own version, as semantic versioning writes it.",
  description: "One sentence: what the plugin drives.",
  license: "SPDX expression of the licence.",
  host: "Range of contract versions the plugin was written for, such as ^1.0.0.",
  adapter_type: "What kind of thing the adapter drives.",
  entry: "The adapter's code, TypeScript or JavaScript, inside the package.",
  cli: "A command-line tool driven without code.",
  normaliser: "A module inside the package whose default export turns a line of output into events; only with cli.",
  capabilities: "What the agent can do; sessions are routed by it.",
  accepts:
    "Fields of a request that the adapter hands to its agent (a request that sets another one is refused), and how it can talk: turns, steer, stop_turn.",
  reports: "What the adapter tells while a session runs; only what is told can be limited.",
  access_modes: "How the agent may be reached and who pays.",
  models: "Models a session may name.",
  permissions: "What the adapter may do, once the operator grants it. Absent means nothing.",
  permissions_for: "Permissions that only one value of an option needs, by option and value.",
  install: "How to install the programs that it runs, by program: a command, or where to read about it.",
  tested: "Versions of its programs that it was tested with, by program, as a semver range.",
  project_memory: "Files of a project with instructions that its agent does not read itself.",
  housekeeping: "Hosts that its programs call for telemetry or updates and can do without, as host:port.",
  gateways: "Settings in which a person may send a program to a provider of their own, which counts as a login.",
  endpoints: "Programs that send their requests where a variable says: the host adds the key, and they never hold it.",
  defaults: "Values for sessions that do not say otherwise.",
  config: "The plugin's own options.",
  output_schema: "JSON Schema of the result's structured_output; the host holds every session to it.",
  expose: "tool: clients of the Model Context Protocol get a tool of its own for it, with its options as input.",
};

/**
 * Returns the JSON Schema (draft 2020-12) of `plugin.yaml`, for editors. It also states what {@link manifestSchema}
 * leaves to the loader: exactly one of `entry` and `cli`.
 */
export function manifestJsonSchema(): Record<string, unknown> {
  // A round trip drops the schema library's marks, which are symbols, and gives the caller an independent copy.
  const schema: Record<string, unknown> = JSON.parse(JSON.stringify(manifestSchema));
  const properties = schema["properties"] as Record<string, Record<string, unknown>>;
  for (const [key, description] of Object.entries(descriptions)) {
    properties[key] = { description, ...properties[key] };
  }
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "urn:bulkhead:plugin-manifest:1",
    title: "Bulkhead plugin manifest",
    description: "A plugin's identity, needs and permissions: plugin.yaml.",
    ...schema,
    properties,
    oneOf: [
      { required: ["entry"], properties: { cli: false, normaliser: false } },
      { required: ["cli"], properties: { entry: false } },
    ],
  };
}
