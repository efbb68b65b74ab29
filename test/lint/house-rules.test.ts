import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "../structure/source.ts";

/** A snippet, where it would stand, and the rules it breaks. */
interface Case {
  path: string;
  code: string;
  breaks: string[];
}

const documented = "/** Documented. */\n";

const cases: Record<string, Case> = {
  "an exported function without a docstring": {
    path: "core/a/undocumented.ts",
    code: "export function open(): void {}\n",
    breaks: ["documented-exports"],
  },
  "an exported constant under a plain comment": {
    path: "plugin-sdk/plain-comment.ts",
    code: "// What it is.\nexport const size: number = 1;\n",
    breaks: ["documented-exports"],
  },
  "an undocumented export after a documented one": {
    path: "core/a/second.ts",
    code: `${documented}export interface First {\n  a: 1;\n}\nexport interface Second {\n  b: 1;\n}\n`,
    breaks: ["documented-exports"],
  },
  "a docstring beyond letters outside ASCII, with a lint directive below it": {
    path: "core/a/far.ts",
    code: `/* äöü … 𝒳 */\n0;\n${documented}// deno-lint-ignore no-explicit-any\nexport const a: any = 1;\n`,
    breaks: [],
  },
  "overloads whose first has the docstring": {
    path: "core/a/overloads.ts",
    code: `${documented}export function f(a: string): string;\nexport function f(a: number): number;\n` +
      "export function f(a: unknown): unknown {\n  return a;\n}\n",
    breaks: [],
  },
  "an undocumented export of a test": { path: "test/a/open.ts", code: "export const a: number = 1;\n", breaks: [] },
  "a doc comment that opens with a noun clause": {
    path: "core/a/clause.ts",
    code: "/** What a host is made from. */\nexport const a: number = 1;\n",
    breaks: ["plain-comments"],
  },
  "a doc comment of several lines that opens with one": {
    path: "core/a/lines.ts",
    code: "/**\n * Who is there,\n * and since when.\n */\nexport const a: number = 1;\n",
    breaks: ["plain-comments"],
  },
  "a comment with a word that readers stumble over": {
    path: "plugins/a/anew.ts",
    code: "// It is made anew.\nconst a = 1;\nif (a) throw a;\n",
    breaks: ["plain-comments"],
  },
  "a message with such a word": {
    path: "core/a/message.ts",
    code: 'throw new Error("Nobody answers.");\n',
    breaks: ["plain-comments"],
  },
  "a text in pieces with such a word": {
    path: "plugin-sdk/template.ts",
    code: "const a = 1;\nthrow new Error(`It sent ${a} in place of a number.`);\n",
    breaks: ["plain-comments"],
  },
  "a comment that names such a word as code, and a question": {
    path: "core/a/quoted.ts",
    code: "/** Whether `whoever` is a word. */\nexport const a: number = 1;\n// What if it is not?\n",
    breaks: [],
  },
  "four parameters": {
    path: "core/a/four.ts",
    code: "function f(a: 1, b: 1, c: 1, d: 1): void {}\nf(1, 1, 1, 1);\n",
    breaks: ["few-parameters"],
  },
  "four parameters of a method in an interface": {
    path: "plugin-sdk/four.ts",
    code: `${documented}export interface F {\n  f(a: 1, b: 1, c: 1, d: 1): void;\n}\n`,
    breaks: ["few-parameters"],
  },
  "two parameters and options": {
    path: "core/a/two.ts",
    code: "function f(a: 1, b: 1, { c = 1 } = {}): void {}\nf(1, 1);\n",
    breaks: [],
  },
  "a callback with the shape its caller sets": {
    path: "core/a/callback.ts",
    code: '"a".replace(/(.)(.)(.)/, (all, a, b, c) => all + a + b + c);\n',
    breaks: [],
  },
  "a file of utils": { path: "core/a/string-utils.ts", code: "0;\n", breaks: ["file-names"] },
  "a folder of helpers": { path: "plugins/demo/helpers/a.ts", code: "0;\n", breaks: ["file-names"] },
  "a base class's file": { path: "plugin-sdk/base-adapter.ts", code: "0;\n", breaks: ["file-names"] },
  "a name that only begins like a vague one": { path: "core/a/baseline.ts", code: "0;\n", breaks: [] },
  "a helper of the tests": { path: "test/a/helpers.ts", code: "0;\n", breaks: [] },
  "a default export in the core": {
    path: "core/a/default.ts",
    code: "export default 1;\n",
    breaks: ["named-exports"],
  },
  "an export star": { path: "plugin-sdk/star.ts", code: 'export * from "./four.ts";\n', breaks: ["named-exports"] },
  "a default export of a plugin": { path: "plugins/demo/mod.ts", code: "export default 1;\n", breaks: [] },
  "console in the core": { path: "core/a/loud.ts", code: 'console.log("x");\n', breaks: ["no-console"] },
  "console on the command line": { path: "core/doors/cli/print.ts", code: 'console.log("x");\n', breaks: [] },
  "console as the name of a key": {
    path: "core/a/endow.ts",
    code: "const endowed = { console: 1 };\nendowed.console;\n",
    breaks: [],
  },
  "an enum": { path: "plugins/demo/enum.ts", code: "enum E {\n  A,\n}\nE.A;\n", breaks: ["no-enum"] },
  "a namespace": {
    path: "test/a/namespace.ts",
    code: "namespace N {\n  export const a = 1;\n}\nN.a;\n",
    breaks: ["no-enum"],
  },
  "an augmented module": {
    path: "core/a/augment.ts",
    code: 'declare module "x" {}\ndeclare global {}\n',
    breaks: [],
  },
  "an import of node:fs in the core": {
    path: "core/a/files.ts",
    code: 'import { stat } from "node:fs";\nstat;\n',
    breaks: ["platform-alone"],
  },
  "a dynamic import of node:os in the SDK": {
    path: "plugin-sdk/system.ts",
    code: 'await import("node:os");\n',
    breaks: ["platform-alone"],
  },
  "the global process": { path: "core/a/exit.ts", code: "process.exit();\n", breaks: ["platform-alone"] },
  "the global Deno behind globalThis": {
    path: "core/a/behind.ts",
    code: 'globalThis.Deno;\nglobalThis["Buffer"];\n',
    breaks: ["platform-alone", "platform-alone"],
  },
  "Buffer as a type": {
    path: "core/a/bytes.ts",
    code: "let bytes: Buffer | undefined;\nbytes;\n",
    breaks: ["platform-alone"],
  },
  "node: in core/ground/platform": {
    path: "core/ground/platform/files/files.ts",
    code: 'import { stat } from "node:fs";\nstat;\nprocess.pid;\n',
    breaks: [],
  },
  "node: in core/walls/agent": {
    path: "core/walls/agent/files.ts",
    code: 'import { stat } from "node:fs";\nstat;\nprocess.pid;\n',
    breaks: [],
  },
  "node: in another room of the walls": {
    path: "core/walls/broker/files.ts",
    code: 'import { stat } from "node:fs";\nstat;\n',
    breaks: ["platform-alone"],
  },
  "a variable, a key and a member called process": {
    path: "core/a/local.ts",
    code: "function f(process: { pid: number }): unknown {\n  return { process: process.pid };\n}\nf({ pid: 1 });\n",
    breaks: [],
  },
  "an import without its extension": {
    path: "test/a/extension.ts",
    code: 'import "./open";\nexport { a } from "./open.js";\n',
    breaks: ["ts-imports", "ts-imports"],
  },
  "an import of a script, in a script and in a module": {
    path: "test/a/script.mjs",
    code: 'import "./other.mjs";\nimport "./other.js";\n',
    breaks: ["ts-imports"],
  },
  "a module that imports a script": {
    path: "test/a/script.ts",
    code: 'import "./other.mjs";\n',
    breaks: ["ts-imports"],
  },
  "an import with its extension, and of a package": {
    path: "plugins/demo/extension.ts",
    code: 'import "./enum.ts";\nimport "./part.tsx";\nimport "zod";\n',
    breaks: [],
  },
  "folders that are removed by the host's own calls": {
    path: "core/records/removals.ts",
    code: 'import { rm } from "./files.ts";\nimport fs from "./fs.ts";\n' +
      'await rm("a", { recursive: true, force: true });\nfs.rmSync("a", { force: true, recursive: true });\n',
    breaks: ["removals-by-program", "removals-by-program"],
  },
  "a folder that the kit removes": {
    path: "core/kit/a/removals.ts",
    code: 'import { rm } from "./files.ts";\nawait rm("a", { recursive: true });\n',
    breaks: [],
  },
  "a file that is removed and folders that are made": {
    path: "core/records/made.ts",
    code:
      'import { mkdir, rm } from "./files.ts";\nawait rm("a", { force: true });\nawait mkdir("a", { recursive: true });\n',
    breaks: [],
  },
};

