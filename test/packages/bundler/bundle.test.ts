import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import type { BundleSource } from "../../../core/packages/bundler/bundle-order.ts";
import { stopBundler } from "../../../core/packages/bundler/make-bundle.ts";
import { bundlePlugin } from "../../../core/packages/bundler/plugin-script.ts";
import { sha256Hex } from "../../../core/ground/platform/files/hash.ts";
import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { codeManifest, newFolder, writePackage } from "../registry/package-folder.ts";

afterAll(stopBundler);

async function source(files: Record<string, string>, manifest: Partial<Manifest> = {}): Promise<BundleSource> {
  return { folder: await writePackage(files), manifest: { ...codeManifest, ...manifest }, limits: defaultLimits };
}

async function bundle(files: Record<string, string>) {
  return await bundlePlugin(await source(files));
}

/** What the guest does, without the walls. */
function namespaceOf(text: string): Record<string, unknown> {
  return (0, eval)(text) as Record<string, unknown>;
}

async function refusal(files: Record<string, string>, options?: { folder?: string }): Promise<BulkheadError> {
  const made = await source(files);
  if (options?.folder) made.folder = options.folder;
  try {
    await bundlePlugin(made);
  } catch (error) {
    return error as BulkheadError;
  }
  throw new Error("was not refused");
}

