import { expect, test } from "vitest";
import { createMemoryJournal } from "../../records/journal/memory-journal.ts";
import {
  type AfterRestart,
  endInterrupted,
  readInterrupted,
} from "../../../core/sessions/session/interrupted-session.ts";
import { MergedLog } from "../../../core/sessions/session/merged-log.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { breaksWith, hangs, type ScriptedAdapter, ScriptedSession } from "./scripted-session.ts";
import { hostVersion } from "../../../core/ground/config/version.ts";

const api = { type: "api", priority: 1, enabled: true, model: "m", max_tokens: 1 } as const;
const pricing = { input_per_1k_tokens: 0, output_per_1k_tokens: 0, currency: "USD" };

/** The last event that is added to what the first events of a session are. */
async function endOf(events: readonly Envelope[], next?: AfterRestart) {
  const last = (await endsOf(events, next)).at(-1)!;
  if (last.type !== "session_ended") throw new Error("It has no end.");
  return last.result;
}

/** All events that are added. */
async function endsOf(events: readonly Envelope[], next: AfterRestart | null = null): Promise<Envelope["event"][]> {
  const journal = createMemoryJournal();
  await journal.append({ session_id: "s", envelopes: [...events], texts: [] });
  async function* pages() {
    yield events;
  }
  const log = new MergedLog(journal);
  await endInterrupted(await readInterrupted(pages(), events.length), {
    log,
    former: { runtime: "node 20", hostVersion, end: "host_restarted" },
    next,
  });
  return (await journal.read({ after: events.length, limit: 1000 })).map(({ event }) => event);
}

/** The events of a session that works, and these after them. */
async function goesOn(request: Partial<SessionRequest>, more: readonly object[]): Promise<Envelope[]> {
  const scripted = new ScriptedSession([{ id: "alpha", scripts: [hangs] }], { request });
  while (!scripted.types.includes("attempt_started")) await new Promise((resolve) => setTimeout(resolve, 1));
  const events = [...scripted.events];
  scripted.session.stop("interrupted", "The test is over.");
  await scripted.ended();
  const last = events.at(-1)!;
  const added = more.map((event, at): Envelope => ({
    ...last,
    seq: last.seq + at + 1,
    gseq: last.gseq + at + 1,
    source: "host",
    event: event as Envelope["event"],
  }));
  return [...events, ...added];
}

const accepted = (message_id: string, delivery = "queue") => ({
  type: "message_accepted",
  message_id,
  delivery,
  content: [{ type: "text", text: message_id }],
  by: { client: "ann" },
});

const turn = (number: number) => ({
  type: "turn_started",
  turn: number,
  after: number - 1,
  message_ids: [],
  by: "client",
  memory: "agent",
  prompt_sha256: "",
  checkpoint: null,
});

test("a killed session's messages have one outcome each: unsure, given to its next session, or dropped", async () => {
  const sent = { type: "message_sent", message_id: "steer", turn: 4 };
  const more = [turn(4), accepted("queued"), accepted("steer", "steer"), sent];
  const events = await goesOn({ resume: "after_restart" }, more);
  async function* pages() {
    yield events;
  }
  const { resumable } = await readInterrupted(pages(), events.length);
  expect(resumable).toMatchObject({ conversation_id: "s", turn: 4, pending: [{ message_id: "queued" }] });
  const dropped = async (next?: AfterRestart) =>
    (await endsOf(events, next)).filter(({ type }) => type === "message_dropped");
  const unsure = { type: "message_dropped", message_id: "steer", reason: "unsure" };
  const lost = { type: "message_dropped", message_id: "queued", reason: "host_restarted" };
  expect(await dropped({ resumed_as: "s2", moved: ["queued"] })).toEqual([unsure, {
    ...lost,
    reason: "moved",
    to: "s2",
  }]);
  expect(await dropped({ resumed_as: "s2" })).toEqual([unsure, lost]);
  expect(await dropped()).toEqual([unsure, lost]);
});

