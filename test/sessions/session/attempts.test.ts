import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AccessMode } from "../../../plugin-sdk/access-modes.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { AdapterEvent, RateLimitEvent } from "../../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { StandInAddresses } from "../../../core/walls/broker/stand-in-addresses.ts";
import { breaksWith, done, failsWith, hangs, says, type ScriptedAdapter, ScriptedSession } from "./scripted-session.ts";
import { checkSession } from "./session-rules.ts";

const call: AdapterEvent = { type: "tool_call", call_id: "c", tool: "edit", kind: "edit", input: {} };
const answered: AdapterEvent = {
  type: "tool_result",
  call_id: "c",
  tool: "edit",
  output: null,
  success: true,
  duration_ms: 1,
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Runs a session to its end, however long it waits in between. */
async function run(adapters: readonly ScriptedAdapter[], request: Partial<SessionRequest> = {}, given = {}) {
  const scripted = new ScriptedSession(adapters, { ...given, request });
  let over = false;
  scripted.session.result.finally(() => (over = true)).catch(() => {});
  while (!over) await vi.advanceTimersByTimeAsync(500);
  const result = await scripted.ended();
  expect(checkSession(scripted.events)).toEqual([]);
  const of = <T extends string>(type: T) =>
    scripted.events.map(({ event }) => event).filter((event) => event.type === type);
  return { result, scripted, of };
}

describe("retry", () => {
  test("crashes back off and the session goes on where it is", async () => {
    const alpha = { id: "alpha", scripts: [breaksWith("crash"), breaksWith("out_of_memory"), says()] };
    const { result, of, scripted } = await run([alpha]);
    expect(result).toMatchObject({ outcome: "completed", stop_reason: "end_turn", substitutions: [] });
    expect(result.error).toBeUndefined();
    expect(result.attempts).toMatchObject([
      { attempt: 1, adapter_id: "alpha", error: { code: "crash" } },
      { attempt: 2, adapter_id: "alpha", error: { code: "out_of_memory" }, waited_ms: 2000 },
      { attempt: 3, adapter_id: "alpha", waited_ms: 4000 },
    ]);
    expect(of("attempt_failed")).toMatchObject([{ attempt: 1, retry_in_ms: 2000 }, { attempt: 2, retry_in_ms: 4000 }]);
    expect(scripted.events.at(-1)).toMatchObject({ attempt: 3 });
  });

  test("five attempts are the most", async () => {
    const { result, of } = await run([{ id: "alpha", scripts: [breaksWith("crash")] }]);
    expect(result).toMatchObject({ outcome: "error", stop_reason: "crash", error: { code: "crash" } });
    expect(result.attempts.map(({ waited_ms }) => waited_ms)).toEqual([undefined, 2000, 4000, 8000, 16_000]);
    expect(of("attempt_failed").at(-1)).toMatchObject({ attempt: 5, retry_in_ms: null });
  });

  test("a rate limit waits as long as was said", async () => {
    const limit: AdapterEvent = { type: "rate_limit", message: "wait 7 seconds", wait_ms: 7000 };
    const limited = failsWith("rate_limit", { before: [limit] });
    const { result } = await run([{ id: "alpha", scripts: [limited, failsWith("rate_limit"), says()] }]);
    expect(result.stop_reason).toBe("end_turn");
    expect(result.attempts.map(({ waited_ms }) => waited_ms)).toEqual([undefined, 7000, 60_000]);
  });

  test("a wait that the adapter does not read is read from its words, in the zone that they name", async () => {
    const at = new Date(Date.now() + 120_000);
    at.setSeconds(0, 0);
    const clock = at.toLocaleTimeString("en-US", { timeZone: "Asia/Tokyo", hour: "numeric", minute: "2-digit" });
    const message = `You've hit your limit · resets ${clock} (Asia/Tokyo)`;
    const limited = failsWith("rate_limit", { before: [{ type: "rate_limit", message, wait_ms: null }] });
    const { result, of } = await run([{ id: "alpha", scripts: [limited, says()] }]);
    const [told] = of("rate_limit").map((event) => (event as RateLimitEvent).wait_ms);
    expect(told).toBeGreaterThan(50_000);
    expect(told).toBeLessThanOrEqual(121_000);
    expect(result.attempts[1]?.waited_ms).toBe(told);
  });

  test("a limit without a known end gives way to the next adapter", async () => {
    const adapters = [{ id: "alpha", scripts: [failsWith("rate_limit")] }, { id: "beta", scripts: [says()] }];
    const { result } = await run(adapters);
    expect(result.attempts.map(({ adapter_id, waited_ms }) => [adapter_id, waited_ms])).toEqual([
      ["alpha", undefined],
      ["beta", undefined],
    ]);
  });

  test.each(["fatal", "refused", "some_word_of_the_adapter"])("%s is never tried again", async (code) => {
    const { result } = await run([
      { id: "alpha", scripts: [failsWith(code)] },
      { id: "beta", scripts: [says()] },
    ]);
    expect(result.attempts).toHaveLength(1);
    expect(result.stop_reason).toBe(code === "refused" ? "refused" : "fatal");
  });

  test("retry: never tries once", async () => {
    const adapters = [{ id: "alpha", scripts: [breaksWith("crash"), says()] }, { id: "beta", scripts: [says()] }];
    const { result } = await run(adapters, { retry: "never" });
    expect(result.attempts).toHaveLength(1);
    expect(result.stop_reason).toBe("crash");
  });

  test("an attempt that falls silent is tried again", async () => {
    const alpha = { id: "alpha", scripts: [hangs, says()] };
    const { result } = await run([alpha], { idle_timeout_ms: 5000 });
    expect(result.stop_reason).toBe("end_turn");
    expect(result.attempts).toMatchObject([{ error: { code: "idle_timeout" } }, { waited_ms: 2000 }]);
  });

  test("an agent that falls silent at a question is quoted", async () => {
    const asks = async (stage: Parameters<typeof hangs>[0]) => {
      await stage.say({ type: "output", stream: "stderr", data: "Working\n" });
      await stage.say({ type: "output", stream: "stdout", data: "Do you trust the files? [y/N] " });
      return await hangs(stage);
    };
    const { result } = await run([{ id: "alpha", scripts: [asks] }], { idle_timeout_ms: 5000, retry: "never" });
    expect(result.error?.message).toBe(
      'Nothing more was heard of the agent for 5000 ms. Its last words: "Working\nDo you trust the files? [y/N]"',
    );
  });

  test("the total deadline ends the session in the middle of a wait, and no attempt follows", async () => {
    const { result } = await run([{ id: "alpha", scripts: [breaksWith("crash")] }], { timeout_ms: 5000 });
    // 2 s and 4 s are more than there is: the second wait is not begun.
    expect(result).toMatchObject({ stop_reason: "crash" });
    expect(result.attempts).toHaveLength(2);
    const hung = await run([{ id: "alpha", scripts: [hangs] }], { timeout_ms: 5000 });
    expect(hung.result).toMatchObject({ stop_reason: "timeout", error: { code: "timeout" } });
    expect(hung.result.attempts).toHaveLength(1);
  });

  test("the first reason stands: a deadline that passes while a silent agent is being ended changes nothing", async () => {
    const deaf = async ({ cancelled }: Parameters<typeof hangs>[0]) => {
      await cancelled;
      await new Promise((resolve) => setTimeout(resolve, 3000));
      return { code: "crash" as const, message: "It was left behind." };
    };
    const { result } = await run([{ id: "alpha", scripts: [deaf] }], { idle_timeout_ms: 1000, timeout_ms: 2000 });
    expect(result).toMatchObject({ stop_reason: "idle_timeout", error: { code: "idle_timeout" } });
    expect(result.attempts).toHaveLength(1);
  });

  test("interrupt ends a wait at once", async () => {
    const scripted = new ScriptedSession([{ id: "alpha", scripts: [failsWith("rate_limit"), says()] }]);
    await vi.advanceTimersByTimeAsync(1000);
    await vi.waitFor(() => expect(scripted.types).toContain("attempt_failed"));
    scripted.session.stop("interrupted", "Enough.");
    const result = await scripted.ended();
    expect(result).toMatchObject({ stop_reason: "interrupted", error: { message: "Enough." } });
    expect(result.attempts).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("work that is done already", () => {
  const worked = { id: "alpha", scripts: [failsWith("crash", { before: [call, answered] }), says()] };
  const other = { id: "beta", scripts: [says()] };

  test("is not done again: the error says what was done", async () => {
    const { result } = await run([worked, other]);
    expect(result.attempts).toHaveLength(1);
    expect(result).toMatchObject({ stop_reason: "crash", error: { details: { tool_calls: 1, changed: [] } } });
    expect(result.error?.message).toMatch(/had made 1 tool call already/);
    expect(result.error?.hint).toMatch(/retry: always/);
  });

  test("a changed file counts as well", async () => {
    const change: AdapterEvent = { type: "file_change", path: "a.txt", action: "create" };
    const { result } = await run([{ id: "alpha", scripts: [failsWith("crash", { before: [change] })] }]);
    expect(result.attempts).toHaveLength(1);
    expect(result.error?.details).toMatchObject({ changed: ["a.txt"] });
  });

  test("is done again with retry: always", async () => {
    const { result } = await run([worked, other], { retry: "always" });
    expect(result.attempts).toHaveLength(2);
    expect(result.stop_reason).toBe("end_turn");
  });

  test("is taken back in a worktree", async () => {
    const reset = vi.fn(() => Promise.resolve());
    const { result } = await run([worked], {}, { reset });
    expect(reset).toHaveBeenCalledTimes(1);
    expect(result.stop_reason).toBe("end_turn");
  });

  test("stands where the worktree cannot be put back", async () => {
    const { result } = await run([worked], {}, { reset: () => Promise.reject(new Error("no")) });
    expect(result.attempts).toHaveLength(1);
  });
});

describe("fallback", () => {
  const gone = new BulkheadError("quarantined", "Plugin alpha is in quarantine.");

  test("what is unavailable hands over at once, and the result says so", async () => {
    const { result, of, scripted } = await run([
      { id: "alpha", scripts: [gone] },
      { id: "beta", scripts: [says({ type: "output", stream: "stdout", data: "by beta" })] },
    ]);
    expect(result).toMatchObject({ stop_reason: "end_turn", output: "by beta", provenance: { adapter_id: "beta" } });
    const substitution = { from: "alpha", to: "beta", reason: "Plugin alpha is in quarantine." };
    expect(result.substitutions).toEqual([substitution]);
    expect(of("fallback")).toEqual([{ type: "fallback", ...substitution }]);
    expect(of("session_started")).toMatchObject([{ adapter_id: "alpha", candidates: ["alpha", "beta"] }]);
    expect(scripted.events.at(-1)).toMatchObject({ attempt: 2, adapter: { id: "beta" } });
  });

  test("each adapter has its own five attempts", async () => {
    const { result } = await run([
      { id: "alpha", scripts: [breaksWith("crash")] },
      { id: "beta", scripts: [breaksWith("crash")] },
    ]);
    expect(result.attempts.map(({ adapter_id }) => adapter_id)).toEqual([
      ...Array<string>(5).fill("alpha"),
      ...Array<string>(5).fill("beta"),
    ]);
    expect(result.stop_reason).toBe("crash");
  });

  test("a wait longer than the time left goes to the next adapter", async () => {
    const adapters = [{ id: "alpha", scripts: [failsWith("rate_limit")] }, { id: "beta", scripts: [says()] }];
    const { result } = await run(adapters, { timeout_ms: 30_000 });
    expect(result.attempts.map(({ adapter_id }) => adapter_id)).toEqual(["alpha", "beta"]);
  });

  test("a limited access mode moves down to the next one of the same adapter", async () => {
    const plan: AccessMode = { type: "subscription", priority: 1, enabled: true, plan: "max", rate_limits: {} };
    const local: AccessMode = { type: "local", priority: 2, enabled: true, model: "m", endpoint: "http://localhost:1" };
    const seen: AccessMode[][] = [];
    const look =
      (then: (stage: Parameters<ReturnType<typeof says>>[0]) => unknown) =>
      (stage: Parameters<ReturnType<typeof says>>[0]) => {
        seen.push(stage.opened.config.access_modes);
        then(stage);
      };
    const manifest = { access_modes: [plan, local] };
    const { result } = await run([
      { id: "alpha", manifest, accessMode: plan, scripts: [look(failsWith("rate_limit"))] },
      { id: "alpha", manifest, accessMode: local, scripts: [look(says())] },
    ]);
    expect(result.substitutions).toMatchObject([{ from: "alpha (subscription)", to: "alpha (local)" }]);
    expect(result.effective.access_mode).toBe("local");
    expect(seen).toEqual([[plan, local], [local, plan]]);
    expect(result.attempts.map(({ waited_ms }) => waited_ms)).toEqual([undefined, undefined]);
  });

  test("usage and permissions are those of all attempts together", async () => {
    const usage = (tokens: number): AdapterEvent => ({
      type: "usage",
      scope: "session",
      tokens_in: tokens,
      tokens_out: 1,
      tokens_cached: null,
      cost: 0.25,
    });
    const { result } = await run([
      { id: "alpha", scripts: [failsWith("unavailable", { before: [usage(10)] })] },
      { id: "beta", scripts: [says(usage(5))] },
    ]);
    expect(result.usage).toMatchObject({ tokens_in: 15, tokens_out: 2, tokens_cached: null, cost: 0.5 });
  });
});

describe("budgets", () => {
  const usage: AdapterEvent = {
    type: "usage",
    scope: "turn",
    tokens_in: 60,
    tokens_out: 0,
    tokens_cached: null,
    cost: 0.6,
  };
  const works = (...events: AdapterEvent[]) => ({
    id: "alpha",
    scripts: [async ({ say, cancelled }: Parameters<ReturnType<typeof says>>[0]) => {
      say(...events);
      return await cancelled;
    }],
  });

  test.each(
    [
      [{ cost: 1 }, "budget_cost"],
      [{ tokens: 100 }, "budget_tokens"],
      [{ turns: 1 }, "budget_turns"],
      [{ tool_calls: 0 }, "budget_tool_calls"],
    ] as const,
  )("%j ends the session with %s", async (budget, stop_reason) => {
    const { result } = await run([works(usage, usage, call)], { budget });
    expect(result).toMatchObject({ outcome: "error", stop_reason, error: { code: "budget_exceeded" } });
    expect(result.attempts).toHaveLength(1);
  });

  test("counts the attempts together", async () => {
    const alpha = { id: "alpha", scripts: [failsWith("crash", { before: [usage] })] };
    const { result } = await run([alpha], { budget: { cost: 1 } });
    expect(result.stop_reason).toBe("budget_cost");
    expect(result.attempts).toHaveLength(2);
  });
});

describe("the agent's requests", () => {
  const options = [
    { id: "yes", label: "Yes", kind: "allow_once" as const },
    { id: "no", label: "No", kind: "reject_once" as const },
  ];
  const ask: AdapterEvent = {
    type: "permission_request",
    request_id: "r",
    tool: "shell",
    title: "Run it?",
    kind: "execute",
    options,
  };
  const question: AdapterEvent = { type: "question", request_id: "q", question: "Which?" };
  const asks = (event: AdapterEvent & { request_id: string }) => ({
    id: "alpha",
    scripts: [async ({ say, answer }: Parameters<ReturnType<typeof says>>[0]) => {
      say(event);
      say({ type: "output", stream: "stdout", data: String(await answer(event.request_id)) }, done);
    }],
  });

  test.each(
    [
      [ask, "permission_deadline"],
      [question, "question_deadline"],
    ] as const,
  )("nobody answers in time: $0.type blocks the session", async (event, stop_reason) => {
    const { result, of } = await run([asks(event)], { answer_timeout_ms: 60_000 });
    expect(result).toMatchObject({ outcome: "blocked", stop_reason, error: { code: "unanswered" } });
    expect(of("permission_resolved")).toMatchObject([{ choice: null, by: "deadline" }]);
    expect(result.attempts[0]!.duration_ms).toBeGreaterThanOrEqual(60_000);
  });

  test("the time in which a request waits does not count, unless the request names its own end", async () => {
    const waits = (request: Partial<SessionRequest>) => {
      const alpha = { ...asks(question), limits: { timeout_ms: 60_000 } };
      return run([alpha], request, { answerTimeoutMs: 240_000 });
    };
    const night = await waits({});
    expect(night.result).toMatchObject({
      stop_reason: "question_deadline",
      effective: { timeout_ms: 60_000, answer_timeout_ms: 240_000 },
    });
    expect(night.result.attempts[0]!.duration_ms).toBeGreaterThanOrEqual(240_000);
    expect((await waits({ timeout_ms: 50_000 })).result.stop_reason).toBe("timeout");
  });

  test("a wait that a limit cut, and an end that is sooner, stand beside the question", async () => {
    const alpha = asks(question);
    const started = async (request: Partial<SessionRequest>) => {
      const { session, types } = new ScriptedSession([alpha], { request, answerTimeoutMs: 60_000 });
      await vi.waitFor(() => expect(types).toBeDefined());
      await vi.advanceTimersByTimeAsync(10);
      const [{ asked_at = "", answer_by = "", answer_cut_from_ms } = {}] = session.waiting;
      session.stop("interrupted", "Enough.");
      await vi.advanceTimersByTimeAsync(2000);
      return [Math.round((Date.parse(answer_by) - Date.parse(asked_at)) / 1000), answer_cut_from_ms];
    };
    expect(await started({ answer_timeout_ms: 90_000 })).toEqual([60, 90_000]);
    expect(await started({ answer_timeout_ms: 60_000 })).toEqual([60, undefined]);
    expect(await started({ timeout_ms: 30_000 })).toEqual([30, undefined]);
  });

  test("nobody is there: it blocks at once", async () => {
    const { result } = await run([asks(ask)], { answer_timeout_ms: 0 });
    expect(result.stop_reason).toBe("permission_deadline");
    expect(result.attempts[0]!.duration_ms).toBe(0);
    expect(result.error?.message).toMatch(/no client was there/);
  });

  test.each(
    [
      [{ approval: "all" }, "yes"],
      [{ approval: "deny" }, "no"],
      [{ allowed_tools: ["shell"] }, "yes"],
      [{ allowed_tools: [] }, "no"],
      [{ tool_approvals: { "sh*": "deny" }, approval: "all" }, "no"],
    ] as const,
  )("%j answers %s by policy", async (request, output) => {
    const { result, of } = await run([asks(ask)], { ...request, answer_timeout_ms: 0 } as Partial<SessionRequest>);
    expect(result).toMatchObject({ outcome: "completed", output });
    expect(of("permission_resolved")).toMatchObject([{ choice: output, by: "policy" }]);
  });

  test("the first answer of a client wins, and silence meanwhile is not held against the agent", async () => {
    const scripted = new ScriptedSession([asks(ask)], { request: { idle_timeout_ms: 1000 } });
    await vi.waitFor(() => expect(scripted.types).toContain("permission_request"));
    await vi.advanceTimersByTimeAsync(100_000);
    expect(scripted.session.answer("r", "maybe")).toBe(false);
    expect([scripted.session.answer("r", "no"), scripted.session.answer("r", "yes")]).toEqual([true, false]);
    const result = await scripted.ended();
    expect(result).toMatchObject({ outcome: "completed", output: "no" });
  });

  test("a second attempt's request has an id of its own and is answered by it", async () => {
    const [script] = asks(ask).scripts;
    const alpha = { id: "alpha", scripts: [failsWith("crash", { before: [ask] }), script!] };
    const scripted = new ScriptedSession([alpha]);
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(500);
      expect(scripted.events.filter(({ event }) => event.type === "permission_request")).toHaveLength(2);
    });
    expect([scripted.session.answer("r", "yes"), scripted.session.answer("2.r", "yes")]).toEqual([false, true]);
    expect(await scripted.ended()).toMatchObject({ outcome: "completed", output: "yes" });
    expect(checkSession(scripted.events)).toEqual([]);
  });
});

describe("an adapter that guesses another one's ids", () => {
  test("an answer to the first is never had by the second", async () => {
    const options = [{ id: "yes", label: "Yes", kind: "allow_once" as const }];
    const ask = (request_id: string): AdapterEvent => ({
      type: "permission_request",
      request_id,
      tool: "read",
      title: "Read it?",
      options,
    });
    const first = {
      id: "alpha",
      scripts: [async ({ say, answer }: Parameters<ReturnType<typeof says>>[0]) => {
        say(ask("2.r"));
        await answer("2.r");
        say({ type: "error", code: "unavailable", message: "Gone.", recoverable: false });
      }],
    };
    const asked: unknown[] = [];
    const second = {
      id: "beta",
      scripts: [async ({ say, answer }: Parameters<ReturnType<typeof says>>[0]) => {
        asked.push(await answer("r"));
        say(ask("r"));
        asked.push(await answer("r"));
        say(done);
      }],
    };
    const scripted = new ScriptedSession([first, second]);
    const requests = () =>
      scripted.events.flatMap(({ event }) => (event.type === "permission_request" ? [event.request_id] : []));
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(500);
      expect(requests()).toHaveLength(1);
    });
    expect(scripted.session.answer(requests()[0]!, "yes")).toBe(true);
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(500);
      expect(requests()).toHaveLength(2);
    });
    expect(new Set(requests()).size).toBe(2);
    expect(scripted.session.answer(requests()[1]!, "yes")).toBe(true);
    await scripted.ended();
    expect(asked).toEqual([null, "yes"]);
  });
});

