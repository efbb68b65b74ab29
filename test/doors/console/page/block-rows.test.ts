import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { blockRows, blocksAround } from "../../../../core/doors/console/page/block-rows.ts";
import type { TimelineRow } from "../../../../core/doors/console/page/fold.ts";
import { type EventBlock, type SessionEvents, unknown } from "../../../../core/doors/console/page/session-events.ts";
import { blockSize, type ShownEvent } from "../../../../core/doors/console/page/shown-event.ts";
import { shownEvents } from "./shown-events.ts";

type Event = ShownEvent["event"];

const said = (data = "x"): Event => ({ type: "output", stream: "stdout", data });
const turnStarted = { type: "turn_started", turn: 2, by: "client", message_ids: [] } as unknown as Event;
const progress: Event = { type: "progress", message: "on it" };
const read = (call_id: string): Event[] => [
  { type: "tool_call", call_id, tool: "Read", kind: "read", input: { path: call_id } },
  { type: "tool_result", call_id, tool: "Read", output: "", success: true, duration_ms: 1 },
];
const inner = (event: Event, agent_id = "sub") => ({ ...event, agent_id }) as Event;
const began = (agent_id: string, of: { call_id?: string; parent?: string } = {}): Event => {
  return { type: "agent_started", agent_id, name: agent_id, ...of };
};
const plan = (done: number): Event => ({
  type: "plan",
  entries: [0, 1, 2].map((at) => ({ content: `${at}`, status: at < done ? "completed" : "pending" })),
});

/** A session's events as the page has them; those of a block that is not here are not asked for. */
function eventsOf(events: readonly Event[], { gone = [] }: { gone?: readonly number[] } = {}): SessionEvents {
  const all = shownEvents(events);
  const blocks: EventBlock[] = [];
  for (let at = 0; at < all.length; at += blockSize) blocks.push({ events: all.slice(at, at + blockSize) });
  const peek = (at: number) => gone.includes(at) ? unknown : blocks[at] ?? unknown;
  return { block: peek, peek, beside: peek } as unknown as SessionEvents;
}

const whole = {
  from: 1,
  to: null,
  mark: null,
  target: null,
  isDivided: false,
  plan: undefined,
  homeless: [],
  above: [],
};

function rowsOf(events: readonly Event[], options: Partial<Parameters<typeof blockRows>[1]> = {}): TimelineRow[][] {
  const source = eventsOf(events);
  return Array.from({ length: Math.ceil(events.length / blockSize) }, (_, index) => {
    const around = blocksAround(source, index, { isSparse: false }).flatMap((block) => block.events);
    return blockRows(around, { ...whole, index, ...options });
  });
}

/** A text of one letter for each event, so that what is lost or doubled is seen. */
const letters = (count: number) => Array.from({ length: count }, (_, at) => said(String.fromCharCode(97 + at % 26)));
const texts = (rows: readonly TimelineRow[]) => rows.flatMap((row) => row.kind === "text" ? [row.text] : []);

