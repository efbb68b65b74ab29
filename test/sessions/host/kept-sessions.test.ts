import { expect, test } from "vitest";
import { KeptSessions } from "../../../core/sessions/host/kept-sessions.ts";

const megabyte = 1024 * 1024;

function opened(limits: { kept_sessions: number; kept_mb: number }) {
  const ended: string[] = [];
  let unmeasured = 0;
  const kept = new KeptSessions({ limits: () => limits, onUnmeasured: () => unmeasured++ });
  const enter = (id: string, mb: number | null, pluginId = "a") =>
    kept.enter({
      pluginId,
      end: () => void ended.push(id),
      heldBytes: () => Promise.resolve(mb === null ? null : mb * megabyte),
    });
  return { kept, enter, ended, unmeasured: () => unmeasured };
}

test("the longest kept end while their programs have too much memory together", async () => {
  const { kept, enter, ended } = opened({ kept_sessions: 8, kept_mb: 500 });
  for (const id of ["one", "two", "three"]) enter(id, 200);
  await kept.look();
  expect(ended).toEqual(["one"]);
  enter("large", 600);
  await kept.look();
  // It alone is too much.
  expect(ended).toEqual(["one", "two", "three", "large"]);
  expect(kept.count()).toBe(0);
});

test("one that rests no more is not counted, and not ended", async () => {
  const { kept, enter, ended } = opened({ kept_sessions: 8, kept_mb: 500 });
  const leave = enter("one", 400);
  enter("two", 200);
  leave();
  await kept.look();
  expect(ended).toEqual([]);
  enter("three", 100)();
  expect(kept.count()).toBe(1);
});

test("where memory cannot be measured that is told once, and the number alone counts", async () => {
  const { kept, enter, ended, unmeasured } = opened({ kept_sessions: 2, kept_mb: 1 });
  for (const id of ["one", "two"]) enter(id, null);
  await kept.look();
  await kept.look();
  expect([unmeasured(), ended]).toEqual([1, []]);
  enter("three", null);
  expect(ended).toEqual(["one"]);
});

test("another session's wait ends the longest kept of its plugin", () => {
  const { kept, enter, ended } = opened({ kept_sessions: 8, kept_mb: 500 });
  enter("one", 1, "a");
  enter("two", 1, "b");
  enter("three", 1, "b");
  kept.endOne("b");
  expect([ended, kept.count("b"), kept.count("a")]).toEqual([["two"], 1, 1]);
});
