import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Agent, key, type Prepared, type Setting } from "./agent.ts";
import { codex, opencode } from "./own-adapters.ts";

/** Codex with a key that the host keeps, and without a login. */
const codexByKey: Agent = {
  ...codex,
  async prepare({ model, place }: Setting): Promise<Prepared> {
    const folder = join(place.root, "packages", codex.id);
    await cp(codex.folder, folder, { recursive: true });
    const file = join(folder, "plugin.yaml");
    const manifest = await readFile(file, "utf8");
    await writeFile(file, manifest.replace(/^ {2}- type: subscription\n(?: {4}.*\n)+/m, ""));
    const env = { CODEX_API_KEY: key, CODEX_BASE_URL: `${model.url}/v1` };
    return { folder, request: { model: "gpt-5.5", env } };
  },
};

/** OpenCode with a model of a provider whose key the host keeps. */
const opencodeByKey: Agent = {
  ...opencode,
  prepare({ model }: Setting): Promise<Prepared> {
    const env = {
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_PERMISSION: JSON.stringify({ "*": "allow" }),
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: `${model.url}/v1`,
    };
    return Promise.resolve({ folder: opencode.folder, request: { model: "anthropic/claude-sonnet-4-5", env } });
  },
};

/** An agent as it is metered: with a key that the host keeps. */
export function byKey(agent: Agent): Agent {
  return [codexByKey, opencodeByKey].find(({ id }) => id === agent.id) ?? agent;
}
