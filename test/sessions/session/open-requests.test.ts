import { afterEach, describe, expect, test, vi } from "vitest";
import { EventRules } from "../../../core/sessions/session/event-rules.ts";
import { type Asked, OpenRequests } from "../../../core/sessions/session/open-requests.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

afterEach(() => {
  vi.useRealTimers();
});

const asked: Asked = { type: "question", text: "Which?", choices: [] };

/** Open requests with the rules of their session; `put` is an event of the agent with its question to clients. */
function makeRequests() {
  const told: Envelope["event"][] = [];
  const rules = new EventRules();
  const requests = new OpenRequests({ rules, stream: { host: (event) => void told.push(event) } });
  const put = (id: string, more: Partial<Parameters<OpenRequests["add"]>[1]> = {}) => {
    expect(rules.accept({ type: "question", request_id: id, question: "Which?" })).toMatchObject({ type: "question" });
    requests.add(id, { asked, offered: null, ms: 60_000, ...more });
  };
  return { told, rules, requests, put };
}

describe("OpenRequests", () => {
  test("the first answer wins, is told once, and is given to all who ask before or after", async () => {
    const { told, requests, put } = makeRequests();
    put("r");
    const early = requests.wait("r");
    expect([requests.answer("r", "yes"), requests.answer("r", "no")]).toEqual([true, false]);
    expect(await Promise.all([early, requests.wait("r")])).toEqual(["yes", "yes"]);
    expect(told).toEqual([{ type: "permission_resolved", request_id: "r", choice: "yes", by: "client" }]);
  });

  test("a request that was never made is not answered, and no answer to it is waited for", async () => {
    const { requests } = makeRequests();
    expect(requests.answer("r", "yes")).toBe(false);
    expect(await requests.wait("r")).toBeNull();
  });

  test("answer() takes only what is open and, where there are choices, only those", () => {
    const { requests, put } = makeRequests();
    put("choice", { offered: ["yes", "no"] });
    put("free");
    expect(["", "YES", "no", "yes"].map((choice) => requests.answer("choice", choice))).toEqual([
      false,
      false,
      true,
      false,
    ]);
    expect(requests.answer("free", "anything")).toBe(true);
  });

  test("what policy answered waits for no client", async () => {
    const { told, rules, requests } = makeRequests();
    rules.accept({ type: "question", request_id: "r", question: "Which?" });
    requests.addAnswered("r", "yes");
    expect([requests.waits, requests.waiting, await requests.wait("r")]).toEqual([false, [], "yes"]);
    expect(told).toMatchObject([{ choice: "yes", by: "policy" }]);
  });

  test("a request that the agent takes back is closed, and a late answer to it is not taken", async () => {
    const { told, rules, requests, put } = makeRequests();
    put("r");
    const answer = requests.wait("r");
    rules.accept({ type: "request_withdrawn", request_id: "r" });
    requests.closeEnded();
    expect([await answer, requests.waits, requests.answer("r", "yes")]).toEqual([null, false, false]);
    expect(told).toEqual([{ type: "permission_resolved", request_id: "r", choice: null, by: "agent" }]);
  });

  test("waiting() shows a short request whole, with its deadline", () => {
    const { requests, put } = makeRequests();
    const question = { type: "question" as const, text: "Which?", choices: ["left", "right"] };
    put("r", { asked: question });
    expect(requests.waiting).toEqual([
      { request_id: "r", ...question, asked_at: expect.any(String), answer_by: expect.any(String) },
    ]);
    const [{ asked_at = "", answer_by = "" } = {}] = requests.waiting;
    expect(Date.parse(answer_by) - Date.parse(asked_at)).toBeGreaterThanOrEqual(60_000);
    requests.closeAll();
  });

  test.each([1, 2, 7, 32, 100])("waiting() of %i long requests stays small, and says that they are cut", (count) => {
    const { requests, put } = makeRequests();
    const choices = Array.from({ length: 64 }, (_, n) => `${n} ${"c".repeat(50 * n)}`);
    for (let n = 0; n < count; n++) put(`r${n}`, { asked: { type: "question", text: "t".repeat(1e5), choices } });
    const { waiting } = requests;
    expect(waiting).toHaveLength(count);
    expect(waiting.every(({ cut }) => cut === true)).toBe(true);
    // What is shown of the choices can be answered with.
    for (const one of waiting) expect(choices.slice(0, one.choices.length)).toEqual(one.choices);
    expect(JSON.stringify(waiting).length).toBeLessThan(4096 + count * 200);
    requests.closeAll();
  });

  test("closeAll() answers all that is open with null", async () => {
    const { requests, put } = makeRequests();
    for (const id of ["a", "b"]) put(id);
    requests.answer("a", "yes");
    const waiting = requests.wait("b");
    requests.closeAll();
    expect(await Promise.all([requests.wait("a"), waiting])).toEqual(["yes", null]);
  });

  test("what gets no answer expires once, and what is answered or taken back does not", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { told, rules, requests, put } = makeRequests();
    const expired: string[] = [];
    for (const id of ["late", "answered", "back"]) put(id, { ms: 100, onExpired: () => expired.push(id) });
    requests.answer("answered", "yes");
    rules.accept({ type: "request_withdrawn", request_id: "back" });
    requests.closeEnded();
    vi.advanceTimersByTime(1000);
    expect(expired).toEqual(["late"]);
    expect(told.map((event) => "by" in event && event.by)).toEqual(["client", "agent", "deadline"]);
    expect([requests.waits, vi.getTimerCount()]).toEqual([false, 0]);
  });

  test("where no client answers, a request ends at once, unless the agent has ended it itself", () => {
    const { told, rules, requests } = makeRequests();
    const expired: string[] = [];
    for (const id of ["a", "b"]) rules.accept({ type: "question", request_id: id, question: "Which?" });
    rules.accept({ type: "request_withdrawn", request_id: "b" });
    for (const id of ["a", "b"]) requests.add(id, { asked, offered: null, ms: 0, onExpired: () => expired.push(id) });
    requests.closeEnded();
    expect(expired).toEqual(["a"]);
    expect(told.map((event) => "by" in event && event.by)).toEqual(["deadline", "agent"]);
  });
});