describe("what an agent says of its failure", () => {
  test("an endless wait is believed for a month, and an endless text is cut wherever it is told again", async () => {
    const limit: AdapterEvent = { type: "rate_limit", message: "wait", wait_ms: 1e300 };
    const scripts = [
      (stage: Parameters<ReturnType<typeof says>>[0]) =>
        stage.say(limit, { type: "error", code: "rate_limit", message: "x".repeat(1e6), recoverable: true }),
    ];
    const { result, of } = await run([{ id: "alpha", scripts }, { id: "beta", scripts: [says()] }], {
      timeout_ms: 60_000,
    });
    expect(result.outcome).toBe("completed");
    expect(JSON.stringify([result.attempts, result.substitutions, of("attempt_failed")]).length).toBeLessThan(20_000);
  });
});

test("a session whose script is never made ends when it is told to", async () => {
  const scripted = new ScriptedSession([{ id: "alpha", scripts: [says()], neverMade: true }]);
  scripted.session.stop("interrupted", "Enough.");
  expect(await scripted.ended()).toMatchObject({ outcome: "error", stop_reason: "interrupted" });
});

describe("the loop signal", () => {
  test.each([
    ["in the final text", "done\nLOOP_COMPLETE", "loop_complete"],
    ["nowhere", "done", "end_turn"],
    ["in an echo of the prompt", "Signal completion with LOOP_COMPLETE", "end_turn"],
  ])("%s", async (_, data, stop_reason) => {
    const alpha = { id: "alpha", scripts: [says({ type: "output", stream: "stdout", data })] };
    const { result } = await run([alpha], {}, { loopSignal: "LOOP_COMPLETE" });
    expect(result).toMatchObject({ outcome: "completed", stop_reason });
    expect((await run([alpha])).result.stop_reason).toBe("end_turn");
  });
});

