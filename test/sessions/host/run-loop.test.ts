import type { SessionHandle } from "bulkhead";
import { describe, expect, test } from "vitest";
import { runLoop } from "../../../core/sessions/host/run-loop.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult, StopReason } from "../../../plugin-sdk/result.ts";
import { fakeResult } from "../../doors/cli/fake-host.ts";
import { adapterCode, completed, openHost } from "./test-host.ts";

/** A host whose sessions end as told, and the requests it got. */
function scripted(ends: readonly Partial<SessionResult>[]) {
  const requests: SessionRequest[] = [];
  const runSession = (request: SessionRequest): Promise<SessionHandle> => {
    const result = fakeResult({ session_id: `s${requests.length}`, ...ends[requests.length] });
    requests.push(request);
    return Promise.resolve(
      { id: result.session_id, result: () => Promise.resolve(result) } as unknown as SessionHandle,
    );
  };
  return { requests, host: { runSession } };
}

async function run(ends: readonly Partial<SessionResult>[], request: Partial<SessionRequest> = {}) {
  const { host, requests } = scripted(ends);
  const loop = runLoop(host, { workdir: "/w", prompt: "p", ...request }, { adapter: "a" });
  for (;;) {
    const { done, value } = await loop.next();
    if (done) return { report: value, requests };
  }
}

const ended = (stop_reason: StopReason, tokens_in: number | null = null): Partial<SessionResult> => ({
  outcome: stop_reason === "end_turn" || stop_reason === "loop_complete" ? "completed" : "error",
  stop_reason,
  usage: { ...fakeResult().usage, tokens_in, tokens_out: null, cost: 0.5 },
});

