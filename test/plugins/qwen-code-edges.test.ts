import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readManifest } from "../../core/packages/manifest/read-manifest.ts";
import { accepts } from "../../core/sessions/session/enforceable.ts";
import { cliTool } from "../../plugin-sdk/cli-tool.ts";
import { argumentPatterns, parseCommandTemplate } from "../../plugin-sdk/command-template.ts";
import { mapJsonLine } from "../../plugin-sdk/jsonl-mapping.ts";
import { runAdapter } from "../../plugin-sdk/testing.ts";

test("Qwen Code's calls of several tools at once are all told, each with its result", async () => {
  const { cli } = await readManifest(fileURLToPath(new URL("../../plugins/qwen-code/", import.meta.url)));
  const rules = cli?.output?.format === "jsonl" ? cli.output.rules : [];
  const use = (id: string) => ({ type: "tool_use", id, name: "read_file", input: { path: id } });
  const answer = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "ok", is_error: false });
  const events = [
    { type: "assistant", message: { content: [use("a"), use("b")] } },
    { type: "user", message: { content: [answer("a"), answer("b")] } },
  ].flatMap((one) => mapJsonLine(JSON.stringify(one), rules));
  expect(events.map((event) => "call_id" in event ? `${event.type} ${event.call_id}` : event.type)).toEqual([
    "tool_call a",
    "tool_call b",
    "tool_result a",
    "tool_result b",
  ]);
});

test("Qwen Code's word on its mode, which is that of each session, is dropped", async () => {
  const manifest = await readManifest(fileURLToPath(new URL("../../plugins/qwen-code/", import.meta.url)));
  const stderr = "YOLO mode is enabled. All tool calls will be automatically approved.\nno auth type\n";
  const { events } = await runAdapter(cliTool(manifest), { prompt: "hi" }, { processes: [{ stderr, exit_code: 1 }] });
  expect(events).toMatchObject([
    { type: "output", stream: "stderr", data: "no auth type\n" },
    { type: "error", code: "unavailable", message: "The program exited with code 1: no auth type" },
  ]);
});

test.each(["pi", "qwen-code"])(
  "plugins/%s continues a session, and takes a model only where one is asked for",
  async (id) => {
    const manifest = await readManifest(fileURLToPath(new URL(`../../plugins/${id}/`, import.meta.url)));
    const run = manifest.permissions?.run?.[0]?.args ?? [];
    expect(["model", "continue_from"].filter((field) => accepts(manifest, field as "model"))).toHaveLength(2);
    // The line with the environment allows all that the template becomes.
    expect(argumentPatterns(parseCommandTemplate(manifest.cli!.command_template)).toSorted()).toEqual(run.toSorted());
  },
);
