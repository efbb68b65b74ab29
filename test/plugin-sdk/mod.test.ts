import { build, type BuildResult } from "esbuild";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const sdk = fileURLToPath(new URL("../../plugin-sdk", import.meta.url));
const runner = fileURLToPath(new URL("./in-compartment.mjs", import.meta.url));

async function bundle(source: string): Promise<BuildResult<{ write: false; metafile: true }>> {
  return await build({
    stdin: { contents: source, resolveDir: sdk, loader: "ts" },
    bundle: true,
    write: false,
    metafile: true,
    format: "iife",
    globalName: "bundle",
    platform: "neutral",
    mainFields: ["module", "main"],
    minifyWhitespace: true,
    target: "es2022",
    logLevel: "silent",
  });
}

const tool = {
  manifest: 1,
  id: "a-tool",
  name: "A tool",
  version: "1.0.0",
  description: "Drives a tool.",
  license: "MIT",
  host: "^1.0.0",
  adapter_type: "cli",
  capabilities: {},
  cli: {
    binary: "tool",
    command_template: "{binary} -p {prompt}",
    output: { format: "jsonl", rules: [{ when: { say: "*" }, event: { type: "output", data: "$.say" } }] },
  },
};

describe("the entry of the SDK", () => {
  test("runs in a compartment that has nothing but the language", async () => {
    const folder = await mkdtemp(join(tmpdir(), "bulkhead-sdk-"));
    try {
      const { outputFiles } = await bundle(
        `export * from "./mod.ts"; import { cliTool } from "./mod.ts"; export default cliTool(${
          JSON.stringify(tool)
        });`,
      );
      const file = join(folder, "bundle.js");
      await writeFile(file, outputFiles[0]?.text ?? "");
      const args = "Deno" in globalThis ? ["run", "-A", runner, file] : [runner, file];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const { events, exports } = JSON.parse(stdout) as { events: object[]; exports: string[] };
      expect(exports).toEqual(expect.arrayContaining(["AgentAdapter", "CliAdapter", "manifestSchema", "toolKinds"]));
      expect(events).toHaveLength(6);
      expect(events).toEqual(expect.arrayContaining([
        { type: "output", stream: "stdout", data: "tool -p go" },
        { type: "unparsed", data: { odd: 1 } },
        { type: "output", stream: "stdout", data: "plain\n" },
        { type: "output", stream: "stderr", data: "429, wait 5 seconds\n" },
        { type: "rate_limit", message: "429, wait 5 seconds", wait_ms: 5000 },
      ]));
      expect(events.at(-1)).toMatchObject({ type: "error", code: "rate_limit", recoverable: true });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test.each(["adapter", "cli-adapter", "cli-tool", "jsonl-mapping", "normalise", "rate-limit", "errors"])(
    "%s.ts brings no schema library into an adapter's bundle",
    async (name) => {
      const { metafile, outputFiles } = await bundle(`export * from "./${name}.ts";`);
      expect(Object.keys(metafile.inputs).filter((path) => path.includes("typebox"))).toEqual([]);
      expect(outputFiles[0]?.text.length).toBeLessThan(93_000);
    },
  );
});
