import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Served } from "./served.ts";

let served: Served;
let servers = "";
beforeAll(async () => {
  served = await Served.open();
  servers = join(served.home, "servers.json");
  const [command, ...args] = served.door("mcp", "--embedded");
  await writeFile(servers, JSON.stringify({ mcpServers: { bulkhead: { command, args } } }));
});
afterAll(() => served[Symbol.asyncDispose]());

/** Calls a method with the Inspector's command line. */
async function inspect(era: string, method: string, ...args: string[]): Promise<Record<string, unknown>> {
  const file = join(served.modules, "@modelcontextprotocol/inspector/clients/cli/build/index.js");
  const own = ["--config", servers, "--server", "bulkhead", "--protocol-era", era, "--format", "json", "--quiet"];
  const { status, stdout, stderr } = await served.client(file, [...own, "--method", method, ...args]);
  expect(status, stderr).toBe(0);
  return (JSON.parse(stdout) as { result: Record<string, unknown> }).result;
}

test.each(["legacy", "modern"])("the MCP Inspector lists what there is and runs a session, %s", async (era) => {
  // With --strict it fails for a schema that is wrong.
  const { tools } = await inspect(era, "tools/list", "--strict");
  expect(tools).toEqual(expect.arrayContaining([expect.objectContaining({ name: "run_session" })]));
  const { prompts } = await inspect(era, "prompts/list");
  expect(prompts).toEqual(expect.arrayContaining([expect.objectContaining({ name: "delegate_task" })]));
  const request = JSON.stringify({ workdir: served.workdir, prompt: `hello ${era}` });
  const ran = await inspect(era, "tools/call", "--tool-name", "run_session", "--tool-args-json", request);
  expect(ran["structuredContent"]).toMatchObject({ success: true, data: { output: `echo hello ${era} [-]` } });
  const { resources } = await inspect(era, "resources/list");
  expect(resources).toEqual(expect.arrayContaining([expect.objectContaining({ description: `hello ${era}` })]));
}, 120_000);
