import { readFile } from "node:fs/promises";
import { type AdapterEvent, BulkheadError } from "bulkhead/plugin-sdk";
import { runAdapter } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import Replay from "../../plugins/replay/mod.ts";
import { parseRecording } from "../../plugins/replay/recording.ts";

const folder = new URL("../../plugins/replay/", import.meta.url);
const bundled = await readFile(new URL("recordings/edit-session.jsonl", folder), "utf8");

function lines(...rows: unknown[]): string {
  return rows.map((row) => JSON.stringify(row)).join("\n");
}

function output(at_ms: number, data: string): unknown {
  return { at_ms, event: { type: "output", stream: "stdout", data } };
}

test("replay plays the bundled recording: its events in order and its files", async () => {
  const run = await runAdapter(Replay, { params: { speed: 0 } }, {
    files: { "/plugin/recordings/edit-session.jsonl": bundled },
  });
  const recorded = bundled.trim().split("\n").map((line): { event?: AdapterEvent } => JSON.parse(line));
  expect(run).toMatchObject({ error: null, violations: [] });
  expect(run.events).toEqual(recorded.flatMap(({ event }) => event ?? []));
  expect(run.events.at(-1)).toMatchObject({ type: "completed", success: true });
  expect(run.files).toMatchObject({
    "/work/hello.txt": "hi\n",
    "/work/greeting.txt": "hi\n",
    "/work/docs/hello.txt": "hi\n",
  });
});

