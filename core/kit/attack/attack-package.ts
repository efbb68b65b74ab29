import { writeFiles } from "../../ground/platform/files/write-new-file.ts";
import type { ThinkingEvent } from "../../../plugin-sdk/events.ts";
import type { AttackCase } from "./attack-case.ts";

/** First event of every attack that is a body: without it an error says nothing, for the attack was never made. */
export const beginning: ThinkingEvent = { type: "thinking", content: "The attack begins." };

/** Id of an attack's plugin. */
export function pluginIdOf({ id, name }: AttackCase): string {
  return `attack-${id.toLowerCase()}-${name}`.slice(0, 64).replace(/-+$/, "");
}

/** Writes the package of an attack. */
export async function writePackage(folder: string, attack: AttackCase): Promise<void> {
  const files = { "plugin.yaml": manifestText(attack), "mod.js": entryText(attack), ...attack.files };
  await writeFiles(folder, files);
}

function manifestText(attack: AttackCase): string {
  const id = pluginIdOf(attack);
  // JSON is YAML, so nothing has to be escaped by hand.
  return JSON.stringify(
    {
      manifest: 1,
      id,
      name: id,
      version: "1.0.0",
      description: attack.attack,
      license: "MIT",
      host: "^1.0.0",
      adapter_type: "tool",
      entry: "./mod.js",
      capabilities: {},
      reports: ["permissions"],
      accepts: attack.accepts,
      permissions: attack.permissions,
      config: { type: "object", properties: { stage: { type: "string", max_length: 4096 } } },
    },
    null,
    1,
  );
}

function entryText({ top = "", members = "", body = "" }: AttackCase): string {
  return `import { defineAdapter } from "bulkhead/plugin-sdk";
${top}
export default defineAdapter({
  id: "attack",
  name: "Attack",
  version: "1.0.0",
  ${members}
  async *runSession(request, ctx) {
    const stage = JSON.parse(request.params?.stage ?? "{}");
    yield ${JSON.stringify(beginning)};
${body}
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
  },
});
`;
}
