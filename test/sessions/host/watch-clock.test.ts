import { expect, it, vi } from "vitest";
import type { SessionRecord } from "../../../core/records/journal/session-record.ts";
import { clockProblem, watchClock } from "../../../core/sessions/host/watch-clock.ts";

const now = Date.parse("2025-06-01T12:00:00.000Z");

it("watchClock tells that the clock is behind the journal, and when it is set back later", async () => {
  const told: string[] = [];
  let [wall, steady] = [now, 0];
  const sessions = () => Promise.resolve([{ sorted_at: "2025-06-02T12:00:00.000Z" } as SessionRecord]);
  const stop = await watchClock({ sessions }, ({ message }) => told.push(message), {
    wall: () => wall,
    steady: () => steady,
    ms: 1,
  });
  expect(told).toEqual([expect.stringContaining("went back by about 24 h")]);
  [wall, steady] = [now - 600_000, 1000];
  await vi.waitFor(() => expect(told[1]).toContain("went back by about 10 min"));
  stop();
  expect(told).toHaveLength(2);
});

it.each([[undefined], ["2025-06-01T11:00:00.000Z"], ["2025-06-01T12:00:30.000Z"]])(
  "clockProblem says nothing of a clock that is right: %s",
  (newest) => expect(clockProblem(newest, now)).toBeNull(),
);
