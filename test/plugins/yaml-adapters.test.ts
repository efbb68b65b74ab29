import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { accepts } from "../../core/sessions/session/enforceable.ts";
import { cliTool } from "../../plugin-sdk/cli-tool.ts";
import { argumentPatterns, parseCommandTemplate } from "../../plugin-sdk/command-template.ts";
import { runAdapter } from "../../plugin-sdk/testing.ts";
import { manifestOnPage, textsOnPage } from "./yaml-page.ts";

const fixtures = new URL("../fixtures/", import.meta.url);
const folders: Readonly<Record<string, string>> = {
  claude: "claude-code/recordings/plain-",
  codex: "codex-yaml/",
  gemini: "gemini-cli/",
};

/** Plays a recording of the program to the adapter that the page shows. */
async function play(binary: string, name: string) {
  const text = await readFile(new URL(`${folders[binary]}${name}.jsonl`, fixtures), "utf8");
  const lines = text.trim().split("\n").filter((line) => !/^\{"(in|exit|stderr)":/.test(line));
  const run = await runAdapter(cliTool(manifestOnPage(binary)), { prompt: "go" }, {
    processes: [{ binary, stdout: lines.map((line) => `${line}\n`), exit_code: 0 }],
  });
  expect(run.violations).toEqual([]);
  expect(run.events.filter(({ type }) => type === "unparsed")).toEqual([]);
  const kinds = run.events.map(({ type }) => type as string).filter((type) =>
    !["agent_info", "usage", "progress"].includes(type)
  );
  const story = kinds.filter((type, at) => type !== kinds[at - 1] || !["output", "thinking"].includes(type)).join(" ");
  return { ...run, story };
}

const tool = "output tool_call tool_result file_change output completed";

test.each([
  ["claude", "ok", "thinking output completed", "done"],
  ["claude", "tool", `thinking ${tool.replace(" output completed", " thinking output completed")}`, "done"],
  ["codex", "ok", "thinking output completed", "done"],
  ["codex", "tool", "thinking output tool_call tool_result thinking output completed", "done"],
  ["codex", "gpt5-patch", `thinking ${tool.replace(" output completed", " thinking output completed")}`, "done"],
  ["gemini", "ok", "output completed", "done"],
  ["gemini", "tool", tool, "done"],
])("the %s adapter of the docs tells the recording %s", async (binary, name, story, output) => {
  const run = await play(binary, name);
  expect(run.story).toBe(story);
  const said = run.events.flatMap((event) => (event.type === "output" ? [event.data] : [])).join("");
  expect({ output: said, ...run.last }).toMatchObject({ type: "completed", output });
  const usage = run.events.find(({ type }) => type === "usage");
  expect(usage).toMatchObject({ tokens_in: name === "ok" ? 100 : 200, tokens_out: name === "ok" ? 20 : 40 });
  expect(run.events).toContainEqual(
    expect.objectContaining({ type: "agent_info", agent_session_id: expect.any(String) }),
  );
});

test.each([
  ["claude", "429sub", "rate_limit"],
  ["claude", "403", "unavailable"],
  ["claude", "400ctx", "context_overflow"],
  ["codex", "429sub", "rate_limit"],
  ["codex", "401", "unavailable"],
  ["codex", "400ctx", "context_overflow"],
  ["gemini", "429sub", "rate_limit"],
  ["gemini", "401", "unavailable"],
  ["gemini", "400ctx", "context_overflow"],
  ["gemini", "errevent", "fatal"],
])("the %s adapter of the docs knows why the recording %s failed: %s", async (binary, name, code) => {
  expect((await play(binary, name)).last).toMatchObject({ type: "error", code });
});

test.each(["claude", "codex", "gemini"])("the %s adapter of the docs may start all that it starts", (binary) => {
  const manifest = manifestOnPage(binary);
  const run = manifest.permissions?.run?.[0]?.args ?? [];
  const { command_template, auth } = manifest.cli!;
  const patterns = argumentPatterns(parseCommandTemplate(command_template)).map((line) => line.replaceAll('"', ""));
  // With the environment; the question for the version needs none.
  expect([...patterns, ...auth ? [auth.args] : []].toSorted()).toEqual([...run].toSorted());
  expect(accepts(manifest, "continue_from")).toBe(true);
});

test("Claude Code's adapter is the one that is compared with the adapter with code", async () => {
  const file = new URL("claude-code-yaml/plugin.yaml", fixtures);
  expect(await readFile(file, "utf8")).toBe(textsOnPage.get("claude"));
});

test("Claude Code's adapter hands the schema of a request on, and its data back", async () => {
  const manifest = manifestOnPage("claude");
  expect(accepts(manifest, "output_schema")).toBe(true);
  const text = await readFile(new URL("claude-code/recordings/schema.jsonl", fixtures), "utf8");
  const lines = text.trim().split("\n").filter((line) => !/^\{"(in|exit|type":"control_response)"/.test(line));
  const output_schema = { type: "object", properties: { names: { type: "array" } } };
  const run = await runAdapter(cliTool(manifest), { prompt: "go", output_schema }, {
    processes: [{ binary: "claude", stdout: lines.map((line) => `${line}\n`) }],
  });
  const args = run.calls.flatMap((call) => (call.call === "run" ? call.args : []));
  expect(args).toContain(`--json-schema=${JSON.stringify(output_schema)}`);
  expect(run.last).toMatchObject({ type: "completed", structured_output: { names: ["a"] } });
});
