import { afterEach, describe, expect, test, vi } from "vitest";
import { OpenRequests } from "../../../core/sessions/session/open-requests.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("OpenRequests", () => {
  test("the first answer wins, and whoever asks before or after gets it", async () => {
    const requests = new OpenRequests();
    requests.add("r");
    const early = requests.wait("r");
    expect(requests.settle("r", "yes")).toBe(true);
    expect(requests.settle("r", "no")).toBe(false);
    expect(await Promise.all([early, requests.wait("r")])).toEqual(["yes", "yes"]);
  });

  test("a request that nobody asked is not answered and waits for nobody", async () => {
    const requests = new OpenRequests();
    expect(requests.settle("r", "yes")).toBe(false);
    expect(await requests.wait("r")).toBeNull();
  });

  test("takes() knows only what is open and, where there are choices, only those", () => {
    const requests = new OpenRequests();
    requests.add("choice", ["yes", "no"]);
    requests.add("free");
    expect(["yes", "no", "", "YES"].map((choice) => requests.takes("choice", choice))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(requests.takes("free", "anything")).toBe(true);
    expect(requests.takes("unknown", "yes")).toBe(false);
    requests.settle("choice", "yes");
    expect(requests.takes("choice", "yes")).toBe(false);
  });

  test("waiting() shows a short request whole", () => {
    const requests = new OpenRequests();
    const asked = { type: "question" as const, text: "Which?", choices: ["left", "right"] };
    requests.add("r", null, asked);
    expect(requests.waiting).toEqual([{ request_id: "r", ...asked, asked_at: expect.any(String) }]);
    requests.expire("r", { ms: 60_000, onExpired: () => {} });
    const [{ asked_at = "", answer_by = "" } = {}] = requests.waiting;
    expect(Date.parse(answer_by) - Date.parse(asked_at)).toBeGreaterThanOrEqual(60_000);
    requests.close();
  });

  test.each([1, 2, 7, 32, 100])("waiting() of %i long requests stays small, and says that they are cut", (count) => {
    const requests = new OpenRequests();
    const choices = Array.from({ length: 64 }, (_, n) => `${n} ${"c".repeat(50 * n)}`);
    for (let n = 0; n < count; n++) requests.add(`r${n}`, null, { type: "question", text: "t".repeat(1e5), choices });
    const { waiting } = requests;
    expect(waiting).toHaveLength(count);
    expect(waiting.every(({ cut }) => cut === true)).toBe(true);
    // What is shown of the choices can be answered with.
    for (const one of waiting) expect(choices.slice(0, one.choices.length)).toEqual(one.choices);
    expect(JSON.stringify(waiting).length).toBeLessThan(4096 + count * 150);
  });

  test("close() answers all that is open with null", async () => {
    const requests = new OpenRequests();
    for (const id of ["a", "b"]) requests.add(id);
    requests.settle("a", "yes");
    const waiting = requests.wait("b");
    requests.close();
    expect(await Promise.all([requests.wait("a"), waiting])).toEqual(["yes", null]);
  });

  test("what nobody answers expires once, and what is answered does not", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const requests = new OpenRequests();
    const expired: string[] = [];
    for (const id of ["late", "answered"]) {
      requests.add(id);
      requests.expire(id, { ms: 100, onExpired: () => expired.push(id) });
    }
    expect(requests.waits).toBe(true);
    requests.settle("answered", "yes");
    vi.advanceTimersByTime(1000);
    expect(expired).toEqual(["late"]);
    requests.close();
    expect([requests.waits, vi.getTimerCount()]).toEqual([false, 0]);
  });
});