describe("an end that comes between", () => {
  test("attempts is the session's end, also after one that was cut off for its silence", async () => {
    for (const script of [hangs, breaksWith("crash")]) {
      const scripted = new ScriptedSession([{ id: "alpha", scripts: [script, says()] }], {
        request: { idle_timeout_ms: 1000 },
      });
      while (!scripted.types.includes("attempt_failed")) await vi.advanceTimersByTimeAsync(100);
      scripted.session.stop("interrupted", "Somebody interrupted it.");
      const { stop_reason, error, attempts } = await scripted.ended();
      expect({ stop_reason, error }).toMatchObject({ stop_reason: "interrupted", error: { code: "interrupted" } });
      expect(attempts).toHaveLength(1);
    }
  });

  test("a failed attempt and what is decided over it promises no further one", async () => {
    let decide: (() => void) | null = null;
    const reset = () => new Promise<void>((resolve) => (decide = resolve));
    const failing = failsWith("crash", { before: [call, answered] });
    const scripted = new ScriptedSession([{ id: "alpha", scripts: [failing, says()] }], { reset });
    while (decide === null) await vi.advanceTimersByTimeAsync(10);
    scripted.session.stop("interrupted", "Somebody interrupted it.");
    (decide as () => void)();
    expect((await scripted.ended()).stop_reason).toBe("interrupted");
    const failed = scripted.events.map(({ event }) => event).filter(({ type }) => type === "attempt_failed");
    expect(failed).toMatchObject([{ attempt: 1, retry_in_ms: null }]);
  });

  test("the agent's last word and the session's last event changes nothing of how it ended", async () => {
    let list = () => {};
    let listing = false;
    const sharedWith = () => {
      listing = true;
      return new Promise<string[]>((resolve) => (list = () => resolve([])));
    };
    const scripted = new ScriptedSession([{ id: "alpha", scripts: [says()] }], { sharedWith });
    while (!listing) await vi.advanceTimersByTimeAsync(10);
    scripted.session.stop("interrupted", "The host is shutting down.");
    list();
    const result = await scripted.ended();
    expect(result).toMatchObject({ outcome: "completed", stop_reason: "end_turn" });
    expect(result.error).toBeUndefined();
  });
});

