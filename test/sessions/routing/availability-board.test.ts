import { describe, expect, test } from "vitest";
import {
  AvailabilityBoard,
  type BoardOptions,
  type Probed,
} from "../../../core/sessions/routing/availability-board.ts";
import type { Availability } from "../../../plugin-sdk/availability.ts";
import { healthOf } from "../../../plugin-sdk/health-of.ts";

function probed(availability: Availability = "available", reason = "It is here."): Probed {
  const report = { availability, reason };
  return {
    report,
    health: healthOf(report, { latency_ms: 1, last_check: "2026-01-01T00:00:00.000Z" }),
    access_mode: null,
  };
}

interface Asked {
  id: string;
  signal: AbortSignal;
  answer(probed: Probed | null): void;
  fail(error: unknown): void;
}

/** A board whose clock and answers are the test's. */
function board(options: Partial<BoardOptions> = {}) {
  const clock = { ms: 1000 };
  const asked: Asked[] = [];
  const made = new AvailabilityBoard({
    ttlMs: () => 60_000,
    now: () => clock.ms,
    probe: (id, signal) => new Promise((resolve, reject) => asked.push({ id, signal, answer: resolve, fail: reject })),
    ...options,
  });
  return { clock, asked, board: made };
}

/** Until all that is ready has run. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

async function answered(test: ReturnType<typeof board>, id: string, answer: Probed | null) {
  const asking = test.board.ask(id);
  await settled();
  test.asked.at(-1)!.answer(answer);
  return await asking;
}

describe("AvailabilityBoard", () => {
  test("an agent whose sessions take all its workers is available, as it was when it was asked last", async () => {
    const made = board();
    expect((await answered(made, "alpha", null)).report).toEqual({
      availability: "available",
      reason: "Its sessions take all its workers.",
    });
    await answered(made, "beta", probed("available", "It is version 7."));
    made.clock.ms += 60_000;
    expect((await answered(made, "beta", null)).report.reason).toBe("It is version 7.");
  });

  test("an answer holds for its lifetime and is asked anew after it", async () => {
    const made = board();
    expect(await answered(made, "alpha", probed())).toMatchObject({
      checkedAt: 1000,
      report: { availability: "available" },
    });
    made.clock.ms += 59_999;
    await made.board.ask("alpha");
    expect(made.asked).toHaveLength(1);
    made.clock.ms += 1;
    await answered(made, "alpha", probed("missing"));
    expect(made.asked).toHaveLength(2);
    expect(made.board.known("alpha")?.report.availability).toBe("missing");
  });

  test("what is not available is asked anew sooner, but never later than what is", async () => {
    const made = board();
    await answered(made, "alpha", probed("unauthenticated"));
    made.clock.ms += 9999;
    await made.board.ask("alpha");
    made.clock.ms += 1;
    await answered(made, "alpha", probed());
    expect(made.asked).toHaveLength(2);
    const short = board({ ttlMs: () => 5 });
    await answered(short, "alpha", probed("missing"));
    short.clock.ms += 5;
    await answered(short, "alpha", probed("missing"));
    expect(short.asked).toHaveLength(2);
  });

  test("refresh asks whatever is known", async () => {
    const made = board();
    await answered(made, "alpha", probed());
    const asking = made.board.ask("alpha", { refresh: true });
    await settled();
    made.asked[1]!.answer(probed("missing"));
    expect((await asking).report.availability).toBe("missing");
  });

  test("an adapter is asked once at a time, however many want to know", async () => {
    const made = board();
    const asking = [1, 2, 3].map(() => made.board.ask("alpha"));
    asking.push(made.board.ask("alpha", { refresh: true }));
    await settled();
    expect(made.asked).toHaveLength(1);
    made.asked[0]!.answer(probed());
    expect(new Set(await Promise.all(asking)).size).toBe(1);
  });

  test("only a few are asked at once, and one that is left behind keeps its turn until it has ended", async () => {
    const made = board({ atOnce: 2, deadlineMs: 20 });
    const asking = ["a", "b", "c", "d"].map((id) => made.board.ask(id));
    await settled();
    expect(made.asked.map(({ id }) => id)).toEqual(["a", "b"]);
    made.asked[0]!.answer(probed());
    await asking[0];
    await settled();
    expect(made.asked.map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect((await asking[1])!.report).toEqual({
      availability: "unrunnable",
      reason: "Its probe did not end within 20 ms.",
    });
    expect(made.asked[1]!.signal.aborted).toBe(true);
    made.asked[2]!.answer(probed());
    await asking[2];
    await settled();
    expect(made.asked.map(({ id }) => id)).toEqual(["a", "b", "c", "d"]);
    made.asked[3]!.answer(probed());
    expect((await asking[3])!.report.availability).toBe("available");
    made.asked[1]!.answer(probed());
    await settled();
    expect(made.board.known("b")?.report.availability).toBe("unrunnable");
  });

  test("whatever a probe throws is an answer", async () => {
    const made = board();
    const asking = made.board.ask("alpha");
    await settled();
    made.asked[0]!.fail(new Error("boom"));
    expect(await asking).toMatchObject({
      report: { availability: "unrunnable", reason: "Its probe failed: Error: boom" },
      health: { status: "unhealthy" },
    });
    const sync = board({
      probe: () => {
        throw new Error("at once");
      },
    });
    expect((await sync.board.ask("alpha")).report.reason).toContain("at once");
  });

  test("after a failure it is asked anew, also when it failed while it was being asked", async () => {
    const made = board();
    await answered(made, "alpha", probed());
    made.board.doubt("alpha");
    expect(made.board.known("alpha")).toBeDefined();
    const asking = made.board.ask("alpha");
    await settled();
    made.board.doubt("alpha");
    made.asked[1]!.answer(probed());
    await asking;
    await answered(made, "alpha", probed("missing"));
    expect(made.asked).toHaveLength(3);
    await made.board.ask("alpha");
    expect(made.asked).toHaveLength(3);
  });

  test("one that is forgotten is unknown", async () => {
    const made = board();
    await answered(made, "alpha", probed());
    made.board.forget("alpha");
    expect(made.board.known("alpha")).toBeUndefined();
  });

  test("one that was forgotten while it was asked is asked anew, and its answer is nobody else's", async () => {
    const made = board();
    const before = made.board.ask("alpha");
    await settled();
    made.board.forget("alpha");
    const after = made.board.ask("alpha");
    await settled();
    made.asked[0]!.answer(probed("available", "The one before."));
    expect((await before).report.reason).toBe("The one before.");
    expect(made.board.known("alpha")).toBeUndefined();
    made.asked[1]!.answer(probed("missing", "The one now."));
    expect((await after).report.reason).toBe("The one now.");
    expect(made.board.known("alpha")?.report.reason).toBe("The one now.");
  });
});
