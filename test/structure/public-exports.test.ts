import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { namesOf } from "./exported-names.ts";
import { readSource, root } from "./source.ts";

interface Package {
  name: string;
  version: string;
  license: string;
  exports: Record<string, string | { types: string; default: string }>;
  imports?: Record<string, string>;
}

const onDeno = "Deno" in globalThis;
const npm = JSON.parse(readSource("package.json")) as Package;
const deno = JSON.parse(readSource("deno.json")) as Package;
const entries = Object.entries(deno.exports) as [string, string][];

describe("public exports", () => {
  test("are those listed in public-exports.txt (vitest -u writes it)", async () => {
    const lines = entries.flatMap(([entry, path]) =>
      namesOf(path, readSource(path)).exported.map(({ kind, name }) => `${specifierOf(entry)}  ${kind}  ${name}`)
    );
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(join(root, "test/structure/public-exports.txt"));
  });

  for (const [entry, path] of entries) {
    test(`${specifierOf(entry)} can be imported by its name and has the values that its text lists`, async () => {
      const module = await import(specifierOf(entry)) as object;
      const values = namesOf(path, readSource(path)).exported.filter(({ kind }) => kind === "value").map(({ name }) =>
        name
      );
      expect(Object.keys(module).sort()).toEqual(values.sort());
      // The first of them loads the whole host.
    }, 120_000);
  }

  test("are the same for npm and JSR, from build and source", () => {
    const fromNpm = Object.entries(npm.exports).filter(([entry]) => entry !== "./package.json").map(
      ([entry, target]) => {
        if (typeof target === "string") throw new TypeError(`Entry ${entry} has no types.`);
        // On Deno, which needs no build of the host, there may be none.
        if (!onDeno) expect(existsSync(join(root, target.default)), target.default).toBe(true);
        return [entry, target.types.replace("./dist/", "./").replace(/\.d\.ts$/, ".ts")];
      },
    );
    expect(Object.fromEntries(fromNpm)).toEqual(deno.exports);
  });

  test("are mapped for Deno to the same files", () => {
    expect(deno.imports).toEqual(Object.fromEntries(entries.map(([entry, path]) => [specifierOf(entry), path])));
  });

  test("npm and JSR agree on version and licence", () => {
    expect([deno.version, deno.license]).toEqual([npm.version, npm.license]);
  });
});

function specifierOf(entry: string): string {
  return npm.name + entry.slice(1);
}
