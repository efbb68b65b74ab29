import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { hostManifestJsonSchema } from "../../core/ground/config/host-manifest-schema.ts";
import { defaultLimits } from "../../core/ground/config/limits.ts";
import { manifestSchema } from "../../plugin-sdk/manifest.ts";
import { permissionsSchema } from "../../plugin-sdk/permissions.ts";
import { readSource, root } from "../structure/source.ts";

/** Rows of the tables of a page, as cells. */
function rowsOf(page: string): string[][] {
  return readSource(`.github/docs/${page}.md`).split("\n").filter((line) => line.startsWith("|")).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );
}

/** Names in backquotes in the first cells of a page's tables. */
function namesIn(page: string): string[] {
  return rowsOf(page).flatMap(([name]) => [...(name ?? "").matchAll(/`([a-z_]+)`/g)].map((match) => match[1]!));
}

const hostKeys = hostManifestJsonSchema()["properties"] as Record<string, { properties?: object }>;

describe("tables that people write", () => {
  test("manifest.md has every key of plugin.yaml and of bulkhead.yaml, and no other", () => {
    const keys = [...Object.keys(manifestSchema.properties), ...Object.keys(hostKeys)];
    expect(namesIn("manifest").sort()).toEqual(keys.sort());
  });

  test("conversations.md says of each bundled plugin what its manifest accepts", () => {
    const plugins = readdirSync(join(root, "plugins")).flatMap((id) => {
      const text = readSource(`plugins/${id}/plugin.yaml`);
      const { accepts = [] } = parse(text) as { accepts?: string[] };
      const abilities = ["turns", "steer", "stop_turn", "continue_from", "images", "files"].map((one) =>
        accepts.includes(one) ? "yes" : "no"
      );
      return abilities.includes("yes") ? [[`\`${id}\``, ...abilities]] : [];
    });
    const rows = rowsOf("conversations");
    const from = rows.findIndex(([name]) => name === "Plugin") + 2;
    expect(rows.slice(from, from + plugins.length + 1)).toEqual(plugins);
  });

  test("permissions.md has every permission", () => {
    const names = namesIn("permissions");
    for (const key of Object.keys(permissionsSchema.properties)) expect(names).toContain(key);
  });

  test("sessions.md has the settings of routing, in their order", () => {
    const rows = rowsOf("sessions");
    const from = rows.findIndex(([name]) => name === "Key of `routing`") + 2;
    const keys = Object.keys(hostKeys["routing"]!.properties!);
    expect(rows.slice(from, from + keys.length).map(([name]) => name?.replaceAll("`", ""))).toEqual(keys);
  });

  test.each([
    [".github/docs/walls.md", /One thread serves up to (\d+) sessions/],
    [".github/ARCHITECTURE.md", /\*\*A worker thread\*\* holds up to (\d+) sessions/],
    [".github/docs/performance.md", /four workers of (\d+) places/],
  ])("%s has the default of sessions_per_worker, as limits.md", (page, sentence) => {
    expect(Number(sentence.exec(readSource(page))?.[1])).toBe(defaultLimits.sessions_per_worker);
  });
});
