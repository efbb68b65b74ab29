import { describe, expect, test } from "vitest";
import { recall } from "../../../core/sessions/host/talk/recall.ts";
import { turnLine } from "../../../core/sessions/host/talk/turn-line.ts";
import type { SessionTalk, ToldTurn } from "../../../core/sessions/host/session-talk.ts";
import type { SessionRecord } from "../../../core/records/journal/session-record.ts";

interface Told {
  turns: number[];
  follows?: [session: string, turn: number];
  conversation?: string;
  isDeleted?: boolean;
}

/** Sessions by their ids. */
function sessionsOf(told: Record<string, Told>) {
  const talkOf = (id: string): SessionTalk | null => {
    const { turns, follows, conversation = "c" } = told[id]!;
    return {
      session_id: id,
      requested: { workdir: "/w", prompt: "" },
      follows: follows === undefined ? null : {
        conversation_id: conversation,
        session_id: follows[0],
        turn: follows[1],
        why: "message",
        memory: "agent",
      },
      candidates: ["a"],
      adapter: "a",
      agent_session_id: `agent of ${id}`,
      messages: [],
      turns: turns.map((turn) =>
        ({ turn, prompt: `p${turn}`, output: `o${turn}`, files: [], agent_ref: `r${turn}` }) as unknown as ToldTurn
      ),
      usage: null,
    };
  };
  const line = (session_id: string, turn?: number) =>
    turnLine({ session_id, ...(turn === undefined ? {} : { turn }) }, {
      talks: { soFar: ({ session_id: id }) => Promise.resolve(talkOf(id)) },
      record: (id) =>
        Promise.resolve(
          told[id] === undefined ? null : {
            session_id: id,
            deleted: told[id].isDeleted === true ? { at: "", by: "client" } : null,
            follows_session: told[id].follows?.[0] ?? null,
            last_turn: told[id].turns.at(-1) ?? told[id].follows?.[1] ?? 0,
          } as unknown as SessionRecord,
        ),
    });
  return { line };
}

async function numbers(line: ReturnType<typeof turnLine>): Promise<number[]> {
  const all: number[] = [];
  for await (const { turns } of line) all.unshift(...turns.map(({ turn }) => turn));
  return all;
}

/** Turns 1 and 2, then 3 and 4; taken back to 2, then 5; a fork at 5, with 6 of its own. */
const talks: Record<string, Told> = {
  one: { turns: [1, 2] },
  two: { turns: [3, 4], follows: ["one", 2] },
  back: { turns: [], follows: ["one", 2] },
  three: { turns: [5], follows: ["back", 4] },
  fork: { turns: [6], follows: ["three", 5], conversation: "fork" },
};

describe("turnLine", () => {
  test.each<[string, number | undefined, number[]]>([
    ["two", undefined, [1, 2, 3, 4]],
    ["two", 3, [1, 2, 3]],
    ["back", undefined, [1, 2]],
    ["three", undefined, [1, 2, 5]],
    ["fork", undefined, [1, 2, 5, 6]],
    ["fork", 0, []],
    ["none", undefined, []],
  ])("back from %s at turn %s has the turns %j", async (from, turn, expected) => {
    expect(await numbers(sessionsOf(talks).line(from, turn))).toEqual(expected);
  });

  test("goes over sessions whose events are gone, also the one that a rewind began", async () => {
    const gone = (id: string) => sessionsOf({ ...talks, [id]: { ...talks[id]!, isDeleted: true } });
    expect(await numbers(gone("back").line("fork"))).toEqual([1, 2, 5, 6]);
    expect(await numbers(gone("three").line("fork"))).toEqual([1, 2, 6]);
  });

  test("ends where sessions would follow each other", async () => {
    const { line } = sessionsOf({ a: { turns: [1], follows: ["b", 2] }, b: { turns: [2], follows: ["a", 1] } });
    expect(await numbers(line("b"))).toEqual([1, 2]);
  });
});

describe("recall", () => {
  const own = { continues: true, copies: true, copiesAt: true };
  const none = () => Promise.resolve(false);
  const options = { adapter: "a", own, isNewest: () => false, isUsed: none, isSameFolder: true };
  const from = (id: string, turn?: number) => sessionsOf(talks).line(id, turn);

  test("goes on with the agent's own session at the newest turn, and else has it copied at the turn", async () => {
    expect(await recall(() => from("two"), { ...options, isNewest: () => true })).toMatchObject({
      memory: "agent",
      request: { continue_from: "agent of two" },
    });
    expect((await recall(() => from("two"), options)).request).toEqual({
      continue_from: "agent of two",
      fork: { at: "r4" },
    });
    expect((await recall(() => from("back"), options)).request).toEqual({
      continue_from: "agent of one",
      fork: { at: "r2" },
    });
  });

  test("has it copied as a whole only where it ends with the turn, and is used by no other session", async () => {
    const whole = { ...options, own: { ...own, copiesAt: false } };
    expect((await recall(() => from("two"), whole)).request).toEqual({ continue_from: "agent of two", fork: {} });
    expect(await recall(() => from("two", 3), whole)).toMatchObject({ memory: "briefing", request: {} });
    const used = { ...whole, isUsed: () => Promise.resolve(true) };
    expect((await recall(() => from("two"), used)).memory).toBe("briefing");
  });

  test.each([
    ["another agent", { adapter: "b" }],
    ["another folder", { isSameFolder: false }],
    ["an agent without copies", { own: { ...own, copies: false } }],
  ])("is a briefing of all turns for %s", async (_, more) => {
    const { memory, request, earlier, last } = await recall(() => from("fork"), { ...options, ...more });
    expect([memory, request, last?.session_id]).toEqual(["briefing", {}, "fork"]);
    expect(earlier.map(({ prompt }) => prompt)).toEqual(["p1", "p2", "p5", "p6"]);
  });

  test("is nothing before the first turn", async () => {
    expect(await recall(() => from("one", 0), options)).toEqual({
      memory: "none",
      request: {},
      earlier: [],
      instead: null,
      last: null,
    });
  });
});
