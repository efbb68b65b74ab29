import { Value } from "@sinclair/typebox/value";
import { transformSync } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { commandGroups } from "../../core/doors/cli/commands.ts";
import { parseHostManifest } from "../../core/ground/config/parse-host-manifest.ts";
import { parseScript } from "../../core/kit/conformance/script.ts";
import { manifestSchema } from "../../plugin-sdk/manifest.ts";
import { callsIn, documents, type Snippet, snippetsOf, yamlKind } from "./snippets.ts";
import { root } from "./source.ts";

const commands = commandGroups.flatMap((group) => group.commands);

const onDeno = "Deno" in globalThis;
const snippets = documents().flatMap((path) => snippetsOf(path));
const ofLanguage = (...names: string[]): Snippet[] => snippets.filter(({ language }) => names.includes(language));
const typescript = ofLanguage("ts", "typescript");
// A module that only exports (an adapter) is run too: loading it must not fail.
const runnable = typescript.filter(({ tags, text }) => tags.includes("run") || /^export default/m.test(text));
const yaml = ofLanguage("yaml", "yml");
const calls = ofLanguage("sh", "bash", "shell", "console").flatMap(({ place, text }) =>
  callsIn(text).map((call) => ({ ...call, place }))
);

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-snippets-"));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules/bulkhead"), "dir");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the documents show TypeScript that runs, each of our YAML files, and the command line", () => {
  expect(runnable.map(({ place }) => place.split(":")[0])).toContain("README.md");
  expect(calls.map(({ place }) => place.split(":")[0])).toContain("README.md");
  const kinds = yaml.filter(({ place }) => place.startsWith(".github/docs/")).map(yamlKind);
  expect(new Set(kinds)).toEqual(new Set(["plugin.yaml", "bulkhead.yaml", "conformance.yaml"]));
});

describe("TypeScript snippets", () => {
  test("have no type errors", { timeout: 120_000 }, () => {
    writeSources();
    const compilerOptions = {
      noEmit: true,
      isolatedDeclarations: false,
      noUnusedLocals: false,
      noUnusedParameters: false,
      rootDir: "/",
      typeRoots: [join(root, "node_modules/@types")],
      paths: {
        "bulkhead": [join(root, "core/mod.ts")],
        "bulkhead/plugin-sdk": [join(root, "plugin-sdk/mod.ts")],
        "bulkhead/plugin-sdk/testing": [join(root, "plugin-sdk/testing.ts")],
        "bulkhead/conformance": [join(root, "core/kit/conformance/mod.ts")],
        "bulkhead/client": [join(root, "core/doors/client/mod.ts")],
      },
    };
    const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const result = runScript([join(root, "node_modules/typescript/bin/tsc"), "-p", folder, "--pretty", "false"]);
    expect(result).toEqual({ status: 0, output: "" });
  });

  for (const snippet of runnable) {
    test(`${snippet.place} runs`, () => {
      writeSources();
      const source = join(folder, fileOf(snippet));
      const script = onDeno ? source : source.replace(/\.ts$/, ".js");
      if (!onDeno) writeFileSync(script, transformSync(snippet.text, { loader: "ts", format: "esm" }).code);
      const { status, output } = runScript([script]);
      expect(status, output).toBe(0);
    });
  }
});

describe("YAML snippets", () => {
  for (const snippet of yaml) {
    test(`${snippet.place} is a valid ${yamlKind(snippet) ?? "file"}`, () => {
      switch (yamlKind(snippet)) {
        case "plugin.yaml": {
          const errors = [...Value.Errors(manifestSchema, parseYaml(snippet.text))];
          return expect(errors.map(({ path, message }) => `${path}: ${message}`)).toEqual([]);
        }
        case "bulkhead.yaml":
          return expect(parseHostManifest(snippet.text, { file: snippet.place })).toMatchObject({ bulkhead: 1 });
        case "conformance.yaml":
          return expect(parseScript(snippet.text)).toMatchObject({ conformance: 1 });
        default:
          // Outside formats, such as a CI file, need no comment.
          expect(parseYaml(snippet.text)).toBeTypeOf("object");
      }
    });
  }
});