describe("runLoop", () => {
  test("runs an iteration again after next(true), unless it was completed, and counts what it cost", async () => {
    const { host, requests } = scripted([ended("fatal", 3), ended("end_turn", 4), ended("fatal", 5)]);
    const loop = runLoop(host, { workdir: "/w", prompt: "p", budget: { tokens: 100 } }, { adapter: "a" });
    await loop.next();
    for (const again of [true, true]) expect(await loop.next(again)).toMatchObject({ done: false });
    expect(await loop.next(false)).toEqual({
      done: true,
      value: {
        complete: false,
        iterations: 3,
        stop_reason: "fatal",
        session_ids: ["s0", "s1", "s2"],
        cost: 1.5,
        currency: "USD",
        cost_unknown: 0,
        tokens: 12,
      },
    });
    expect(requests.map(({ iteration }) => iteration)).toEqual([1, 1, 2]);
    expect(requests.map(({ budget }) => budget?.tokens)).toEqual([100, 97, 93]);
  });

  test("adds up one currency, counts the sessions of unknown cost, and gives no sum of two currencies", async () => {
    const usage = (cost: number | null, currency: string | null) => ({
      stop_reason: "end_turn" as const,
      usage: { ...fakeResult().usage, cost, currency },
    });
    const of = async (...used: ReturnType<typeof usage>[]) => {
      const { report } = await run([...used, ended("fatal")].slice(0, used.length), { max_iterations: used.length });
      return [report.cost, report.currency, report.cost_unknown];
    };
    expect(await of(usage(0.1, "EUR"), usage(null, null), usage(0.2, "EUR"))).toEqual([0.3, "EUR", 1]);
    expect(await of(usage(null, null), usage(null, null))).toEqual([null, null, 2]);
    expect(await of(usage(0, null), usage(0, null))).toEqual([0, null, 0]);
    expect(await of(usage(0, null), usage(1, "EUR"))).toEqual([1, "EUR", 0]);
    expect(await of(usage(1, "EUR"), usage(1, "USD"))).toEqual([null, null, 0]);
  });

  test("runs fresh sessions until the signal comes", async () => {
    const { report, requests } = await run([ended("end_turn", 3), ended("end_turn", 4), ended("loop_complete")], {
      idempotency_key: "k",
    });
    expect(report).toEqual({
      complete: true,
      iterations: 3,
      stop_reason: "loop_complete",
      session_ids: ["s0", "s1", "s2"],
      cost: 1.5,
      currency: "USD",
      cost_unknown: 0,
      tokens: 7,
    });
    expect(requests.map(({ iteration, max_iterations, enhance, idempotency_key }) => ({
      iteration,
      max_iterations,
      enhance,
      idempotency_key,
    }))).toEqual(
      [1, 2, 3].map((iteration) => ({
        iteration,
        max_iterations: 25,
        enhance: true,
        idempotency_key: `k#${iteration}`,
      })),
    );
  });

  test("ends at the maximum, at a session that fails, and when the budget of all is spent", async () => {
    const forever = Array.from({ length: 30 }, () => ended("end_turn", 10));
    const most = await run(forever, { max_iterations: 4 });
    expect(most.report).toMatchObject({ complete: false, iterations: 4, stop_reason: "max_iterations" });
    const failed = await run([ended("end_turn"), ended("crash"), ended("loop_complete")]);
    expect(failed.report).toMatchObject({ complete: false, iterations: 2, stop_reason: "crash" });
    const cost = await run(forever, { budget: { cost: 1.2 } });
    expect(cost.report).toMatchObject({ iterations: 3, stop_reason: "budget_cost" });
    expect(cost.requests.map(({ budget }) => budget?.cost?.toFixed(1))).toEqual(["1.2", "0.7", "0.2"]);
    const tokens = await run(forever, { budget: { tokens: 20 } });
    expect(tokens.report).toMatchObject({ iterations: 2, stop_reason: "budget_tokens" });
  });

  test("one that is interrupted between two sessions still reports on those before", async () => {
    const controller = new AbortController();
    const { host } = scripted([ended("end_turn", 3), ended("end_turn", 4)]);
    const runSession: typeof host.runSession = async (request) => {
      if (controller.signal.aborted) throw new BulkheadError("interrupted", "It was interrupted before it started.");
      return await host.runSession(request);
    };
    const request = { workdir: "/w", prompt: "p" };
    const loop = runLoop({ runSession }, request, { adapter: "a", signal: controller.signal });
    await loop.next();
    controller.abort();
    expect(await loop.next()).toMatchObject({
      done: true,
      value: { iterations: 1, stop_reason: "interrupted", session_ids: ["s0"], tokens: 3 },
    });
    const late = runLoop({ runSession }, request, { adapter: "a", signal: controller.signal });
    await expect(late.next()).rejects.toMatchObject({ code: "interrupted" });
  });

  test("a loop that no signal could end is refused", async () => {
    await expect(run([], { enhance: false })).rejects.toMatchObject({ code: "invalid_request" });
  });
});

describe("host.runLoop()", () => {
  test("an agent that echoes its prompt does not complete; one that gives the signal does", async () => {
    const made = await openHost();
    const code = adapterCode(`    yield { type: "output", stream: "stdout", data: request.prompt + "\\n" };
    if (/Iteration 3 of 5/.test(request.prompt)) yield { type: "output", stream: "stdout", data: "LOOP_COMPLETE\\n" };
    yield ${completed};`);
    await made.add("echo", { code });
    const outputs: string[] = [];
    const loop = made.host.runLoop({ workdir: made.workdir, prompt: "Do it.", max_iterations: 5 }, {
      adapter: "echo",
      artifacts: "none",
    });
    let step = await loop.next();
    for (; !step.done; step = await loop.next()) outputs.push((await step.value.result()).output);
    expect(step.value).toMatchObject({ complete: true, iterations: 3, stop_reason: "loop_complete" });
    expect(outputs[0]).toContain(`Working Directory: ${made.workdir}\nSignal completion with LOOP_COMPLETE\n`);
    expect(outputs[0]).toMatch(/Read \.agent\/scratchpad\.md\nIteration 1 of 5\n\nDo it\.\n$/);
  });
});
