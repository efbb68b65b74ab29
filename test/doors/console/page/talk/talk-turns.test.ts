import { expect, test } from "vitest";
import { readPart, type ShownMessage } from "../../../../../core/doors/console/page/talk/talk-turns.ts";
import type { ShownEvent } from "../../../../../core/doors/console/page/shown-event.ts";
import { envelopesOf } from "../../../cli/fake-host.ts";

type Event = ShownEvent["event"];

const started = (prompt: string, follows?: object) =>
  ({ type: "session_started", adapter_id: "alpha", requested: { prompt }, follows }) as unknown as Event;
const turn = (turn: number, message_ids: string[], by = "client") =>
  ({ type: "turn_started", turn, by, message_ids }) as unknown as Event;
const ended = (turn: number, cost = 0.5) =>
  ({ type: "turn_ended", turn, outcome: "completed", stop_reason: "end_turn", usage: { cost } }) as unknown as Event;
const sessionEnded = {
  type: "session_ended",
  result: { outcome: "error", stop_reason: "interrupted", usage: { cost: 2 } },
};
const accepted = (message_id: string, text: string, delivery = "queue") =>
  ({
    type: "message_accepted",
    message_id,
    delivery,
    content: [{ type: "text", text }],
    by: { client: "me" },
  }) as Event;
const delivered = (message_id: string, turn: number, how: "new_turn" | "injected"): Event => ({
  type: "message_delivered",
  message_id,
  turn,
  how,
});

test("readPart finds the images and files of prompts and messages, also where there are no words", () => {
  const image = { type: "image" as const, sha256: "a".repeat(64), mime_type: "image/png" };
  const file = { type: "file" as const, sha256: "b".repeat(64), name: "a.txt", mime_type: "text/plain" };
  const messages = new Map<string, ShownMessage>();
  const first = { type: "session_started", adapter_id: "alpha", requested: { prompt: "", content: [image] } };
  const said = { ...accepted("m1", "two"), content: [file] } as Event;
  const words = { type: "text" as const, text: "three" };
  const part = readPart(
    envelopesOf([
      first as unknown as Event,
      turn(1, []),
      said,
      accepted("m2", "three, at first"),
      { type: "message_changed", message_id: "m2", content: [words, image] },
      turn(2, ["m1", "m2"]),
    ]),
    messages,
  );
  expect(part?.turns).toMatchObject([
    { turn: 1, prompt: "", attached: [image] },
    { turn: 2, prompt: "three", attached: [file, image] },
  ]);
  expect(messages.get("m2")).toMatchObject({ text: "three", attached: [image] });
});

test("readPart finds the turns of a session, their places, prompts, clients and ends", () => {
  const messages = new Map<string, ShownMessage>();
  const part = readPart(
    envelopesOf([
      started("one"),
      turn(1, []),
      accepted("m1", "into", "steer"),
      { type: "message_sent", message_id: "m1", turn: 1 },
      delivered("m1", 1, "injected"),
      accepted("m2", "two"),
      { type: "message_changed", message_id: "m2", content: [{ type: "text", text: "two, better" }] },
      ended(1),
      delivered("m2", 2, "new_turn"),
      turn(2, ["m2"]),
      accepted("m3", "gone"),
      { type: "message_dropped", message_id: "m3", reason: "withdrawn" },
      turn(3, [], "agent"),
      sessionEnded as unknown as Event,
    ]),
    messages,
  );
  expect(part).toMatchObject({ adapter: "alpha", follows: null, last: 14 });
  expect(part?.turns).toMatchObject([
    { turn: 1, from: 1, to: 9, prompt: "one", client: null, by: "client", outcome: "completed", usage: { cost: 0.5 } },
    { turn: 2, from: 10, to: 12, prompt: "two, better", client: "me", outcome: null },
    { turn: 3, from: 13, to: null, prompt: "", by: "agent", outcome: "error", usage: null },
  ]);
  expect([...messages].map(([id, { state, turn, text }]) => [id, state, turn, text])).toEqual([
    ["m1", "delivered", 1, "into"],
    ["m2", "delivered", 2, "two, better"],
    ["m3", "dropped", null, "gone"],
  ]);
});

test("readPart makes one turn of a session without turns, with the message that began it", () => {
  const messages = new Map<string, ShownMessage>();
  const follows = {
    conversation_id: "a",
    session_id: "a",
    turn: 4,
    message: { message_id: "m", by: { client: "me" } },
  };
  const part = readPart(envelopesOf([started("five", follows), sessionEnded as unknown as Event]), messages);
  expect(part?.turns).toMatchObject([
    { turn: 5, from: 1, to: null, prompt: "five", client: "me", outcome: "error", usage: { cost: 2 } },
  ]);
  expect(messages.get("m")).toMatchObject({ state: "delivered", turn: 5 });
});

test("a steer that came too late waits again, and a session without a first event has no part", () => {
  const messages = new Map<string, ShownMessage>();
  readPart(
    envelopesOf([
      started("one"),
      accepted("m", "late", "steer"),
      { type: "message_sent", message_id: "m", turn: 1 },
      { type: "message", message_id: "m", state: "returned" },
    ]),
    messages,
  );
  expect(messages.get("m")?.state).toBe("pending");
  expect(readPart(envelopesOf([turn(2, [])]), new Map())).toBeNull();
  expect(readPart(envelopesOf([started("")]), new Map())?.turns).toEqual([]);
});
