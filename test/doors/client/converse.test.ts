import { expect, test } from "vitest";
import { converse, turnsOf } from "../../../core/doors/client/mod.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionHost } from "../../../core/mod.ts";
import { openDoor } from "../http/door-fixture.ts";

const request = { workdir: "/", prompt: "one", keep_ms: 1000 };
const usage = { tokens_in: 1, tokens_out: 1, cost: null, turns: 1, tool_calls: 0 };
const facts = { outcome: "completed", stop_reason: "end_turn", usage, artifacts: [], checkpoint: null } as const;

test.each(["the host", "a client"])("converse talks with an agent by %s, over two sessions", async (road) => {
  const door = await openDoor();
  const host: Pick<SessionHost, "start"> & Parameters<typeof converse>[0] = road === "the host"
    ? door.sessions
    : await door.client("run");
  const talk = await converse(host, { ...request, options: { adapter: "memory" } });
  expect(door.sessions.optionsOf(talk.id).adapter).toBe("memory");
  expect(await talk.say("two")).toMatchObject({ session_id: talk.id, state: "pending" });
  await talk.stop();
  await door.sessions.tell(talk.id, { type: "turn_ended", turn: 1, output: "first", ...facts } as never);
  await talk.end();
  const { session_id } = await talk.say({ content: [{ type: "text", text: "three" }], delivery: "steer" });
  expect(session_id).not.toBe(talk.id);
  await door.sessions.end(session_id);
  await talk.end();
  const turns = [];
  for await (const turn of talk.turns()) turns.push(`${turn.session_id === talk.id ? 1 : 2} ${turn.output}`);
  expect(turns).toEqual(["1 first", "2 done"]);
  const types = [];
  for await (const { event } of talk.events()) types.push(event.type);
  expect(types).toEqual(["session_started", "turn_ended", "session_ended", "session_started", "session_ended"]);
});

test("turnsOf numbers the turn of a session that tells of none, and leaves a rest out", async () => {
  const read = async (...events: object[]) => {
    const turns = [];
    for await (const { turn, output } of turnsOf(stream(events))) turns.push(`${turn} ${output}`);
    return turns;
  };
  const started = { type: "session_started", requested: { prompt: "go" }, follows: { turn: 4 } };
  const ended = { type: "session_ended", result: { output: "all" } };
  expect(await read(started, ended)).toEqual(["5 all"]);
  expect(await read({ ...started, requested: { prompt: "" } }, ended)).toEqual([]);
  const turn = (number: number) => [
    { type: "turn_started", turn: number },
    { type: "turn_ended", turn: number, output: `o${number}` },
  ];
  expect(await read(started, ...turn(5), ...turn(6), ended)).toEqual(["5 o5", "6 o6"]);
  expect(await read(started, ...turn(5), { type: "turn_started", turn: 6 }, ended)).toEqual(["5 o5", "6 all"]);
});

async function* stream(events: object[]): AsyncGenerator<Envelope> {
  for (const event of events) yield { event, session_id: "s" } as Envelope;
}
