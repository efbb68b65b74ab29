import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { hostVersion } from "../../../core/ground/config/version.ts";

// Rules that the ACP registry states for its files, rewritten from its description.
const folder = fileURLToPath(new URL("../../../.github/acp-registry/", import.meta.url));
const entryOf = async () =>
  JSON.parse(await readFile(`${folder}bulkhead/agent.json`, "utf8")) as Record<string, unknown>;

test("the registry's entry has the required fields, and a pinned package of this version", async () => {
  const entry = await entryOf();
  expect(await readdir(folder)).toEqual([entry["id"]]);
  expect(entry["id"]).toMatch(/^[a-z][a-z0-9-]*$/);
  expect(entry["version"]).toMatch(/^\d+\.\d+\.\d+$/);
  expect(entry).toMatchObject({
    name: expect.stringMatching(/./),
    description: expect.stringMatching(/./),
    version: hostVersion,
    distribution: { npx: { package: `bulkhead@${hostVersion}`, args: ["acp"] } },
  });
});

test("the registry's icon is a square of 16 in the editor's own colour", async () => {
  const icon = await readFile(`${folder}bulkhead/icon.svg`, "utf8");
  const [svg = ""] = icon.match(/<svg[^>]*>/) ?? [];
  expect(svg).toContain('width="16" height="16" viewBox="0 0 16 16"');
  const colours = [...icon.matchAll(/(?:fill|stroke)="([^"]*)"/g)].map(([, colour]) => colour);
  expect(colours.length).toBeGreaterThan(0);
  expect(colours.filter((colour) => !["currentColor", "none", "inherit"].includes(colour!))).toEqual([]);
  expect(icon).not.toMatch(/style=|<style|#[0-9a-f]{3}|rgb\(/i);
});