test("replay's bundled recording takes two to four seconds, names no machine, and holds a real session", () => {
  const steps = parseRecording(bundled, "edit-session");
  const end = steps.at(-1)?.at_ms ?? 0;
  expect(end).toBeGreaterThan(2000);
  expect(end).toBeLessThan(4000);
  expect(bundled).not.toMatch(/\/workspace|\/home|\/root|\/tmp|\/work\//);
  const types = new Set(steps.flatMap((step) => step.kind === "event" ? [step.event.type] : []));
  expect([...types].sort()).toEqual([
    "agent_info",
    "completed",
    "file_change",
    "output",
    "thinking",
    "tool_call",
    "tool_result",
    "usage",
  ]);
});

test("replay reads a recording from the working directory and does every kind of step", async () => {
  const recording = lines(
    { at_ms: 0, write: { path: "a.txt", text: "1" } },
    output(1, "hi"),
    { at_ms: 2, rename: { from: "a.txt", to: "sub/b.txt" } },
    { at_ms: 3, delete: "old.txt" },
  );
  const run = await runAdapter(Replay, { params: { recording: "./my.jsonl", speed: 0 } }, {
    files: { "my.jsonl": recording, "old.txt": "x" },
  });
  expect(run).toMatchObject({ error: null, events: [{ type: "output", data: "hi" }] });
  expect(run.files).toEqual({ "/work/my.jsonl": recording, "/work/sub/b.txt": "1" });
});

test("replay writes files that are no text, by their bytes", async () => {
  const recording = lines({ at_ms: 0, write: { path: "a.bin", base64: "AP8BgA==" } });
  const run = await runAdapter(Replay, { params: { recording: "./my.jsonl", speed: 0 } }, {
    files: { "my.jsonl": recording },
  });
  expect(run.error).toBe(null);
  expect(run.files["/work/a.bin"]).toBe("\u0000\u00ff\u0001\u0080");
});

test("replay waits as recorded, and less at a higher speed", async () => {
  const files = { "r.jsonl": lines(output(0, "a"), output(400, "b")) };
  const times: number[] = [];
  for (const speed of [1, 4, 0]) {
    const started = performance.now();
    await runAdapter(Replay, { params: { recording: "./r.jsonl", speed } }, { files });
    times.push(performance.now() - started);
  }
  expect(times[0]).toBeGreaterThanOrEqual(390);
  expect(times[1]).toBeGreaterThanOrEqual(90);
  expect(times[2]).toBeLessThan(times[0] ?? 0);
});

test("replay stops waiting when the session is interrupted", async () => {
  const files = { "r.jsonl": lines(output(0, "a"), output(3_600_000, "b")) };
  const run = await runAdapter(Replay, { params: { recording: "./r.jsonl" } }, { files, interruptWhen: () => true });
  expect(run.events).toHaveLength(1);
});

test("replay lists its recordings when the name is unknown", async () => {
  const run = await runAdapter(Replay, { params: { recording: "nope" } }, {
    files: { "/plugin/recordings/edit-session.jsonl": bundled },
  });
  expect(run.error).toMatchObject({
    code: "not_found",
    message: 'Cannot replay "nope": there is no such recording.',
    hint: expect.stringContaining("edit-session"),
  });
});

test.each([
  [{ recording: 5 }],
  [{ speed: -1 }],
  [{ speed: "fast" }],
])("replay refuses the params %j", async (params) => {
  expect((await runAdapter(Replay, { params })).error).toMatchObject({ code: "invalid_request" });
});

test.each([
  ["not json", "line 1 is not JSON"],
  ["[]", "line 1 is not a JSON object"],
  ['{"event":{}}', 'line 1 has no "at_ms" from 0'],
  ['{"at_ms":-1,"delete":"a"}', 'line 1 has no "at_ms" from 0'],
  ['{"at_ms":0}', "line 1 must have exactly one of event, write, delete, rename"],
  ['{"at_ms":0,"delete":"a","write":{}}', "line 1 must have exactly one of"],
  ['{"at_ms":0,"explode":true}', "line 1 must have exactly one of"],
  ['{"at_ms":0,"event":{"type":"nope"}}', "line 1 has an event of no known type"],
  ['{"at_ms":0,"event":"output"}', "line 1 has an event of no known type"],
  ['{"at_ms":0,"write":{"path":"a"}}', 'line 1 writes without a "text" or "base64"'],
  ['{"at_ms":0,"write":{"text":"a"}}', "line 1 names no path"],
  ['{"at_ms":0,"delete":"/etc/passwd"}', 'line 1 names "/etc/passwd", which is not a path inside'],
  ['{"at_ms":0,"delete":"a/../../b"}', 'line 1 names "a/../../b"'],
  ['{"at_ms":0,"rename":{"from":"a"}}', "line 1 names no path"],
  ['{"at_ms":5,"delete":"a"}\n\n{"at_ms":4,"delete":"b"}', "line 3 goes back in time, from 5 to 4 ms"],
  ['{"at_ms":0,"turn":5}', "line 1 has a message without its text"],
  ['{"at_ms":0,"steer":{}}', "line 1 has a message without its text"],
  ["\n", "it holds no line"],
])("parseRecording refuses %j", (text, why) => {
  expect(() => parseRecording(text, "r")).toThrow(BulkheadError);
  expect(() => parseRecording(text, "r")).toThrow(`Cannot replay "r": ${why}`);
});

test("replay waits at each turn for its message, and says DRIFT for another one", async () => {
  const done = { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
  const recording = lines(
    output(0, "one"),
    { at_ms: 1, event: done },
    { at_ms: 2, turn: "more" },
    output(3, "two"),
    { at_ms: 4, event: done },
  );
  const play = (turns?: { prompt?: string }[]) =>
    runAdapter(Replay, { params: { recording: "./my.jsonl", speed: 0 } }, {
      files: { "my.jsonl": recording },
      ...(turns === undefined ? {} : { turns }),
    });
  const said = ({ events }: { events: AdapterEvent[] }) =>
    events.map((event) => event.type === "output" ? event.data : event.type);
  const both = await play([{}, { prompt: "more" }]);
  expect([said(both), both.error, both.violations]).toEqual([["one", "completed", "two", "completed"], null, []]);
  expect(said(await play())).toEqual(["one", "completed"]);
  const other = await play([{}, { prompt: "else" }]);
  expect(other.error?.message).toBe('DRIFT: turn 2 begins with "else", and was recorded with "more".');
});

test("replay takes a word where it was recorded, and says DRIFT for another one", async () => {
  const done = { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
  const recording = lines(output(0, "one"), { at_ms: 1, steer: "quickly" }, output(2, "two"), {
    at_ms: 3,
    event: done,
  });
  const play = (turns?: { messages?: string[] }[]) =>
    runAdapter(Replay, { params: { recording: "./my.jsonl", speed: 0 } }, {
      files: { "my.jsonl": recording },
      ...(turns === undefined ? {} : { turns }),
    });
  const same = await play([{ messages: ["quickly"] }]);
  expect([same.error, same.violations]).toEqual([null, []]);
  const taken = { type: "message", message_id: "turn-1-message-1", state: "taken" };
  expect(same.events.slice(0, 3)).toMatchObject([{ data: "one" }, taken, { data: "two" }]);
  const other = await play([{ messages: ["slowly"] }]);
  expect(other.error?.message).toBe('DRIFT: turn 1 gets "slowly", and was recorded with "quickly".');
  // No client talks with a session that is not kept.
  const alone = await play();
  expect([alone.error, alone.events.map(({ type }) => type)]).toEqual([null, ["output", "output", "completed"]]);
});
