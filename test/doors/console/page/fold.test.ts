import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dividedCalls, foldRows, holds } from "../../../../core/doors/console/page/fold.ts";
import { hasMark } from "../../../../core/doors/console/page/rows/row-marks.ts";
import type { ShownEvent } from "../../../../core/doors/console/page/shown-event.ts";
import { envelopesOf } from "../../cli/fake-host.ts";

type Event = ShownEvent["event"];
type Rows = ReturnType<typeof foldRows>;

const output = (data: string, stream: "stdout" | "stderr" = "stdout"): Event => ({ type: "output", stream, data });
const call = (call_id: string): Event => ({ type: "tool_call", call_id, tool: "Edit", kind: "edit", input: {} });
const result = (call_id: string): Event => ({
  type: "tool_result",
  call_id,
  tool: "Edit",
  output: "done",
  success: true,
  duration_ms: 1,
});
const used = (decision: "allowed" | "denied"): Event => ({
  type: "capability",
  permission: "net",
  target: "example.com:443",
  decision,
});

const fold = (...events: Event[]): Rows => foldRows(envelopesOf(events));
const kinds = (...events: Event[]): string[] => fold(...events).map(({ kind }) => kind);

describe("foldRows", () => {
  test("shows an answer in the row of its call across the border of two blocks, and not once more", () => {
    const all = envelopesOf([call("a"), call("b"), result("b"), output("x"), result("a"), call("c"), result("c")]);
    const [one, two] = [all.slice(0, 4), all.slice(4)];
    expect(foldRows(one, dividedCalls(one, { before: [], after: two }))).toMatchObject([
      { kind: "tool", seq: 1, result: { call_id: "a" } },
      { kind: "tool", seq: 2, result: { call_id: "b" } },
      { kind: "text" },
    ]);
    expect(foldRows(two, dividedCalls(two, { before: one, after: [] }))).toMatchObject([
      { kind: "tool", seq: 6, result: { call_id: "c" } },
    ]);
    // Where the neighbour is not here, nothing is left out.
    expect(foldRows(two)).toMatchObject([{ seq: 5, call: null, result: { call_id: "a" } }, { seq: 6 }]);
  });

  test("makes one row of a plan's updates, of reads that follow one another, and of what an agent's agent does", () => {
    const plan = (status: "pending" | "completed"): Event => ({ type: "plan", entries: [{ content: "Read", status }] });
    const read = (call_id: string): Event[] => [
      { type: "tool_call", call_id, tool: "Read", kind: "read", input: { path: call_id } },
      { type: "tool_result", call_id, tool: "Read", output: "", success: true, duration_ms: 1 },
    ];
    const sub = { agent_id: "sub" };
    const rows = fold(
      plan("pending"),
      ...read("a"),
      used("allowed"),
      ...read("b"),
      plan("completed"),
      { type: "agent_started", ...sub, name: "Explorer", prompt: "Look" },
      { ...call("t"), ...sub } as Event,
      output("meanwhile"),
      { ...result("t"), ...sub } as Event,
      { type: "agent_ended", ...sub, outcome: "completed" },
      ...read("c"),
    );
    expect(rows).toMatchObject([
      { kind: "plan", seq: 1, seqs: [1, 7], event: { entries: [{ status: "completed" }] } },
      { kind: "reads", seq: 2, to: 5, rows: [{ call: { call_id: "a" } }, { call: { call_id: "b" } }] },
      { kind: "agent", started: { name: "Explorer" }, ended: {}, rows: [{ kind: "tool", result: { call_id: "t" } }] },
      { kind: "text", text: "meanwhile" },
      { kind: "tool", call: { call_id: "c" } },
    ]);
    expect(rows.map((row) => [4, 7, 9, 11].filter((seq) => holds(row, seq)))).toEqual([[7], [4], [9], [], []]);
  });

  test("puts an agent's agent under the call that started it, and that one's agents under theirs", () => {
    const began = (agent_id: string, of: { call_id?: string; parent?: string } = {}): Event => {
      return { type: "agent_started", agent_id, name: agent_id, ...of };
    };
    const of = (agent_id: string, event: Event) => ({ ...event, agent_id }) as Event;
    const rows = fold(
      call("task"),
      began("one", { call_id: "task" }),
      of("one", call("deep")),
      began("two", { call_id: "deep", parent: "one" }),
      of("two", output("from below")),
      began("three", { parent: "one" }),
      { type: "agent_ended", agent_id: "two", outcome: "completed" },
      result("task"),
      began("alone"),
    );
    expect(rows).toMatchObject([
      {
        kind: "tool",
        call: { call_id: "task" },
        result: { call_id: "task" },
        agents: [{
          agent_id: "one",
          rows: [
            { kind: "tool", agents: [{ agent_id: "two", ended: {}, rows: [{ text: "from below" }] }] },
            { kind: "agent", agent_id: "three" },
          ],
        }],
      },
      { kind: "agent", agent_id: "alone" },
    ]);
    expect(rows.map((row) => holds(row, 5))).toEqual([true, false]);
    expect(rows.map((row) => hasMark(row, "said"))).toEqual([true, false]);
  });

  test("shows an agent's agent once where the border of two blocks divides what it did", () => {
    const sub = (event: Event) => ({ ...event, agent_id: "sub" }) as Event;
    const all = envelopesOf([
      { type: "agent_started", agent_id: "sub", name: "Explorer" },
      sub(output("a")),
      sub(output("b")),
      output("beside"),
      { type: "agent_ended", agent_id: "sub", outcome: "completed" },
      sub(output("late")),
    ]);
    const [one, two] = [all.slice(0, 2), all.slice(2)];
    expect(foldRows(one, dividedCalls(one, { before: [], after: two }))).toMatchObject([
      { kind: "agent", rows: [{ text: "ablate" }], ended: { outcome: "completed" } },
    ]);
    expect(foldRows(two, dividedCalls(two, { before: one, after: [] }))).toMatchObject([{ text: "beside" }]);
    // Where only rows of one kind are shown, each block has its own.
    const apart = dividedCalls(two, { before: one, after: [] }, { isFiltered: true });
    expect(foldRows(two, apart)).toMatchObject([{ kind: "agent" }, { text: "beside" }]);
  });

  test("puts a tool's answer, and what was asked about it, into the row of its call", () => {
    const asked: Event = {
      type: "permission_request",
      request_id: "p",
      call_id: "a",
      tool: "Edit",
      title: "",
      options: [],
    };
    const answered: Event = { type: "permission_resolved", request_id: "p", choice: "yes", by: "client" };
    const rows = fold(call("a"), call("b"), asked, answered, result("b"), result("a"));
    expect(rows).toMatchObject([
      { kind: "tool", seq: 1, result: { call_id: "a" }, parts: [{ seq: 3 }, { seq: 4 }] },
      { kind: "tool", seq: 2, result: { call_id: "b" }, parts: [] },
    ]);
  });

  test("shows an answer whose call is in another block, and a request about no call", () => {
    expect(fold(result("far"))).toMatchObject([{ kind: "tool", call: null, result: { call_id: "far" } }]);
    const asked: Event = { type: "permission_request", request_id: "p", tool: "Edit", title: "", options: [] };
    expect(kinds(asked, { type: "permission_resolved", request_id: "p", choice: null, by: "deadline" })).toEqual(
      ["event", "event"],
    );
  });

  test("joins text with the text that it continues, and keeps voices apart", () => {
    const thought: Event = { type: "thinking", content: "Hm." };
    expect(fold(output("a"), output("b"), output("c", "stderr"), thought, output("d"))).toMatchObject([
      { voice: "stdout", text: "ab", seq: 1, to: 2 },
      { voice: "stderr", text: "c" },
      { voice: "thinking", text: "Hm." },
      { voice: "stdout", text: "d" },
    ]);
  });

  test("tells an error once, with its advice, and names it by its code from then on", () => {
    const error = { code: "crash" as const, message: "The model is not there." };
    const told = { ...error, hint: "Choose another model." };
    const failed: Event = { type: "attempt_failed", attempt: 1, adapter_id: "fails", error: told, retry_in_ms: null };
    const result = { outcome: "error", stop_reason: "agent_error", output: "", error: told } as unknown;
    const ended = { type: "session_ended", result } as Event;
    const events: Event[] = [{ type: "error", ...error, recoverable: false }, failed, ended];
    const brief = { code: "crash", message: "crash" };
    expect(fold(...events)).toMatchObject([
      { event: { message: error.message } },
      { event: { error: { message: "crash", hint: told.hint } } },
      { event: { result: { error: brief } } },
    ]);
    expect(JSON.stringify(fold(...events)).split("Choose another")).toHaveLength(2);
    // The end may stand in the next block.
    const all = envelopesOf(events);
    const end = all.slice(2);
    expect(foldRows(end, dividedCalls(end, { before: all.slice(0, 2), after: [] }))).toMatchObject([
      { event: { result: { error: brief } } },
    ]);
    // An error that no row told before is told in full.
    expect(fold(ended)).toMatchObject([{ event: { result: { error: told } } }]);
  });

  test("begins a row after a text that was cut, and after a long one", () => {
    const [first, second] = envelopesOf([output("cut…"), output("next")]);
    expect(foldRows([{ ...first!, cut_from: 9_000_000 }, second!])).toMatchObject([{ cut: true }, { text: "next" }]);
    expect(fold(output("x".repeat(4096)), output("y"))).toHaveLength(2);
  });

  test("groups permissions that were used, and shows each denial by itself", () => {
    expect(kinds(used("allowed"), used("allowed"), used("denied"), used("allowed"))).toEqual(["used", "event", "used"]);
    // What a guarded place became, or which socket programs could reach.
    expect(kinds(used("allowed"), { ...used("allowed"), reason: "It was changed." } as Event)).toEqual([
      "used",
      "event",
    ]);
  });

  test("puts what was allowed into the row beside it, and gives it a row only where there is none", () => {
    const spawned: Event = { type: "process_spawned", process_id: 1, pid: 7, argv: ["/bin/true"] };
    const read = (call_id: string): Event[] => [
      { type: "tool_call", call_id, tool: "Read", kind: "read", input: { path: call_id } },
      { type: "tool_result", call_id, tool: "Read", output: "", success: true, duration_ms: 1 },
    ];
    const rows = fold(used("allowed"), spawned, call("a"), used("allowed"), used("allowed"), result("a"), output("x"));
    expect(rows).toMatchObject([
      { kind: "process", allowed: [{ seq: 1 }] },
      { kind: "tool", allowed: [{ seq: 4, to: 5 }] },
      { kind: "text" },
    ]);
    expect(rows.map((row) => [1, 5].filter((seq) => holds(row, seq)))).toEqual([[1], [5], []]);
    expect(kinds(output("x"), used("allowed"), output("y"))).toEqual(["text", "used", "text"]);
    expect(kinds(used("allowed"), ...read("a"), used("allowed"), ...read("b"), used("allowed"))).toEqual(["reads"]);
  });

  test("joins a process with its exit", () => {
    const spawned: Event = { type: "process_spawned", process_id: 1, pid: 7, argv: ["/bin/true"] };
    const exited: Event = {
      type: "process_exited",
      process_id: 1,
      pid: 7,
      exit_code: 0,
      signal: null,
      duration_ms: 5,
    };
    expect(fold(spawned, exited, { ...exited, process_id: 2 })).toMatchObject([
      { kind: "process", seq: 1, exited: { exit_code: 0 } },
      { kind: "event", seq: 3 },
    ]);
  });

  test("keeps every character of every voice in its order", () => {
    const text = fc.tuple(fc.string(), fc.constantFrom("stdout" as const, "stderr" as const)).map((one) =>
      output(...one)
    );
    const other = fc.constantFrom(call("a"), result("a"), used("allowed"), used("denied"));
    fc.assert(fc.property(fc.array(fc.oneof(text, other)), (events) => {
      for (const voice of ["stdout", "stderr"] as const) {
        const said = events.flatMap((event) => event.type === "output" && event.stream === voice ? [event.data] : []);
        const shown = foldRows(envelopesOf(events)).flatMap((row) =>
          row.kind === "text" && row.voice === voice ? [row.text] : []
        );
        expect(shown.join("")).toBe(said.join(""));
      }
    }));
  });
});
