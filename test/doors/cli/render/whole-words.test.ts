import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { conformanceLines } from "../../../../core/doors/cli/render/conformance-lines.ts";
import { LiveView } from "../../../../core/doors/cli/render/live-view.ts";
import { createPaint } from "../../../../core/doors/cli/render/paint.ts";
import { resultLines } from "../../../../core/doors/cli/render/result-lines.ts";
import { drawingColumns } from "../../../../core/doors/cli/show-session.ts";
import { changeLine, watchScreen } from "../../../../core/doors/cli/watch/watch-rows.ts";
import type { WatchedSession } from "../../../../core/doors/cli/watch/watched-sessions.ts";
import type { ConformanceReport } from "../../../../core/kit/conformance/report.ts";
import type { AdapterEvent } from "../../../../plugin-sdk/events.ts";
import { brokenLines } from "../broken-lines.ts";
import { envelopesOf, fakeResult } from "../fake-host.ts";
import { fakeTerminal } from "../fake-terminal.ts";

const paint = createPaint(true);
const host = '"codewhisperer.us-east-1.amazonaws.com:443".';
const long = "The agent wrote a sentence that is a good deal longer than any narrow terminal, and then one word more.";

const report: ConformanceReport = {
  conformance: 1,
  plugin_id: "an-agent-with-a-name",
  version: "1.0.0",
  folder: "/home/somebody/projects/plugins/an-agent-with-a-name",
  runtime: "node 20.19.0",
  isolation: "process",
  passed: false,
  duration_ms: 12_345,
  rules: [
    {
      rule: "ends-once",
      title: "Each session ends with one last event, whatever happens in it.",
      outcome: "passed",
      findings: [],
    },
    {
      rule: "stops-when-told",
      title: long,
      outcome: "failed",
      findings: [{ message: `${long}\n${long}`, session: "hello" }, { message: `No session used net ${host}` }],
    },
    { rule: "wire", title: "It calls no model.", outcome: "skipped", findings: [], reason: long },
  ],
};

const result = fakeResult({
  outcome: "error",
  stop_reason: "crash",
  error: { code: "crash", message: long, hint: long },
  artifacts: null,
  artifacts_reason: "machine_lost",
  claimed_only: ["src/a-file-with-a-long-name-in-a-folder.ts"],
});

test.each([50, 80])("no word is broken by a terminal of %i columns: plugin test, run and watch", async (columns) => {
  const tested = conformanceLines(report, { paint, columns, all: true }).join("\n");
  expect(brokenLines(tested, columns)).toEqual([]);
  expect(tested).toContain(host);
  // What is wrapped is whole.
  expect(stripVTControlCharacters(tested).replaceAll(/\s+/g, " ")).toContain(long);
  const drawn = drawingColumns(fakeTerminal({ columns }));
  expect(brokenLines(resultLines(result, { paint, columns: drawn, events: 1234, named: true }).join("\n"), columns))
    .toEqual([]);
  let shown = "";
  const view = new LiveView({
    write: (text) => Promise.resolve(void (shown += text)),
    paint,
    columns: drawn,
    adapters: ["works"],
    lone: true,
    streaming: false,
    verbose: true,
  });
  const events: AdapterEvent[] = [
    { type: "output", stream: "stdout", data: long },
    { type: "thinking", content: long },
    { type: "progress", message: long },
    { type: "plan", entries: [{ content: long, status: "in_progress" }] },
    { type: "tool_call", call_id: "a", tool: "Read", kind: "read", input: { file_path: "src/parse.ts" } },
    { type: "tool_result", call_id: "a", tool: "Read", output: long, success: false, duration_ms: 3 },
    { type: "agent_started", agent_id: "sub", name: "Explorer", prompt: long },
    { type: "question", request_id: "q", question: long },
    { type: "error", code: "model_missing", message: long, recoverable: true },
  ];
  for (const envelope of envelopesOf(events)) await view.show(envelope);
  await view.finish();
  expect(brokenLines(shown, columns)).toEqual([]);
  const watched = {
    id: "0123456789abcdef0123456789abcdef",
    title: long,
    startedAt: "2026-11-29T12:00:00.000Z",
    facts: {
      adapter: "an-agent-with-a-name",
      asks: long,
      outcome: null,
      changedAt: null,
      step: null,
      plan: [],
      used: { cost: null, tokens: null },
      currency: "USD",
    },
    pulse: { step: { text: long, since: "2026-11-29T12:00:00.000Z", is_open: true } },
  } as unknown as WatchedSession;
  expect(brokenLines(changeLine(watched, { paint, columns }), columns)).toEqual([]);
  const facts = { ...watched.facts, asks: null, doing: long, plan: [{ content: long, status: "completed" }] };
  const used = { cost: 12.5, tokens: 1000 };
  const ended = { ...watched.facts, outcome: "completed", stopReason: "end_turn", asks: null, used };
  const all = [watched, { ...watched, facts: { ...facts, used } }, { ...watched, facts: ended }] as WatchedSession[];
  const now = Date.parse(watched.startedAt) + 200_000;
  const screen = watchScreen(all, { paint, columns, rows: 20, selected: 1, now, asked: null });
  expect(brokenLines(screen.join("\n"), columns)).toEqual([]);
});
