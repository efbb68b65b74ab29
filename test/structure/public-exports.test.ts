import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { literal, type Node, parse, readSource, root } from "./source.ts";

interface Package {
  name: string;
  version: string;
  license: string;
  exports: Record<string, string | { types: string; default: string }>;
  imports?: Record<string, string>;
}

const npm = JSON.parse(readSource("package.json")) as Package;
const deno = JSON.parse(readSource("deno.json")) as Package;
const entries = Object.entries(deno.exports) as [string, string][];

describe("public exports", () => {
  test("are those listed in public-exports.txt (vitest -u writes it)", async () => {
    const lines = entries.flatMap(([entry, path]) =>
      exportedNames(readSource(path)).map(({ kind, name }) => `${specifierOf(entry)}  ${kind}  ${name}`)
    );
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(join(root, "test/structure/public-exports.txt"));
  });

  for (const [entry, path] of entries) {
    test(`${specifierOf(entry)} can be imported by its name and has the values that its text lists`, async () => {
      const module = await import(specifierOf(entry)) as object;
      const values = exportedNames(readSource(path)).filter(({ kind }) => kind === "value").map(({ name }) => name);
      expect(Object.keys(module).sort()).toEqual(values.sort());
    });
  }

  test("are the same for npm and JSR, from build and source", () => {
    const fromNpm = Object.entries(npm.exports).filter(([entry]) => entry !== "./package.json").map(
      ([entry, target]) => {
        if (typeof target === "string") throw new TypeError(`Entry ${entry} has no types.`);
        expect(existsSync(join(root, target.default)), target.default).toBe(true);
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

  test("exportedNames tells types from values and knows every way to export", () => {
    const names = exportedNames(`
      export { a, b as c, type D } from "./a.ts";
      export type { E } from "./e.ts";
      export const f = 1, g = 2;
      export function h(): void {}
      export class I {}
      export interface J {}
      export type K = 1;
    `).map(({ kind, name }) => `${kind} ${name}`);
    expect(names).toEqual([
      "type D",
      "type E",
      "type J",
      "type K",
      "value I",
      "value a",
      "value c",
      "value f",
      "value g",
      "value h",
    ]);
    expect(() => exportedNames('export * from "./a.ts";')).toThrow("export *");
  });
});

function specifierOf(entry: string): string {
  return npm.name + entry.slice(1);
}

/** What a module's text exports by name, sorted: types first. */
function exportedNames(text: string): { kind: "type" | "value"; name: string }[] {
  const found: { kind: "type" | "value"; name: string }[] = [];
  for (const node of parse("mod.ts", text)["body"] as Node[]) {
    if (node.type === "ExportAllDeclaration") throw new Error("export * hides what is exported.");
    if (node.type !== "ExportNamedDeclaration") continue;
    const declaration = node["declaration"] as Node | null;
    for (const specifier of node["specifiers"] as Node[]) {
      const isType = node["exportKind"] === "type" || specifier["exportKind"] === "type";
      found.push({ kind: isType ? "type" : "value", name: identifier(specifier["exported"]) });
    }
    if (declaration?.type === "VariableDeclaration") {
      for (const { id } of declaration["declarations"] as Node[]) found.push({ kind: "value", name: identifier(id) });
    } else if (declaration) {
      const isType = /^TS(Interface|TypeAlias)Declaration$/.test(declaration.type);
      found.push({ kind: isType ? "type" : "value", name: identifier(declaration["id"]) });
    }
  }
  return found.sort((a, b) => a.kind.localeCompare(b.kind) || (a.name < b.name ? -1 : 1));
}

function identifier(node: unknown): string {
  return typeof node === "object" && node !== null && "name" in node ? String(node.name) : String(literal(node));
}