describe("blockRows", () => {
  test("a text and reads that go on through several blocks are one row, where they begin", () => {
    const rows = rowsOf([
      progress,
      ...letters(170),
      progress,
      ...Array.from({ length: 80 }, (_, at) => read(`${at}`)).flat(),
    ]);
    expect(rows.map((block) => block.map(({ kind, seq }) => `${kind} ${seq}`))).toEqual([
      ["event 1", "text 2"],
      [],
      [],
      ["event 172", "reads 173"],
      [],
      [],
      [],
    ]);
    expect(texts(rows.flat())).toEqual([letters(170).map((one) => (one as { data: string }).data).join("")]);
    expect(rows[3]![1]).toMatchObject({ rows: { length: 80 } });
  });

  test("no text is lost and none is shown twice, wherever blocks divide it and whatever is between", () => {
    const other = fc.constantFrom<Event>(
      progress,
      ...read("a"),
      { type: "capability", permission: "net", target: "a:1", decision: "allowed" },
      inner(said("inner")),
      plan(1),
      { type: "tool_call", call_id: "b", tool: "Bash", kind: "execute", input: {} },
    );
    const run = fc.tuple(fc.integer({ min: 0, max: 140 }), fc.array(other, { maxLength: 60 }));
    fc.assert(
      fc.property(fc.array(run, { maxLength: 6 }), (runs) => {
        const events = runs.flatMap(([count, others]) => [...letters(count), ...others]);
        const said = events.flatMap((event) =>
          event.type === "output" && event.agent_id === undefined ? [event.data] : []
        );
        expect(texts(rowsOf(events).flat()).join("")).toBe(said.join(""));
        const calls = events.filter(({ type }) => type === "tool_call").length;
        const shown = rowsOf(events).flat().flatMap((row) => row.kind === "reads" ? row.rows : [row]);
        expect(shown.filter((row) => row.kind === "tool" && row.call !== null)).toHaveLength(calls);
      }),
      { numRuns: 60 },
    );
  });

  test("a block stands for itself where those beside it are not here", () => {
    const source = eventsOf([...letters(150)], { gone: [0, 2] });
    expect(blocksAround(source, 1, { isSparse: false })).toHaveLength(1);
  });

  test("a plan has one row, where it was changed last, and one where a reader goes to", () => {
    const events = Array.from({ length: 190 }, (_, at) => at % 40 === 3 ? plan(at / 60) : progress);
    const seqs = (options: Parameters<typeof rowsOf>[1]) =>
      rowsOf(events, options).flat().flatMap(({ kind, seq }) => kind === "plan" ? [seq] : []);
    expect(seqs({ plan: { seq: 164, updates: 5 } })).toEqual([164]);
    expect(seqs({ plan: { seq: 164, updates: 5 }, target: 44 })).toEqual([44, 164]);
    // Until it is known which is the newest, each block has one.
    expect(seqs({})).toEqual([44, 84, 124, 164]);
    expect(seqs({ from: 60, to: 140, plan: { seq: 124, updates: 2 } })).toEqual([124]);
  });

  test("an agent's agent has one row, where it began, under its call also across a border; and one where a reader goes to", () => {
    const events = [
      ...Array.from({ length: 49 }, () => progress),
      { type: "tool_call", call_id: "task", tool: "Task", kind: "other", input: {} } as Event,
      began("sub", { call_id: "task" }),
      ...Array.from({ length: 120 }, (_, at) => inner(said(`${at}`))),
      began("deep", { parent: "sub" }),
      inner(said("deep down"), "deep"),
      { type: "agent_ended", agent_id: "sub", outcome: "completed" } as Event,
      said("after"),
    ];
    const rows = rowsOf(events).flat().filter(({ kind }) => kind !== "event");
    expect(rows).toMatchObject([
      { kind: "tool", seq: 50, agents: [{ agent_id: "sub", seq: 51 }] },
      { kind: "text", text: "after" },
    ]);
    const there = rowsOf(events, { target: 130 });
    expect(there[2]).toMatchObject([{ kind: "agent", agent_id: "sub", started: null }]);
    expect(there.flat().filter(({ kind }) => kind === "agent")).toHaveLength(1);
    // One that no event began keeps a row in each block: nothing else would show it.
    const alone = rowsOf(Array.from({ length: 100 }, () => inner(said())), { homeless: ["sub"] });
    expect(alone.map((block) => block.map(({ kind }) => kind))).toEqual([["agent"], ["agent"]]);
    // Among rows of one kind each block has its own.
    expect(rowsOf(events, { mark: "said" }).flat().filter(({ kind }) => kind === "agent")).toHaveLength(3);
  });

  test("a turn has the answer to its call also where the next turn begins in the same block", () => {
    const events: Event[] = [
      { type: "tool_call", call_id: "a", tool: "Bash", kind: "execute", input: {} },
      said("first"),
      turnStarted,
      { type: "tool_result", call_id: "a", tool: "Bash", output: "done", success: true, duration_ms: 1 },
      said("second"),
    ];
    expect(rowsOf(events, { to: 2 }).flat()).toMatchObject([{ kind: "tool", result: {} }, { text: "first" }]);
    expect(rowsOf(events, { from: 3 }).flat()).toMatchObject([{ text: "second" }]);
  });
});