test("an agent that said it is done is not set to work again for what befell its worker afterwards", async () => {
  for (const retry of ["safe", "always"] as const) {
    const script = (stage: Parameters<ReturnType<typeof says>>[0]) => {
      stage.say(done);
      return { code: "crash", message: "Another session took the worker with it." } as const;
    };
    const { result } = await run([{ id: "alpha", scripts: [script, says()] }, { id: "beta", scripts: [says()] }], {
      retry,
    });
    expect(result).toMatchObject({ stop_reason: "crash", attempts: [{ attempt: 1 }] });
    expect(result.attempts).toHaveLength(1);
  }
});

test("an agent's words name its model, also where pieces of its output split the address that it has instead", async () => {
  const addresses = new StandInAddresses();
  addresses.add("0123456789abcdef", { port: 3128, url: new URL("https://api.example.com") });
  const makeBroker = () => ({
    addresses,
    call: () => Promise.resolve(null),
    uses: { allowed: 0, denied: 0, by: {} },
    prepare: () => {},
    close: () => Promise.resolve(),
  });
  const script = async (stage: Parameters<ReturnType<typeof says>>[0]) => {
    await stage.answer("any");
    const message = "Cannot reach 127.0.0.1:3128/0123456789abcdef.";
    const [data, rest] = ["Asked 127.0.0.1:3128/01234", "56789abcdef, in vain."];
    stage.say({ type: "output", stream: "stdout", data }, { type: "output", stream: "stdout", data: rest });
    stage.say({ type: "error", code: "unavailable", message, recoverable: false });
  };
  const { result, of } = await run([{ id: "alpha", scripts: [script] }], {}, { makeBroker });
  expect(result.error?.message).toBe("Cannot reach api.example.com.");
  expect(result.output).toBe("Asked api.example.com, in vain.");
  expect(of("error")).toMatchObject([{ message: "Cannot reach api.example.com." }]);
});

test("a change is told by its path in the working directory, however the agent spells it", async () => {
  const change: AdapterEvent = { type: "file_change", path: "/w/src/a.ts", action: "create" };
  const { of } = await run([{ id: "alpha", scripts: [says(change)] }]);
  expect(of("file_change")).toEqual([{ ...change, path: "src/a.ts" }]);
});
