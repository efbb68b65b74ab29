import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foldRows, holds } from "../../../../core/doors/console/page/fold.ts";
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
    const first = foldRows(all, { to: 4 });
    expect(first).toMatchObject([
      { kind: "tool", seq: 1, result: { call_id: "a" } },
      { kind: "tool", seq: 2, result: { call_id: "b" } },
      { kind: "text" },
    ]);
    expect(first.map((row) => holds(row, 5))).toEqual([true, false, false]);
    expect(foldRows(all, { from: 5 })).toMatchObject([{ kind: "tool", seq: 6, result: { call_id: "c" } }]);
    // Where the neighbour is not here, nothing is left out.
    const [, ...later] = all.slice(3);
    expect(foldRows(later)).toMatchObject([{ seq: 5, call: null, result: { call_id: "a" } }, { seq: 6 }]);
  });

  test("makes one row of reads that follow one another, and of what an agent's agent does", () => {
    const read = (call_id: string): Event[] => [
      { type: "tool_call", call_id, tool: "Read", kind: "read", input: { path: call_id } },
      { type: "tool_result", call_id, tool: "Read", output: "", success: true, duration_ms: 1 },
    ];
    const sub = { agent_id: "sub" };
    const rows = fold(
      ...read("a"),
      used("allowed"),
      ...read("b"),
      { type: "agent_started", ...sub, name: "Explorer", prompt: "Look" },
      { ...call("t"), ...sub } as Event,
      output("meanwhile"),
      { ...result("t"), ...sub } as Event,
      { type: "agent_ended", ...sub, outcome: "completed" },
      ...read("c"),
    );
    expect(rows).toMatchObject([
      { kind: "reads", seq: 1, to: 4, rows: [{ call: { call_id: "a" } }, { call: { call_id: "b" } }] },
      { kind: "agent", started: { name: "Explorer" }, ended: {}, rows: [{ kind: "tool", result: { call_id: "t" } }] },
      { kind: "text", text: "meanwhile" },
      { kind: "tool", call: { call_id: "c" } },
    ]);
    expect(rows.map((row) => [2, 5, 7, 9, 10].filter((seq) => holds(row, seq)))).toEqual([[2, 5], [7, 9, 10], [], []]);
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

  test("gives an agent's agent a row in each block of events, with the answers to its calls there", () => {
    const sub = (event: Event) => ({ ...event, agent_id: "sub" }) as Event;
    const all = envelopesOf([
      { type: "agent_started", agent_id: "sub", name: "Explorer" },
      ...Array.from({ length: 48 }, () => output("beside")),
      sub(call("c")),
      sub(output("b")),
      sub(result("c")),
      { type: "agent_ended", agent_id: "sub", outcome: "completed" },
    ]);
    const rows = foldRows(all, { isApart: true }).filter(({ kind }) => kind === "agent");
    expect(rows).toMatchObject([
      { seq: 1, started: {}, ended: null, rows: [{ kind: "tool", result: { output: "done" } }] },
      { seq: 51, started: null, end: 53, rows: [{ text: "b" }] },
    ]);
    expect(rows.map((row) => [52, 53].filter((seq) => holds(row, seq)))).toEqual([[52], [53]]);
  });

  test("joins nothing across the beginning of a turn, and no more than a thousand events", () => {
    const began = { type: "turn_started", turn: 2, by: "client", message_ids: [] } as unknown as Event;
    const read = (call_id: string): Event[] => [
      { type: "tool_call", call_id, tool: "Read", kind: "read", input: { path: call_id } },
      { type: "tool_result", call_id, tool: "Read", output: "", success: true, duration_ms: 1 },
    ];
    expect(kinds(output("a"), began, output("b"), used("allowed"), began, used("allowed"))).toEqual(
      ["text", "text", "used", "used"],
    );
    expect(kinds(...read("a"), ...read("b"), began, ...read("c"), ...read("d"))).toEqual(["reads", "reads"]);
    const texts = fold(...Array.from({ length: 2100 }, () => output("x")));
    expect(texts.map(({ seq }) => seq)).toEqual([1, 1001, 2001]);
    const reads = fold(...Array.from({ length: 600 }, (_, at) => read(`${at}`)).flat());
    expect(reads.map(({ seq }) => seq)).toEqual([1, 1001]);
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
    expect(foldRows(envelopesOf(events), { from: 3 })).toMatchObject([{ event: { result: { error: brief } } }]);
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
