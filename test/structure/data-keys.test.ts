import { Type } from "@sinclair/typebox";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { hostManifestSchema } from "../../core/ground/config/host-manifest-schema.ts";
import { keysOfSchemas, keysOfTypes, snakeCase } from "./data-keys.ts";
import { listFiles, readSource, root } from "./source.ts";

/** Files of core whose types are data: what crosses a channel, stands in a file, or is printed. */
const dataFiles = [
  "core/walls/channel/protocol.ts",
  "core/walls/channel/operations.ts",
  "core/ground/config/host-manifest.ts",
  "core/ground/config/limits.ts",
  "core/ground/errors/error-table.ts",
];

/** Keys that an outside format spells its own way: JSON Schema, and `session/update` of the Agent Client Protocol. */
const outsideKeys = ["additionalProperties", "rawInput", "rawOutput", "sessionUpdate", "toolCallId"];

const keys = await collectKeys();

test("every key of our data is snake_case, but for those of outside formats", () => {
  expect(keys.filter((key) => !snakeCase.test(key))).toEqual(outsideKeys);
});

test("every key of our data is listed in data-keys.txt (vitest -u writes it)", async () => {
  await expect(`${keys.join("\n")}\n`).toMatchFileSnapshot(join(root, "test/structure/data-keys.txt"));
});

test("the list holds keys from each source", () => {
  // The manifest's TypeBox, an event's TypeScript, the host manifest's zod or types, the protocol.
  expect(keys).toEqual(expect.arrayContaining(["command_template", "tokens_used", "routing", "protocol", "git_base"]));
});

test("keysOfTypes reads interfaces, type literals and nested objects, and passes over those with functions", () => {
  const found = keysOfTypes(
    "a.ts",
    `interface A { one: 1; "two": { three?: 3 } } type B = { four: 4 } | { five: A[] };
     interface C { notThis(): void; norThis: 1 } type D = { norThat: () => void };`,
  );
  expect([...found].sort()).toEqual(["five", "four", "one", "three", "two"]);
});

test("keysOfSchemas reads TypeBox and zod through unions, arrays, records, options and tables", () => {
  const found = keysOfSchemas({
    a: Type.Union([Type.Object({ one: Type.Literal("notThis") }), Type.Array(Type.Object({ two: Type.Null() }))]),
    table: { x: Type.Object({ three: Type.Record(Type.String(), Type.Object({ properties: Type.Null() })) }) },
    b: z.strictObject({ four: z.record(z.string(), z.object({ five: z.string().default("norThis") })).optional() }),
    c: 1,
  });
  expect([...found].sort()).toEqual(["five", "four", "one", "properties", "three", "two"]);
});

test("snakeCase refuses camelCase, dashes, capitals and stray underscores", () => {
  for (const good of ["a", "wait_ms", "input_per_1k_tokens", "sha256"]) expect(good).toMatch(snakeCase);
  for (const bad of ["waitMs", "wait-ms", "Wait", "_wait", "wait_", "a__b", "1a", ""]) {
    expect(bad).not.toMatch(snakeCase);
  }
});

async function collectKeys(): Promise<string[]> {
  const found = new Set<string>();
  const take = (more: Set<string>): void => more.forEach((key) => found.add(key));
  for (const path of [...listFiles("plugin-sdk"), ...dataFiles]) take(keysOfTypes(path, readSource(path)));
  for (const path of [...listFiles("plugin-sdk"), ...listFiles("core").filter(makesSchemas)]) {
    take(keysOfSchemas(await import(join(root, path)) as Record<string, unknown>));
  }
  // Made when it is asked for, and so no module's own value.
  take(keysOfSchemas({ hostManifest: hostManifestSchema() }));
  return [...found].sort();
}

/** Modules that run when they are loaded are not loaded here; they hold no schemas. */
function makesSchemas(path: string): boolean {
  return !path.endsWith("/main.ts") && /from "(zod|@sinclair\/typebox)"/.test(readSource(path)) &&
    !path.startsWith("core/walls/worker/");
}
