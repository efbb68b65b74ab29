import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SessionProgress } from "../../../../core/doors/cli/render/session-progress.ts";
import { createPaint } from "../../../../core/doors/cli/render/paint.ts";
import { statusText } from "../../../../core/doors/cli/screen/session-status.ts";
import { StatusScreen } from "../../../../core/doors/cli/screen/status-screen.ts";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { envelopesOf } from "../fake-host.ts";
import { fakeTerminal } from "../fake-terminal.ts";
import { seen } from "./seen.ts";

let ticks: (() => void)[] = [];
vi.mock("../../../../core/ground/platform/engine/background-timer.ts", () => ({
  startBackgroundTimer: (callback: () => void) => {
    ticks.push(callback);
    return () => void (ticks = ticks.filter((one) => one !== callback));
  },
}));

beforeEach(() => {
  ticks = [];
});
afterEach(() => expect(ticks).toEqual([]));

function tick(): void {
  for (const callback of ticks.splice(0)) callback();
}

const columns = 20;

function open(stdin = "") {
  const real = fakeTerminal({ tty: true, columns, stdin });
  // Both outputs lead to one terminal.
  const written: string[] = [];
  const write = async (text: string | Uint8Array) => void written.push(String(text));
  const both = { ...real, stdout: { ...real.stdout, write }, stderr: { ...real.stderr, write } };
  const screen = StatusScreen.of(both)!;
  return { real, screen, rows: () => seen(written.join(""), columns), written };
}

test("StatusScreen keeps its line below all that is written, and takes it away at the end", async () => {
  const { screen, rows } = open();
  const hide = screen.show({ draw: () => "status" });
  expect(rows()).toEqual(["status"]);
  await screen.terminal.stdout.write("one\n");
  await screen.terminal.stderr.write("half ");
  expect(rows()).toEqual(["one", "half", "status"]);
  tick();
  await screen.terminal.stdout.write("a line\n");
  expect(rows()).toEqual(["one", "half a line", "status"]);
  hide();
  expect(rows()).toEqual(["one", "half a line", ""]);
});

test("StatusScreen shows every text as it would stand without the line", async () => {
  const piece = fc.oneof(
    fc.constantFrom("\n", "word ", "\u001b[31mred\u001b[39m", "x".repeat(columns)),
    fc.constant(null),
  );
  await fc.assert(fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
    const { screen, rows, written } = open();
    const hide = screen.show({ draw: (room) => "s".repeat(room) });
    for (const text of pieces) {
      if (text === null) tick();
      else await screen.terminal.stdout.write(text);
    }
    hide();
    expect(rows()).toEqual(seen(pieces.filter((text) => text !== null).join(""), columns));
    expect(written.join("")).toContain("s".repeat(columns - 1));
  }));
});

test("StatusScreen leaves the bottom to a line that is typed", async () => {
  const { screen, rows } = open("yes");
  const hide = screen.show({ draw: () => "status" });
  await screen.terminal.stderr.write("Sure? ");
  const typed = screen.terminal.stdin.readLine();
  expect(rows()).toEqual(["Sure?"]);
  tick();
  expect(rows()).toEqual(["Sure?"]);
  expect(await typed).toBe("yes");
  hide();
});

test("StatusScreen takes keys while its line stands", () => {
  const { screen, real } = open();
  const keys: string[] = [];
  const hide = screen.show({ draw: () => "status", onKey: (key) => keys.push(key) });
  real.press("i");
  hide();
  real.press("p");
  expect(keys).toEqual(["i"]);
});

test("StatusScreen is for terminals alone that can erase", () => {
  expect(StatusScreen.of(fakeTerminal())).toBeUndefined();
  expect(StatusScreen.of(fakeTerminal({ tty: true, env: { TERM: "dumb" } }))).toBeUndefined();
});

function factsOf(...events: Envelope["event"][]): SessionProgress {
  const facts = new SessionProgress();
  for (const envelope of envelopesOf(events)) facts.see(envelope);
  return facts;
}

const plain = { paint: createPaint(false), elapsedMs: 102_000, interrupts: "possible" } as const;
const plan = (done: number): Envelope["event"] => ({
  type: "plan",
  entries: ["Read", "Fix the rounding of all amounts in the report", "Test"].map((content, index) => ({
    content,
    status: index < done ? "completed" : index === done ? "in_progress" : "pending",
  })),
});
const usage = (cost: number, scope: "turn" | "session" = "turn"): Envelope["event"] => ({
  type: "usage",
  scope,
  tokens_in: 11_000,
  tokens_out: 500,
  tokens_cached: null,
  cost,
});

test("statusText tells time, step, cost, tokens and keys, and drops the keys where the terminal is narrow", () => {
  const facts = factsOf(plan(1), usage(0.06), usage(0.06));
  expect(statusText(facts, { ...plain, columns: 100 })).toBe(
    " ⠋ 1:42  2/3 Fix the rounding of all amounts in the report  $0.12  23 k   [i]nterrupt [p]lan",
  );
  expect(statusText(facts, { ...plain, columns: 60 })).toBe(
    " ⠋ 1:42  2/3 Fix the rounding of all amounts i…  $0.12  23 k",
  );
  expect(statusText(facts, { ...plain, columns: 100, interrupts: "under way" })).toBe(
    " ⠋ 1:42  interrupting  $0.12  23 k",
  );
});

test("statusText names the tool that works, else what the session waits for", () => {
  const call: Envelope["event"] = {
    type: "tool_call",
    call_id: "1",
    tool: "Bash",
    kind: "execute",
    input: { command: "npm\ttest" },
  };
  const over: Envelope["event"] = {
    type: "tool_result",
    call_id: "1",
    tool: "Bash",
    output: "",
    success: true,
    duration_ms: 1,
  };
  const without = { ...plain, columns: 100, interrupts: "none" } as const;
  expect(statusText(factsOf(call), without)).toBe(" ⠋ 1:42  Bash npm test");
  expect(statusText(factsOf(plan(0), call), without)).toBe(" ⠋ 1:42  1/3 Read · Bash npm test");
  expect(
    statusText(
      factsOf({ type: "completed", success: true, files_changed: [], tokens_used: null, cost: null }),
      without,
    ),
  )
    .toBe(" ⠋ 1:42  looking which files changed");
  expect(statusText(factsOf(call, over), without)).toBe(" ⠋ 1:42  running");
});

test("SessionProgress adds the turns of all attempts; a session's own figures replace those of its turns", () => {
  const attempt: Envelope["event"] = { type: "attempt_started", attempt: 2, adapter_id: "beta" };
  expect(factsOf(usage(1), usage(2)).used).toEqual({ cost: 3, tokens: 23_000 });
  expect(factsOf(usage(1), usage(2), usage(2.5, "session")).used).toEqual({ cost: 2.5, tokens: 11_500 });
  expect(factsOf(usage(1), attempt, usage(2)).used).toEqual({ cost: 3, tokens: 23_000 });
});