describe("command lines", () => {
  const known = commands.map(({ name }) => name);

  for (const { place, line, command, flags } of calls) {
    test(`${place}: ${line}`, () => {
      if (command !== undefined && command !== "help") expect(known).toContain(command);
      if (flags.length === 0) return;
      const help = helpOf(line, command);
      for (const flag of flags) expect(help, help).toContain(flag);
    });
  }
});

describe("the reader of snippets", () => {
  test("snippetsOf gives language, tags, text and line, also of an indented fence", () => {
    const text =
      "# A\n\n```ts run\nlet a = 1;\n```\n\n- item\n\n  ```sh\n  bulkhead run\n  ```\n\n````md\n```ts\n```\n````\n";
    expect(snippetsOf("A.md", text)).toEqual([
      { place: "A.md:3", language: "ts", tags: ["run"], text: "let a = 1;\n" },
      { place: "A.md:9", language: "sh", tags: [], text: "bulkhead run\n" },
      { place: "A.md:13", language: "md", tags: [], text: "```ts\n```\n" },
    ]);
  });

  test("yamlKind reads the comment on the first line and no other", () => {
    const of = (text: string) => yamlKind({ place: "", language: "yaml", tags: [], text });
    expect(of("# plugin.yaml\nid: a\n")).toBe("plugin.yaml");
    expect(of("# my-agent/plugin.yaml: one\n")).toBe("plugin.yaml");
    expect(of("# bulkhead.yaml\n")).toBe("bulkhead.yaml");
    expect(of("id: a\n# plugin.yaml\n")).toBeNull();
  });

  test("callsIn finds calls behind prompts, npx, variables and pipes, and stops at --", () => {
    const text = [
      "npm install bulkhead",
      "$ npx -y bulkhead run demo --json | jq .",
      "A=1 bulkhead plugin grant x \\",
      "  --run 'a --not' -- --other",
      "cd x && bulkhead --version # bulkhead not",
      "./bulkhead nothing",
    ].join("\n");
    expect(callsIn(text).map(({ command, flags }) => [command, ...flags])).toEqual([
      ["run", "--json"],
      ["plugin", "--run"],
      [undefined, "--version"],
    ]);
  });
});

function fileOf({ place }: Snippet): string {
  return `${place.replaceAll(/[^\w]+/g, "-").toLowerCase()}.ts`;
}

function writeSources(): void {
  for (const snippet of typescript) writeFileSync(join(folder, fileOf(snippet)), snippet.text);
}

/** Help texts of the command and, where the line names one, of its sub-command. */
function helpOf(line: string, command: string | undefined): string {
  const main = join(root, onDeno ? "core/doors/cli/main.ts" : "dist/bundle/cli.js");
  const words = /\bbulkhead\s+(.*)$/.exec(line)?.[1]?.split(/\s+/) ?? [];
  const sub = words[1]?.match(/^[a-z][a-z-]*$/) ? [words[1]] : [];
  const asked = command === undefined ? [["--help"]] : [[command, "--help"], [command, ...sub, "--help"]];
  return asked.map((args) => runScript([main, ...args]).output).join("\n");
}

/** Runs a script on this runtime, in the repository's folder, with a home and state of its own. */
function runScript(args: string[]): { status: number | null; output: string } {
  const flags = onDeno ? ["run", "-A", "--config", join(root, "deno.json")] : [];
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [...flags, ...args], {
    cwd: root,
    encoding: "utf8",
    timeout: 60_000,
    env: { ...process.env, HOME: folder, XDG_STATE_HOME: join(folder, "state"), NO_COLOR: "1" },
  });
  if (error) throw error;
  return { status, output: stdout + stderr };
}
