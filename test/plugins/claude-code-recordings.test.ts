import { readdir, readFile } from "node:fs/promises";
import type { AdapterEvent } from "bulkhead/plugin-sdk";
import { expect, test } from "vitest";
import { StreamParser } from "../../plugins/claude-code/stream-parser.ts";

const folder = new URL("../fixtures/claude-code/recordings/", import.meta.url);
const names = (await readdir(folder)).map((name) => name.replace(/\.jsonl$/, "")).sort();

interface Line {
  in?: unknown;
  stderr?: string;
  exit?: number;
  type?: string;
  is_error?: boolean;
  result?: string;
  [key: string]: unknown;
}

async function linesOf(name: string): Promise<Line[]> {
  const text = await readFile(new URL(`${name}.jsonl`, folder), "utf8");
  return text.trim().split("\n").map((line): Line => JSON.parse(line));
}

/** What the program printed on standard output. */
async function printed(name: string): Promise<Line[]> {
  return (await linesOf(name)).filter((line) => line.type !== undefined);
}

function parse(lines: readonly unknown[]): AdapterEvent[] {
  const parser = new StreamParser();
  return lines.flatMap((line) => parser.parse(typeof line === "string" ? line : JSON.stringify(line)));
}

function spoken(events: readonly AdapterEvent[]): string {
  return events.map((event) => (event.type === "output" ? event.data : "")).join("");
}

test("claude-code passes every text on once, in pieces or as a whole", async () => {
  for (const name of names) {
    const lines = await printed(name);
    const whole = lines.flatMap((line) => textBlocks(line));
    const events = parse(lines);
    const pieces = spoken(events);
    for (const text of new Set(whole)) {
      const times = whole.filter((one) => one === text).length;
      expect.soft(pieces.split(text).length - 1, `${name}: ${text}`).toBe(times);
    }
    // Without its pieces the whole blocks say the same.
    const silent = parse(lines.filter(({ type }) => type !== "stream_event"));
    if (whole.length > 0) expect.soft(spoken(silent), name).toBe(pieces);
  }
});

/** The model's own words in whole blocks. */
function textBlocks(line: Line): string[] {
  const message = line["message"] as { model?: string; content?: { type: string; text?: string }[] } | undefined;
  if (line.type !== "assistant" || message?.model === "<synthetic>") return [];
  return (message?.content ?? []).flatMap(({ type, text }) => (type === "text" && text ? [text] : []));
}

test("claude-code ends each recording as its result says, whatever it calls itself", async () => {
  for (const name of names) {
    const lines = await printed(name);
    const results = lines.filter(({ type }) => type === "result");
    const last = parse(lines).filter(({ type }) => type === "completed" || type === "error");
    expect.soft(last.map(({ type }) => type), name).toEqual(
      results.map(({ is_error }) => (is_error ? "error" : "completed")),
    );
    results.forEach(({ is_error, result }, index) => {
      const word = last[index];
      const said = word?.type === "completed" ? word.output : word?.type === "error" ? word.message : undefined;
      if (!is_error || result !== undefined) expect.soft(said, name).toBe(result);
    });
  }
});

test("claude-code counts a continued session's own tokens and cost, not those of the earlier ones", async () => {
  const usages = parse(await printed("resume")).filter((event) => event.type === "usage" && event.scope === "session");
  expect(usages).toEqual([{
    type: "usage",
    scope: "session",
    tokens_in: 100,
    tokens_out: 20,
    tokens_cached: 0,
    cost: expect.closeTo(0.0006, 9),
    currency: "USD",
    model: "claude-sonnet-4-5",
  }]);
});

test("claude-code tells cached input apart, and counts it as input", () => {
  const start = { type: "message_start", message: { id: "m", model: "x", usage: { input_tokens: 5 } } };
  const usage = { output_tokens: 7, cache_read_input_tokens: 30, cache_creation_input_tokens: 2 };
  const events = parse(
    [start, { type: "message_delta", usage }, { type: "message_stop" }].map((event) => ({
      type: "stream_event",
      event,
    })),
  );
  expect(events).toEqual([
    { type: "usage", scope: "turn", tokens_in: 37, tokens_out: 7, tokens_cached: 30, cost: null, model: "x" },
  ]);
});

test("claude-code names the file that was changed, relative to the folder, with its diff", async () => {
  const events = parse(await printed("edit"));
  expect(events.filter(({ type }) => type === "file_change")).toEqual([
    { type: "file_change", path: "a.txt", action: "modify", diff: "@@ -1,2 +1,2 @@\n-one\n+two\n rest\n" },
  ]);
  expect(parse(await printed("tool")).filter(({ type }) => type === "file_change")).toEqual([
    { type: "file_change", path: "hello.txt", action: "create" },
  ]);
});

test("claude-code gives each tool call its kind, its result, its success and its time", async () => {
  const calls = async (name: string) =>
    parse(await printed(name)).flatMap((event) =>
      event.type === "tool_call"
        ? [`${event.tool} ${event.kind}`]
        : event.type === "tool_result"
        ? [`${event.tool} ${event.success} ${event.duration_ms === null}`]
        : []
    );
  expect(await calls("twotools")).toEqual(["Write edit", "Bash execute", "Write true false", "Bash true false"]);
  expect(await calls("failcmd")).toEqual(["Bash execute", "Bash false false"]);
  expect(await calls("deny")).toEqual(["Write edit", "Write false false"]);
});

test("claude-code keeps what it does not know, and never fails on it", () => {
  const strange = ['{"type":"news","x":1}', '{"type":', '{"type":"system","subtype":"?"}', "[1]", "plain", ""];
  expect(parse([...strange, '{"type":"assistant","message":{"content":[{"type":"hologram"}]}}', "null"])).toEqual([
    { type: "unparsed", data: { type: "news", x: 1 } },
    { type: "unparsed", data: '{"type":' },
    { type: "unparsed", data: { type: "system", subtype: "?" } },
    { type: "output", stream: "stdout", data: "[1]\n" },
    { type: "output", stream: "stdout", data: "plain\n" },
    { type: "unparsed", data: { type: "hologram" } },
    { type: "output", stream: "stdout", data: "null\n" },
  ]);
});

test("claude-code does not take a helper agent's words for the answer, and shows its tools", () => {
  const block = (content: unknown) => ({
    type: "assistant",
    parent_tool_use_id: "t1",
    message: { id: "m", content: [content] },
  });
  const piece = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hel" } };
  const events = parse([
    { type: "stream_event", parent_tool_use_id: "t1", event: piece },
    block({ type: "text", text: "helping" }),
    block({ type: "tool_use", id: "t2", name: "Grep", input: {} }),
    { type: "user", parent_tool_use_id: "t1", message: { content: "Help me." } },
  ]);
  expect(events).toEqual([
    { type: "agent_started", agent_id: "t1", call_id: "t1", name: "helper" },
    { type: "progress", message: "helping", agent_id: "t1" },
    { type: "tool_call", call_id: "t2", tool: "Grep", kind: "search", input: {}, agent_id: "t1" },
  ]);
});

test("claude-code turns the list of things to do into a plan", () => {
  const todos = [{ content: "a", status: "completed" }, { content: "b", status: "in_progress" }, { content: "c" }];
  const call = { type: "tool_use", id: "t", name: "TodoWrite", input: { todos } };
  expect(parse([{ type: "assistant", message: { content: [call] } }]).at(-1)).toEqual({
    type: "plan",
    entries: [
      { content: "a", status: "completed" },
      { content: "b", status: "in_progress" },
      { content: "c", status: "pending" },
    ],
  });
});
