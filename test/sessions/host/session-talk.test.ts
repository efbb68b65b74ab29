import { expect, test } from "vitest";
import { readTalk } from "../../../core/sessions/host/session-talk.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

async function* eventsOf(...events: object[]): AsyncGenerator<Envelope> {
  for (const [at, event] of events.entries()) {
    yield { session_id: "s2", seq: at + 1, gseq: at + 1, ts: `t${at}`, adapter: { id: "beta" }, event } as Envelope;
  }
}

const follows = {
  conversation_id: "s1",
  session_id: "s1",
  turn: 2,
  why: "message",
  memory: "agent",
  message: { message_id: "m0", by: { client: "ann" } },
};

const started = {
  type: "session_started",
  adapter_id: "alpha",
  requested: { workdir: "/w", prompt: "three" },
  follows,
};

const say = (message_id: string, delivery = "queue") => ({
  type: "message_accepted",
  message_id,
  delivery,
  content: [{ type: "text", text: `say ${message_id}` }],
  by: { client: "bob" },
});

const end = { outcome: "completed", stop_reason: "end_turn", output: "ok", artifacts: [{ path: "a.ts" }], usage: {} };

test("readTalk tells the turns and the messages of a session with several", async () => {
  const talk = await readTalk(eventsOf(
    started,
    { type: "attempt_started", adapter_id: "beta" },
    { type: "agent_info", agent_session_id: "native" },
    { type: "turn_started", turn: 3, message_ids: [], by: "client" },
    say("m1"),
    say("m2", "steer"),
    say("m3"),
    { type: "message_sent", message_id: "m2", turn: 3 },
    { type: "message_delivered", message_id: "m2", turn: 3, how: "injected" },
    { type: "message_changed", message_id: "m1", content: [{ type: "text", text: "four" }] },
    { type: "turn_ended", turn: 3, ...end },
    { type: "message_delivered", message_id: "m1", turn: 4, how: "new_turn" },
    { type: "turn_started", turn: 4, message_ids: ["m1"], by: "client" },
    { type: "message_dropped", message_id: "m3", reason: "moved", to: "s3" },
    { type: "session_ended", result: { ...end, outcome: "error", stop_reason: "fatal", output: "no" } },
  ));
  expect(talk).toMatchObject({ adapter: "beta", agent_session_id: "native" });
  expect(talk?.turns).toMatchObject([
    { turn: 3, prompt: "three", message_ids: ["m0"], outcome: "completed", output: "ok", files: ["a.ts"] },
    { turn: 4, prompt: "four", title: "four", message_ids: ["m1"], outcome: "error", stop_reason: "fatal" },
  ]);
  expect(
    talk?.messages.map(({ message_id, state, turn, how, reason, to }) => [message_id, state, turn, how, reason, to]),
  )
    .toEqual([
      ["m0", "delivered", 3, "new_turn", undefined, undefined],
      ["m1", "delivered", 4, "new_turn", undefined, undefined],
      ["m2", "delivered", 3, "injected", undefined, undefined],
      ["m3", "dropped", undefined, undefined, "moved", "s3"],
    ]);
});

test("readTalk makes the one turn of a session that tells of none, and nothing of a deleted one", async () => {
  const talk = await readTalk(eventsOf(started, { type: "session_ended", result: end }));
  expect(talk?.turns).toMatchObject([{ turn: 3, prompt: "three", message_ids: ["m0"], outcome: "completed" }]);
  expect(await readTalk(eventsOf({ type: "gap", from_seq: 1, to_seq: 9 }))).toBeNull();
});
