import { expect, test } from "vitest";
import { openDoor } from "./door-fixture.ts";

async function opened() {
  const door = await openDoor();
  const { id } = await (await door.client()).start({ workdir: "/project", prompt: "Fix the Rounding" });
  const get = async <T>(path: string) => {
    const answer = await door.local(`http://localhost/v1/sessions/${id}/${path}`);
    return await answer.json() as T;
  };
  return { door, id, get };
}

interface Found {
  hits: { seq: number; type: string; text: string }[];
  next: number | null;
  last: number;
}

test("a text is found in any case, in a tool's input, and across the pieces in which an agent printed it", async () => {
  const { door, id, get } = await opened();
  await door.sessions.say(id, "the ROUN", "ding of a sum, and roun");
  await door.sessions.tell(id, {
    type: "tool_call",
    call_id: "1",
    tool: "Bash",
    kind: "execute",
    input: { command: "grep rounding src" },
  });
  await door.sessions.say(id, "ding");
  const { hits, next, last } = await get<Found>("find?text=rounding");
  expect(hits.map(({ seq, type }) => `${seq} ${type}`)).toEqual(["1 session_started", "3 output", "4 tool_call"]);
  expect(hits[1]!.text).toBe("the ROUNding of a sum, and roun");
  expect([next, last]).toEqual([null, 5]);
  expect((await get<Found>("find?text=nowhere")).hits).toEqual([]);
});

test("a long session is looked through in pieces, and its activity is told by some of its events", async () => {
  const { door, id, get } = await opened();
  await door.sessions.say(id, ...Array.from({ length: 10_100 }, (_, at) => `line ${at}.`));
  const first = await get<Found>("find?text=line+10050.");
  expect([first.hits.length, first.next]).toEqual([0, 10_000]);
  const second = await get<Found>("find?text=line+10050.&after=10000");
  expect(second).toMatchObject({
    hits: [{ seq: 10_052, text: expect.stringContaining("line 10050.") as string }],
    next: null,
  });
  const split = await get<Found>("find?text=line+9998.line+9999.");
  expect([split.hits, split.next]).toEqual([[], 10_000]);
  const joined = await get<Found>("find?text=line+9998.line+9999.&after=10000");
  expect(joined.hits.map(({ seq }) => seq)).toEqual([10_001]);
  const many = await get<Found>("find?text=line");
  expect([many.hits.length, many.next]).toEqual([500, 501]);
  expect((await get<Found>("find?text=line&after=501")).hits[0]?.seq).toBe(502);
  const { points } = await get<{ points: { seq: number; at: string }[] }>("activity?points=5");
  expect(points.map(({ seq }) => seq)).toEqual([1, 2526, 5051, 7576, 10_101]);
  expect(points.every(({ at }) => !Number.isNaN(Date.parse(at)))).toBe(true);
});