describe("bundlePlugin", () => {
  it("neither waits for a package.json that is a pipe nor reads a huge one", async () => {
    const pipe = async (files: Record<string, string>, at: string) => {
      const made = await source(files);
      execFileSync("mkfifo", [join(made.folder, at)]);
      return made;
    };
    const alone = await bundlePlugin(await pipe({ "mod.ts": "export default 1;" }, "package.json"));
    expect(namespaceOf(alone.text)["default"]).toBe(1);
    const relative = {
      "mod.ts": 'import one from "./lib/one.ts"; export default one;',
      "lib/one.ts": "export default 1;",
    };
    const dependency = { "mod.ts": 'import "left";', "node_modules/left/index.js": "" };
    const named = { "package.json": '{"dependencies": {"left": "1"}}' };
    for (
      const [files, at, folder] of [
        [relative, "package.json", "bulkhead-test-"],
        [relative, "lib/package.json", "lib"],
        [dependency, "package.json", "bulkhead-test-"],
        [{ ...dependency, ...named }, "node_modules/left/package.json", "left"],
      ] as const
    ) {
      const made = await pipe(files, at);
      await expect(bundlePlugin(made)).rejects.toMatchObject({
        code: "bundle_failed",
        message: expect.stringMatching(new RegExp(`${folder}\\w*/package\\.json: it is no file`)),
      });
    }
    const huge = `{"dependencies": {"left": "1"}, "x": "${"x".repeat(1024 * 1024)}"}`;
    expect((await refusal({ ...dependency, "package.json": huge })).message).toContain("more than 1048576 bytes");
  }, 20_000);

  it("bundles a package of 600 modules behind one index, though it may open 256 files", async () => {
    const names = Array.from({ length: 600 }, (_, index) => `one-${index}`);
    const modules = names.map((
      name,
      index,
    ) => [`node_modules/many/${name}.js`, `export const value${index} = ${index};`]);
    const { text } = await bundle({
      "mod.ts": 'import * as many from "many"; export default Object.keys(many).length;',
      "package.json": '{"dependencies": {"many": "1"}}',
      "node_modules/many/package.json": '{"name": "many", "version": "1.0.0", "type": "module", "main": "index.js"}',
      "node_modules/many/index.js": names.map((name) => `export * from "./${name}.js";`).join("\n"),
      ...Object.fromEntries(modules) as Record<string, string>,
    });
    expect(namespaceOf(text)["default"]).toBe(600);
  }, 60_000);

  it("gives up on a pipe that nobody sees beforehand", async () => {
    const made = await source({
      "mod.ts": 'import one from "left"; export default one;',
      "package.json": '{"dependencies": {"left": "1"}}',
      "node_modules/left/package.json": '{"exports": "./lib/index.js"}',
      "node_modules/left/lib/index.js": "export default 1;",
    });
    execFileSync("mkfifo", [join(made.folder, "node_modules/left/lib/package.json")]);
    await expect(bundlePlugin({ ...made, limits: { ...defaultLimits, bundle_timeout_ms: 1000 } })).rejects
      .toMatchObject({
        code: "bundle_failed",
        message: expect.stringContaining("within 1 seconds"),
        details: { reason: "timeout" },
      });
  });

  it("makes one script whose value is the entry's namespace, and hashes that text", async () => {
    const script = await bundle({
      "mod.ts": `import { half } from "./lib/half.ts"; import data from "./data.json" with { type: "json" };
        enum Way { Up = 1 } export default half(data.n) as number; export const way: Way = Way.Up;`,
      "lib/half.ts": "export function half(n: number): number { return n / 2; }",
      "data.json": '{"n": 42}',
    });
    const { default: value, way } = namespaceOf(script.text);
    expect([value, way]).toEqual([21, 1]);
    expect(script.sha256).toBe(sha256Hex(script.text));
  });

  it("makes a script that one host waits for when another one ends the bundler", async () => {
    const waiting = [1, 2, 3].map((n) => bundle({ "mod.ts": `export default ${n} as number;` }));
    const ended = new AbortController();
    const done = Promise.all(waiting).finally(() => ended.abort());
    while (!ended.signal.aborted) {
      await stopBundler();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const values = (await done).map(({ text }) => namespaceOf(text)["default"]);
    expect(values).toEqual([1, 2, 3]);
  });

  it("gives the same text wherever the package lies", async () => {
    const files = {
      "mod.js": 'const a = require("./b.cjs"); export default a.x;',
      "b.cjs": "exports.x = 1;",
    };
    const first = await bundlePlugin(await source(files, { entry: "mod.js" }));
    const second = await bundlePlugin(await source(files, { entry: "./mod.js" }));
    expect(first.text).toBe(second.text);
    expect(first.text).not.toContain("/tmp");
    expect(namespaceOf(first.text)["default"]).toBe(1);
  });

  it("keeps an adapter of defineAdapter() under 26 KB, limits in ten languages among it", async () => {
    const script = await bundle({
      "mod.ts": `import { defineAdapter } from "bulkhead/plugin-sdk";
        export default defineAdapter({ id: "demo", name: "Demo", version: "1.0.0", async *runSession() {} });`,
    });
    expect(script.text.length).toBeLessThan(26_000);
    const Adapter = namespaceOf(script.text)["default"] as new () => { id: string };
    expect(new Adapter().id).toBe("demo");
  });

  it("makes an adapter of a manifest alone", async () => {
    const made = await source({}, { cli: { binary: "tr", command_template: "{binary} a-z A-Z < {prompt_file}" } });
    delete made.manifest.entry;
    const Adapter = namespaceOf((await bundlePlugin(made)).text)["default"] as new () => { id: string };
    expect(new Adapter().id).toBe("demo");
  });

  it("gives a manifest's normaliser to its adapter", async () => {
    const made = await source(
      {
        "lines.ts":
          "export default function normalise(line: string) { return mark(line); }\nconst mark = (s: string) => ({ s });",
      },
      { cli: { binary: "tr", command_template: "{binary}" }, normaliser: "lines.ts" },
    );
    delete made.manifest.entry;
    const { text } = await bundlePlugin(made);
    expect(text).toContain("function normalise(line)");
    expect(typeof namespaceOf(text)["default"]).toBe("function");
  });

  it("bundles what package.json names, from the plugin's own node_modules, with what that names", async () => {
    const script = await bundle({
      "package.json": '{"dependencies": {"left": "1"}}',
      "mod.ts": 'import { left } from "left"; export default left();',
      "node_modules/left/package.json":
        '{"name": "left", "exports": {".": "./main.js"}, "dependencies": {"@s/right": "1"}, "imports": {"#own": "./own.js"}}',
      "node_modules/left/main.js":
        'import r from "@s/right/deep.js"; import o from "#own"; export const left = () => r + o;',
      "node_modules/left/own.js": "export default 'own'",
      "node_modules/@s/right/package.json": '{"name": "@s/right"}',
      "node_modules/@s/right/deep.js": "export default 'right-'",
    });
    expect(namespaceOf(script.text)["default"]).toBe("right-own");
  });

  it("takes packages from further node_modules only when told to", async () => {
    const made = await source({
      "package.json": '{"dependencies": {"shared": "1"}}',
      "mod.ts": 'import s from "shared"; export default s;',
    });
    const root = await writePackage({
      "node_modules/shared/package.json": '{"name": "shared", "main": "x.js"}',
      "node_modules/shared/x.js": "module.exports = 7;",
    });
    await expect(bundlePlugin(made)).rejects.toThrow('the package "shared" is not installed');
    const { text } = await bundlePlugin(made, { nodeModules: [`${root}/node_modules`] });
    expect(namespaceOf(text)["default"]).toBe(7);
    expect(text).not.toContain(root);
  });

  it("drops comments, licences and source maps of the author", async () => {
    const { text } = await bundle({
      "mod.ts":
        "/*! licence */\n/** @license x */\nexport default 1; // note\n//# sourceURL=evil\n//# sourceMappingURL=../../etc/x.json\n",
    });
    expect(text).not.toMatch(/licence|@license|note|sourceURL|sourceMappingURL/);
  });

  it("refuses a script over its limit", async () => {
    const made = await source({ "mod.ts": `export default ${JSON.stringify("x".repeat(5000))};` });
    const error = await bundlePlugin({ ...made, limits: { ...defaultLimits, script_bytes: 5000 } }).catch((
      thrown: unknown,
    ) => thrown);
    expect(error).toMatchObject({ code: "too_large", details: { limit: 5000 } });
  });

  it("works again after stopBundler()", async () => {
    await bundle({ "mod.ts": "export default 1;" });
    await stopBundler();
    expect(namespaceOf((await bundle({ "mod.ts": "export default 2;" })).text)["default"]).toBe(2);
  });
});

const refused: [name: string, files: Record<string, string>, message: string | RegExp][] = [
  ["a syntax error", { "mod.ts": "const a = 1;\n  let b = = 2;\n" }, 'mod.ts:2:11: Unexpected "=".\n  let b = = 2;'],
  [
    "a syntax error in another file",
    { "mod.ts": 'import "./a/b.ts";', "a/b.ts": "\n\n}" },
    /a\/b\.ts:3:1: Unexpected "}"/,
  ],
  [
    "a path up",
    { "mod.ts": 'import x from "../x.ts"; export default x;' },
    /mod\.ts:1:15: Cannot import "\.\.\/x\.ts": (no such module|it leads out)/,
  ],
  [
    "an absolute path",
    { "mod.ts": 'import "/etc/passwd";' },
    'mod.ts:1:8: Cannot import "/etc/passwd": an absolute path leads out of the package.',
  ],
  [
    "a Node module",
    { "mod.ts": 'import fs from "node:fs"; export default fs;' },
    /mod\.ts:1:16: Cannot import "node:fs": an adapter has no Node modules: use ctx\.fs/,
  ],
  [
    "a package that package.json does not name",
    { "mod.ts": 'import pad from "left-pad"; export default pad;' },
    /Cannot import "left-pad": the plugin's package\.json does not name "left-pad" in its dependencies; beside those it may import "bulkhead\/plugin-sdk"\./,
  ],
  [
    "a bare Node module",
    { "mod.ts": 'import fs from "fs"; export default fs;' },
    /Cannot import "fs": an adapter has no Node modules: use ctx\.fs/,
  ],
  ["a URL", { "mod.ts": 'import "https://example.com/x.ts";' }, /mod\.ts:1:8: .*nothing is loaded by URL/],
  ["a data URL", { "mod.ts": 'import "data:text/javascript,1";' }, /nothing is loaded by URL/],
  ["a registry URL", { "mod.ts": 'import "npm:left@1";' }, /nothing is loaded by URL/],
  [
    "require of a Node module",
    { "mod.ts": 'export default require("child_process");' },
    /mod\.ts:1:24: Cannot import "child_process"/,
  ],
  ["a package that is not named", {
    "package.json": '{"devDependencies": {"left": "1"}}',
    "mod.ts": 'import "left";',
    "node_modules/left/index.js": "1",
  }, /does not name "left" in its dependencies/],
  [
    "a part of the contract that is not offered",
    { "mod.ts": 'import "bulkhead/plugin-sdk/testing";' },
    /does not name "bulkhead"/,
  ],
  ["the host", { "mod.ts": 'import "bulkhead";' }, /does not name "bulkhead"/],
  [
    "a named package that is not installed",
    {
      "package.json": '{"dependencies": {"left": "1"}}',
      "mod.ts": 'import "left";',
    },
    'mod.ts:1:8: Cannot import "left": the package "left" is not installed in the plugin\'s node_modules. A folder above is not looked at; in a workspace, run: npm install --install-strategy=nested',
  ],
  ["what a package does not name", {
    "package.json": '{"dependencies": {"left": "1"}}',
    "mod.ts": 'import "left";',
    "node_modules/left/index.js": 'import "right";',
    "node_modules/left/package.json": '{"name": "left"}',
    "node_modules/right/index.js": "",
  }, /node_modules\/left\/index\.js:1:8: Cannot import "right"/],
  ["a package map that leads out", {
    "package.json": '{"imports": {"#out": "../../../etc/passwd", "#fs": "node:fs"}}',
    "mod.ts": 'import "#out";',
  }, /Cannot import "#out"/],
  [
    "a package map to a Node module",
    { "package.json": '{"imports": {"#fs": "node:fs"}}', "mod.ts": 'import "#fs";' },
    /Cannot import "#fs"/,
  ],
  ["a style sheet", { "mod.ts": 'import "./a.css";', "a.css": "" }, /only TypeScript, JavaScript and JSON/],
  ["a text", { "mod.ts": 'import "./a.txt";', "a.txt": "" }, /only TypeScript, JavaScript and JSON/],
  ["an unknown import attribute", {
    "mod.ts": 'import a from "./a.json" with { type: "text" }; export default a;',
    "a.json": "1",
  }, /import attribute type: "text"/],
  [
    "import.meta",
    { "mod.ts": "export default 1;\nexport const u = import.meta.url;" },
    /mod\.ts:2:18: an adapter has no import\.meta/,
  ],
  [
    "await at the top",
    { "mod.ts": "export default 1;\nawait 2;" },
    /mod\.ts:2:1: an adapter cannot await at the top level/,
  ],
  [
    "import() of a module",
    { "mod.ts": '\nexport default () => import("./b.ts");', "b.ts": "" },
    /mod\.ts:2:29: Cannot import "\.\/b\.ts": a plugin is one script/,
  ],
  ["import() of a name", {
    "mod.ts": "import { go } from './b.ts'; export default go;",
    "b.ts": "\nexport const go = (x: string) =>\n  import(x);",
  }, /b\.ts:3:3: a plugin is one script/],
  ["eval()", { "mod.ts": 'export default () => eval("1");' }, /mod\.ts:1:22: an adapter has no eval\(\)/],
  [
    "a tagged template",
    { "mod.ts": "export default String.raw`\n<!--`;" },
    /mod\.ts:1:\d+: a tagged template holds "<!--"/,
  ],
];

describe("bundlePlugin refuses", () => {
  it.each(refused)("%s", async (_name, files, message) => {
    const error = await refusal(files);
    expect(error.message.startsWith('Cannot bundle plugin "demo": ')).toBe(true);
    if (typeof message === "string") expect(error.message).toContain(message);
    else expect(error.message).toMatch(message);
    expect(error.code).toBe("bundle_failed");
    expect(error.details).toMatchObject({
      line: expect.any(Number),
      column: expect.any(Number),
      file: expect.any(String),
    });
    expect(error.message).not.toMatch(/plugin:|\/tmp\//);
  });

  it("links that lead out of the package, of a file, a folder and a package", async () => {
    const out = await writePackage({
      "secret.ts": "export default 'secret';",
      "index.js": "module.exports = 'secret'",
    });
    for (
      const [files, path] of [
        [{ "x.ts": `-> ${out}/secret.ts` }, "./x.ts"],
        [{ "x": `-> ${out}` }, "./x/secret.ts"],
        [{ "node_modules/left": `-> ${out}`, "package.json": '{"dependencies": {"left": "1"}}' }, "left"],
      ] as const
    ) {
      const error = await refusal({ ...files, "mod.ts": `import s from "${path}"; export default s;` });
      expect(error.message).toMatch(/mod\.ts:1:15: Cannot import ".*": it leads out of the package\./);
    }
  });

  it("an entry that a link takes out of the package", async () => {
    const out = await writePackage({ "secret.ts": "export default 1;" });
    const made = await source({ "mod.ts": `-> ${out}/secret.ts` });
    await expect(bundlePlugin(made)).rejects.toThrow("leads out of the package");
  });

  it("what a tsconfig.json above the package would map", async () => {
    const root = await writePackage({
      "tsconfig.json": '{"compilerOptions": {"paths": {"left": ["./out.ts"]}}}',
      "out.ts": "export default 1;",
      "p/mod.ts": 'import x from "left"; export default x;',
    });
    expect((await refusal({}, { folder: `${root}/p` })).message).toMatch(/does not name "left"/);
  });

  it("what another package above it has installed", async () => {
    const root = await writePackage({
      "node_modules/left/index.js": "module.exports = 1;",
      "p/package.json": '{"dependencies": {"left": "1"}}',
      "p/mod.ts": 'import x from "left"; export default x;',
    });
    expect((await refusal({}, { folder: `${root}/p` })).message).toMatch(/is not installed/);
  });

  it("a folder that is not there", async () => {
    const made = await source({ "mod.ts": "" });
    await expect(bundlePlugin({ ...made, folder: `${await newFolder()}/none` })).rejects.toMatchObject({
      code: "bundle_failed",
    });
  });
});

describe("PluginScript.mapStack", () => {
  it("finds the author's lines for a source URL and for an anonymous script", async () => {
    const script = await bundle({
      "mod.ts": 'import { fail } from "./lib/fail.ts";\nexport default function run(): void {\n  fail("x");\n}\n',
      "lib/fail.ts":
        'interface A {\n  b: string;\n}\nexport function fail(a: A["b"]): never {\n  throw new Error(a);\n}\n',
    });
    for (const url of ["\n//# sourceURL=plugin:demo", ""]) {
      const run = namespaceOf(`${script.text}${url}`)["default"] as () => void;
      let stack = "";
      try {
        run();
      } catch (error) {
        stack = script.mapStack((error as Error).stack ?? "");
      }
      expect(stack).toMatch(/lib\/fail\.ts:5:9/);
      expect(stack).toMatch(/mod\.ts:3:3/);
    }
  });

  it("counts back what was changed for the compartment", async () => {
    const script = await bundle({
      "mod.ts":
        'export const s = ["<!--", "-->", "import(x)", "eval("];\nexport default () => { throw new Error("x"); };\n',
    });
    expect(script.text).toContain("\\x3c!--");
    expect(namespaceOf(script.text)["s"]).toEqual(["<!--", "-->", "import(x)", "eval("]);
    const run = namespaceOf(`${script.text}\n//# sourceURL=plugin:demo`)["default"] as () => void;
    try {
      run();
      expect.unreachable();
    } catch (error) {
      expect(script.mapStack((error as Error).stack ?? "")).toMatch(/mod\.ts:2:30/);
    }
  });

  it("leaves other places and places outside the script alone", async () => {
    const script = await bundle({ "mod.ts": "export default 1;" });
    const stack = "at a (other.js:1:2)\nat b (plugin:demo:9999:1)\nat c (plugin:demolition:1:1)";
    expect(script.mapStack(stack)).toBe(stack);
  });
});