let folder: string;
let found: Map<string, string[]>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-lint-"));
  // The rules read a file's place from where they stand themselves.
  cpSync(join(root, "test/lint"), join(folder, "test/lint"), { recursive: true });
  writeFileSync(
    join(folder, "deno.json"),
    JSON.stringify({ lint: { plugins: ["./test/lint/house-rules.ts"], rules: { tags: [] } } }),
  );
  for (const { path, code } of Object.values(cases)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), code);
  }
  found = lint(folder);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("house rules", () => {
  for (const [name, { path, breaks }] of Object.entries(cases)) {
    test(`${name} ${breaks.length === 0 ? "is fine" : `breaks ${[...new Set(breaks)].join(", ")}`}`, () => {
      expect(found.get(path) ?? []).toEqual(breaks);
    });
  }

  test("every rule in rules/ is in the list, and has a case that breaks it", () => {
    const files = readdirSync(join(root, "test/lint/rules")).map((name) => name.replace(/\.ts$/, "")).sort();
    const listed = [...readFileSync(join(root, "test/lint/house-rules.ts"), "utf8").matchAll(/"([\w-]+)": \w+,/g)];
    expect(listed.map(([, name]) => name)).toEqual(files);
    expect([...new Set(Object.values(cases).flatMap(({ breaks }) => breaks))].sort()).toEqual(files);
  });
});

/** Names of the broken house rules by file, in the order of the text. */
function lint(project: string): Map<string, string[]> {
  const deno = "Deno" in globalThis ? process.execPath : join(root, "node_modules/.bin/deno");
  const { stdout, stderr, error } = spawnSync(deno, ["lint", "--json", "core", "plugin-sdk", "plugins", "test"], {
    cwd: project,
    encoding: "utf8",
  });
  if (error) throw error;
  const report = JSON.parse(stdout) as {
    diagnostics: { code: string; filename: string; range: { start: { bytePos: number } } }[];
    errors: unknown[];
  };
  if (report.errors.length > 0) throw new Error(`deno lint failed: ${JSON.stringify(report.errors)} ${stderr}`);
  const broken = new Map<string, string[]>();
  for (const { code, filename } of report.diagnostics) {
    const path = relative(project, filename.replace(/^file:\/\//, ""));
    if (!code.startsWith("house/")) continue;
    broken.set(path, [...broken.get(path) ?? [], code.slice("house/".length)]);
  }
  return broken;
}
