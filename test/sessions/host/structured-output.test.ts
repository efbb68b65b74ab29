import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { connectOverPipes } from "../../doors/mcp/mcp-client.ts";
import { openDoor } from "../../doors/http/door-fixture.ts";
import { adapterCode, errorOf, openHost, type TestHost } from "./test-host.ts";

const schema = { type: "object", properties: { names: { type: "array" } }, required: ["names"] };
const says = (data: object) =>
  adapterCode(`    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null,
      structured_output: ${JSON.stringify(data)}, metadata: { took: 3 } };`);
const declared = `output_schema: ${JSON.stringify(schema)}`;

async function made(): Promise<TestHost> {
  const real = await openHost();
  await real.add("right", { code: says({ names: ["Ada"] }), manifest: declared });
  await real.add("wrong", { code: says({ name: "Ada" }), manifest: declared });
  return real;
}

describe("structured output", () => {
  test("travels through the journal, HTTP and its client", async () => {
    const { host, workdir } = await made();
    const door = await openDoor({ sessions: host.sessions });
    const client = await door.client("read", "run");
    const request = { workdir, prompt: "go" };
    const right = await client.start(request, { adapter: "right", artifacts: "none" });
    expect(await right.result()).toMatchObject({ structured_output: { names: ["Ada"] }, metadata: { took: 3 } });
    const said: unknown[] = [];
    for await (const { event, source } of (await host.sessions.open(right.id)).events()) {
      if (source === "agent") said.push(event);
    }
    expect(said.at(-1)).toMatchObject({ type: "completed", structured_output: { names: ["Ada"] } });
    const wrong = await client.start(request, { adapter: "wrong", artifacts: "none" });
    expect(await wrong.result()).toMatchObject({
      stop_reason: "output_invalid",
      error: { code: "output_invalid", details: { structured_output: { name: "Ada" } } },
    });
    await expect(client.start({ ...request, output_schema: { $ref: "https://far/s" } }, { adapter: "right" }))
      .rejects.toMatchObject({ code: "invalid_request", message: expect.stringContaining('output_schema["$ref"]') });
  });

  test("travels through MCP", async () => {
    const { host, workdir } = await made();
    await using tester = await connectOverPipes({ sessions: host.sessions });
    const call = async (adapter: string) =>
      await tester.client.callTool({
        name: "run_session",
        arguments: { workdir, prompt: "go", adapter, artifacts: "none", output_schema: schema },
      });
    expect((await call("right")).structuredContent).toMatchObject({
      data: { structured_output: { names: ["Ada"] } },
      metadata: { took: 3 },
    });
    expect((await call("wrong")).structuredContent).toMatchObject({
      success: false,
      error_type: "output_invalid",
      details: { structured_output: { name: "Ada" } },
    });
  });

  test("an agent whose adapter takes no schema is asked in the prompt, and one that does gets it", async () => {
    const { add, run } = await openHost();
    const code = adapterCode(`    yield { type: "completed", success: true, files_changed: [], tokens_used: null,
      cost: null, structured_output: { names: [request.prompt, request.output_schema ?? null] } };`);
    await add("asked", { code });
    await add("takes", { code, manifest: "accepts: [output_schema]" });
    const asked = await run("asked", { output_schema: schema });
    expect(asked.result).toMatchObject({ effective: { output_schema: "asked" } });
    expect(asked.result.structured_output).toEqual({ names: [expect.stringMatching(/^go\n\n.*JSON Schema/), null] });
    expect((await run("takes", { output_schema: schema })).result).toMatchObject({
      effective: { output_schema: "enforced" },
      structured_output: { names: ["go", schema] },
    });
  });

  test.each([
    [
      "a rule",
      `  command_template: "{binary} line"
  output:
    format: jsonl
    rules: [{ when: { done: true }, event: { type: completed, structured_output: $.data, metadata: { took: $.took } } }]`,
    ],
    ["a file", `  command_template: "{binary} file {output_file}"`],
  ])("of a tool without code comes by %s", async (_how, cli) => {
    const { host, root, run } = await openHost();
    const folder = join(root, "packages/scribe");
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, "tool.sh"),
      `#!/bin/sh
[ "$1" = line ] && echo '{"done":true,"data":{"names":["Ada"]},"took":3}'
[ "$1" = file ] && echo '{"names":["Ada"]}' > "$2"
exit 0
`,
    );
    await chmod(join(folder, "tool.sh"), 0o755);
    const binary = join(folder, "tool.sh");
    await writeFile(
      join(folder, "plugin.yaml"),
      `manifest: 1
id: scribe
name: Scribe
version: 1.0.0
description: Made by a test.
license: MIT
host: ^1.0.0
adapter_type: cli
cli:
  binary: ${binary}
${cli}
capabilities: {}
${declared}
`,
    );
    await host.registry.register(folder, { grant: { run: [{ binary, args: ["line", "file {*}"], contain: "off" }] } });
    const { result } = await run("scribe");
    expect(result.error).toBeUndefined();
    expect(result).toMatchObject({ stop_reason: "end_turn", structured_output: { names: ["Ada"] } });
  });

  test("a manifest whose schema leads elsewhere is refused with its line", async () => {
    const { add } = await openHost();
    const error = await errorOf(add("far", { code: says({}), manifest: "output_schema:\n  $ref: https://far/s" }));
    expect(error).toMatchObject({ code: "invalid_manifest" });
    expect(error.message).toMatch(/plugin\.yaml:\d+:\d+ output_schema\["\$ref"\]/);
  });
});
