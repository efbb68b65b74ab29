import { signal } from "@preact/signals";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type HostApi, RefusedCall } from "../../../../core/doors/console/page/api.ts";
import type { LiveEvents } from "../../../../core/doors/console/page/live.ts";
import { SessionList } from "../../../../core/doors/console/page/session-list.ts";
import type { ShownEvent } from "../../../../core/doors/console/page/shown-event.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const away = new RefusedCall(0, { code: "network_error", message: "Cannot reach the host." });
const gone = new RefusedCall(404, { code: "not_found", message: "There is no such session." });

/** A list whose host gives these answers, one after the other, and a function that tells it of the end of sessions. */
function listOf(answers: (object | Error)[]) {
  const asked: string[] = [];
  const get = (path: string) => {
    asked.push(path);
    const answer = answers.shift() ?? gone;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  let tell = (_: ShownEvent[]): void => {};
  const live = { opened: signal(0), subscribe: (take: typeof tell) => void (tell = take) };
  const list = new SessionList({ get } as unknown as HostApi, live as unknown as LiveEvents);
  const ended = (...ids: string[]) =>
    tell(ids.map((session_id) => ({ session_id, event: { type: "session_ended" } })) as unknown as ShownEvent[]);
  return { list, asked, ended };
}

const session = (session_id: string) => ({ session_id, state: "ended", started_at: "2026-01-01T00:00:00.000Z" });

it("reads a session again when the host was away at its last event", async () => {
  const { list, asked, ended } = listOf([away, session("a")]);
  ended("a");
  await vi.advanceTimersByTimeAsync(200);
  expect([asked.length, list.all.value.length]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(list.all.value).toMatchObject([{ session_id: "a", state: "ended" }]);
});

it("reads the list again when it was not read after the last events of many", async () => {
  const { list, asked, ended } = listOf([away, { sessions: [session("a")], next: null }]);
  ended("a", "b", "c", "d", "e");
  await vi.advanceTimersByTimeAsync(200);
  expect(list.state.value).toEqual({ failed: away });
  await vi.advanceTimersByTimeAsync(2000);
  expect([list.state.value, asked.length, list.all.value.length]).toEqual(["ready", 2, 1]);
});

it("does not ask again for a session that is gone", async () => {
  const { asked, ended } = listOf([gone]);
  ended("a");
  await vi.advanceTimersByTimeAsync(20_000);
  expect(asked).toEqual(["/v1/sessions/a"]);
});
