import { expect, test } from "vitest";
import { playedTurns, playTurns } from "../../../../core/sessions/host/box/played-turns.ts";
import type { SessionMessage } from "../../../../core/sessions/session/session-turns.ts";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";

async function* eventsOf(...events: object[]): AsyncGenerator<Envelope, void, void> {
  for (const event of events) yield { event } as Envelope;
}

const accepted = (message_id: string) => ({
  type: "message_accepted",
  message_id,
  delivery: "queue",
  content: [{ type: "text", text: message_id }],
  by: { client: "ann" },
});
const began = (turn: number, ...message_ids: string[]) => ({ type: "turn_started", turn, message_ids, by: "client" });
const ended = { type: "turn_ended", stop_reason: "end_turn" };

test("playedTurns: what began each turn after the first, as it was given in the end", async () => {
  const changed = { type: "message_changed", message_id: "b", content: [{ type: "text", text: "better" }] };
  const events = [accepted("a"), began(1), accepted("b"), changed, accepted("gone"), ended, began(2, "a", "b"), ended];
  const turns = await playedTurns(eventsOf(...events));
  expect(turns).toMatchObject([{
    after: 1,
    messages: [{ message_id: "a" }, { message_id: "b", ...{ content: changed.content } }],
  }]);
  expect(await playedTurns(eventsOf(accepted("a"), began(1, "a"), ended))).toMatchObject([{ after: 0 }]);
  expect(await playedTurns(eventsOf(began(1), ended))).toEqual([]);
});

test("playedTurns: says why turns cannot be played", async () => {
  const stopped = { ...ended, stop_reason: "interrupted" };
  const why = (...events: object[]) => playedTurns(eventsOf(...events));
  expect(await why(began(1), accepted("a"), { type: "message_sent", message_id: "a" })).toContain("running turn");
  expect(await why(began(1), ended, { ...began(2), by: "agent" })).toContain("its agent began a turn by itself");
  expect(await why(began(1), accepted("a"), stopped, began(2, "a"))).toContain("stopped one of its turns");
  expect(await why(began(1), stopped), "the last one").toEqual([]);
  expect(await why(began(1), ended, began(2, "a"))).toContain("not in the journal");
  expect(await why({ type: "gap" })).toContain("not kept any more");
});

test("playTurns: says the messages of a turn together, after the turn before it, and ends the session at last", async () => {
  const done: string[] = [];
  const message = (message_id: string): SessionMessage => ({ message_id, content: [], by: { client: "ann" } });
  async function* events() {
    done.push("turn");
    yield* eventsOf(ended);
    done.push("turn");
    yield* eventsOf({ type: "usage" }, ended, { type: "session_ended" });
  }
  const talk = {
    say: ({ message_id }: SessionMessage) => {
      done.push(message_id);
      return { said: { message_id, session_id: "s", state: "pending" as const }, written: Promise.resolve() };
    },
    retire: () => void done.push("retire"),
  };
  const turns = [{ after: 0, messages: [message("a")] }, { after: 1, messages: [message("b"), message("c")] }];
  await playTurns({ id: "s", talk }, { turns, events: events(), attachments: { name: () => Promise.resolve() } });
  expect(done).toEqual(["a", "turn", "b", "c", "turn", "retire"]);
});
