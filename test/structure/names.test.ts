import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { listFiles, listFolders, type Node, parse, readSource, root, visitNodes } from "./source.ts";

const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/**
 * Names of agents and of who makes them. The contract is the same for all, so none may shape it.
 * (`cursor` is our own word for a place in the journal.)
 */
const providers = [
  "claude",
  "anthropic",
  "codex",
  "openai",
  "gemini",
  "google",
  "mistral",
  "qchat",
  "kiro",
  "llama",
  "deepseek",
  "grok",
  "copilot",
  "windsurf",
  "\\baider\\b",
  "opencode",
  "\\bgpt",
];

describe("names", () => {
  test("files and folders are kebab-case", () => {
    const names = ["core", "plugins", "plugin-sdk", "test"].flatMap((top) => [
      ...listFiles(top).map((path) => [path, basename(path).replace(/(\.test|\.config|\.d)?\.tsx?$/, "")] as const),
      ...listFolders(top).map((path) => [path, basename(path)] as const),
    ]);
    expect(names.filter(([, name]) => !kebabCase.test(name)).map(([path]) => path)).toEqual([]);
  });

  test("no provider is named in core or plugin-sdk", () => {
    const pattern = new RegExp(providers.join("|"), "i");
    // Lists of what is refused, hidden, attacked and called broad: no other code knows what stands in them.
    const lists = [
      "core/ground/platform/places/acted-on-names.ts",
      "core/ground/platform/places/key-places.ts",
      "core/walls/agent/agent-files.ts",
      "core/kit/attack/escape-stage.ts",
      "core/packages/permissions/broad-programs.ts",
    ];
    // The protocols whose figures are counted: each is a file that a list names.
    const protocols = "core/walls/agent/meter/";
    const named = [...listFiles("core", ""), ...listFiles("plugin-sdk", "")]
      .filter((path) => !lists.includes(path) && !path.startsWith(protocols))
      .flatMap((path) =>
        `${path}\n${readSource(path)}`.split("\n").flatMap((line, index) => {
          const found = pattern.exec(line);
          return found ? [`${path}:${index} names "${found[0]}"`] : [];
        })
      );
    expect(named).toEqual([]);
  });

  test("no file in core is longer than 400 lines", () => {
    const long = listFiles("core").map((path) => [path, readSource(path).split("\n").length - 1] as const)
      .filter(([, lines]) => lines > 400);
    expect(long).toEqual([]);
  });

  test("no function of a .tsx file of core is longer than 40 lines", () => {
    const files = listFiles("core", ".tsx");
    expect(files.length).toBeGreaterThan(20);
    expect(files.flatMap((path) => longFunctions(path, { most: 40 }))).toEqual([]);
  });

  test("ARCHITECTURE.md names every room of core with its wing, and no other", () => {
    const text = readSource(".github/ARCHITECTURE.md");
    const named = [...text.matchAll(/^\| `(core\/[a-z]+\/[a-z-]+)\/`/gm)].map(([, room]) => room);
    const rooms = listFolders("core").filter((path) => path.split("/").length === 3);
    expect(named.sort()).toEqual(rooms);
  });

  test("no type of core or plugin-sdk has the name of another", () => {
    const homes = new Map<string, string[]>();
    for (const path of [...listFiles("core"), ...listFiles("plugin-sdk")]) {
      for (const name of exportedTypes(path)) homes.set(name, [...homes.get(name) ?? [], path]);
    }
    expect(homes.size).toBeGreaterThan(500);
    expect([...homes].filter(([, paths]) => paths.length > 1)).toEqual([]);
  });

  test("only the agreed things stand at the top level", () => {
    const allowed = [
      "core",
      "plugins",
      "plugin-sdk",
      "test",
      "deno.json",
      "package.json",
      "tsconfig.json",
      "README.md",
    ];
    const also = ["LICENSE", "package-lock.json", "deno.lock", "node_modules", "dist", "coverage"];
    // Who works here may use Bulkhead here.
    const ofPerson = /^bulkhead\.(?:yaml|lock)$|\.tgz$/;
    // Hidden files are the settings of tools, never sources.
    const there = readdirSync(root).filter((name) => !name.startsWith(".") || /\.[cm]?[jt]s$/.test(name));
    expect(there.filter((name) => !allowed.includes(name) && !also.includes(name) && !ofPerson.test(name)))
      .toEqual([]);
    for (const name of allowed) expect(existsSync(join(root, name)), name).toBe(true);
  });
});

test("exportedTypes finds interfaces, type aliases and classes that a file itself declares", () => {
  const text = "export interface A {} export type B = 1; export class C {} export abstract class D {} interface E {}" +
    ' export function F() {} export const G = 1; export type { H } from "./h.ts"; export type A = A;';
  expect(exportedTypes("core/a.ts", text)).toEqual(["A", "B", "C", "D"]);
});

test("longFunctions finds functions of each kind that have more lines than that", () => {
  const text = "function a() {\n}\nconst b = () => {\n\n};\nclass C {\n  d() {\n\n  }\n}\nconst e = () => 1;";
  expect(longFunctions("core/a.tsx", { most: 2, text })).toEqual(["core/a.tsx:3 3 lines", "core/a.tsx:7 3 lines"]);
});

/** Functions of a file that have more lines than `most`. */
function longFunctions(path: string, { most, text = readSource(path) }: { most: number; text?: string }): string[] {
  const found: string[] = [];
  visitNodes(parse(path, text), (node) => {
    if (!/Function(?:Declaration|Expression)$/.test(node.type)) return;
    const lines = text.slice(node.start, node.end).split("\n").length;
    if (lines > most) found.push(`${path}:${text.slice(0, node.start).split("\n").length} ${lines} lines`);
  });
  return found;
}

/** Names of the types that a file declares and exports, each once. */
function exportedTypes(path: string, text: string = readSource(path)): string[] {
  const names = (parse(path, text)["body"] as Node[]).flatMap((statement) => {
    const declared = statement["declaration"] as Node | null | undefined;
    if (!declared || !/^(TSInterface|TSTypeAlias|Class)Declaration$/.test(declared.type)) return [];
    return [(declared["id"] as { name: string }).name];
  });
  return [...new Set(names)];
}
