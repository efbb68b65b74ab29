import { afterEach, describe, expect, test, vi } from "vitest";
import { OpenRequests } from "../../core/session/open-requests.ts";

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