test("a session that rested when its host was killed ends as its last turn did, and is not resumed", async () => {
  const over = {
    type: "turn_ended",
    turn: 1,
    outcome: "completed",
    stop_reason: "end_turn",
    output: "",
    checkpoint: null,
  };
  const events = await goesOn({ resume: "after_restart" }, [turn(1), over]);
  async function* pages() {
    yield events;
  }
  expect((await readInterrupted(pages(), events.length)).resumable).toBeNull();
  expect(await endOf(events)).toMatchObject({ outcome: "completed", stop_reason: "end_turn" });
  expect(await endOf(await goesOn({}, [turn(1), over, turn(2)]))).toMatchObject({ stop_reason: "host_restarted" });
});

test("a call that the host answered at its turn's end gets no second answer, and an open one gets its first", async () => {
  const call = (call_id: string) => ({ type: "tool_call", call_id, tool: "Bash", kind: "execute", input: {} });
  const answer = { type: "tool_result", call_id: "c1", tool: "Bash", output: "", success: false, duration_ms: null };
  const events = await goesOn({}, [turn(1), call("c1"), answer, turn(2), call("c2")]);
  for (const one of events) if (one.event.type === "tool_call") one.source = "agent";
  const results = (await endsOf(events)).filter(({ type }) => type === "tool_result");
  expect(results).toMatchObject([{ call_id: "c2", output: "The turn ended before the tool answered." }]);
});

test("endInterrupted says by what the last attempt was held, and not by what the first one was", async () => {
  const alpha: ScriptedAdapter = { id: "alpha", scripts: [breaksWith("unavailable")] };
  const beta: ScriptedAdapter = { id: "beta", scripts: [hangs], accessMode: { ...api, pricing } };
  const scripted = new ScriptedSession([alpha, beta]);
  while (scripted.types.filter((type) => type === "attempt_started").length < 2) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const cut = scripted.events.map((envelope): Envelope =>
    envelope.event.type === "session_started"
      ? {
        ...envelope,
        event: { ...envelope.event, effective: { ...envelope.event.effective, permissions: { kv: true } } },
      }
      : envelope
  );
  scripted.session.stop("interrupted", "The test is over.");
  await scripted.ended();
  const result = await endOf(cut);
  expect(result).toMatchObject({
    stop_reason: "host_restarted",
    effective: { permissions: {}, access_mode: "api" },
    provenance: { adapter_id: "beta", grants: {} },
  });
  expect(result.effective.permissions).toEqual({});
  const first = await endOf(cut.slice(0, 2));
  expect(first.provenance).toMatchObject({ adapter_id: "alpha", grants: { kv: true } });
});

const modelCall = (cost: number | null, more: object = {}) => ({
  type: "model_call",
  model: "m",
  status: 200,
  tokens_in: 10,
  tokens_out: 1,
  tokens_cached: 0,
  cost,
  currency: "USD",
  ...more,
});

test("a killed session has used what its calls cost, and what goes on with it gets the rest of the budget", async () => {
  const more = [
    modelCall(1),
    modelCall(0.5),
    modelCall(null, { status: null, refused: "budget_cost", tokens_in: null }),
  ];
  const events = await goesOn({ resume: "after_restart", budget: { cost: 2, tokens: 100, turns: 3 } }, more);
  const { usage } = await endOf(events);
  expect(usage).toMatchObject({ cost: 1.5, currency: "USD", tokens_in: 20, tokens_out: 2, basis: "wire" });
  expect(usage.wire).toMatchObject({ calls: 2, cost: 1.5 });
  async function* pages() {
    yield events;
  }
  const { resumable } = await readInterrupted(pages(), events.length);
  expect(resumable).toMatchObject({ used: { cost: 1.5, tokens: 22 } });
});

test("a killed session is charged for answers that broke off, as far as they were told", async () => {
  const untold = { tokens_in: null, tokens_out: null, partial: true, counted: { tokens: 600, cost: 6 } };
  const more = [modelCall(1), modelCall(0.25, { tokens_out: null, partial: true }), modelCall(null, untold)];
  const events = await goesOn({ resume: "after_restart" }, more);
  // A budget reads what its calls count where the host sent some.
  expect((await endOf(events)).usage).toMatchObject({ requests: 3, wire: { counted: { tokens: 621, cost: 7.25 } } });
  async function* pages() {
    yield events;
  }
  const { resumable } = await readInterrupted(pages(), events.length);
  expect(resumable).toMatchObject({ used: { cost: 7.25, tokens: 621 } });
});
