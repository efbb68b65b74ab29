import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BulkheadError, type ErrorCode, errorCodes } from "../../../plugin-sdk/errors.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import { outcomeOf } from "../../../plugin-sdk/result.ts";
import { maxTries } from "../../../core/sessions/session/retry-policy.ts";
import { breaksWith, done, hangs, type Script, ScriptedSession } from "./scripted-session.ts";
import { checkSession } from "./session-rules.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const codes = Object.keys(errorCodes) as ErrorCode[];
const id = fc.constantFrom("a", "b");
const event: fc.Arbitrary<AdapterEvent> = fc.oneof(
  id.map((call_id) => ({ type: "tool_call" as const, call_id, tool: "t", kind: "edit" as const, input: {} })),
  id.map((call_id) => ({
    type: "tool_result" as const,
    call_id,
    tool: "t",
    output: null,
    success: true,
    duration_ms: 1,
  })),
  id.map((request_id) => ({
    type: "permission_request" as const,
    request_id,
    tool: "t",
    title: "May I?",
    options: [{ id: "yes", label: "Yes", kind: "allow_once" as const }],
  })),
  id.map((request_id) => ({ type: "question" as const, request_id, question: "Which?" })),
  id.map((data) => ({ type: "output" as const, stream: "stdout" as const, data })),
  fc.record({
    type: fc.constant("usage" as const),
    scope: fc.constantFrom("turn" as const, "session" as const),
    tokens_in: fc.option(fc.nat(50)),
    tokens_out: fc.constant(null),
    tokens_cached: fc.constant(null),
    cost: fc.option(fc.nat(2)),
  }),
  fc.option(fc.nat(100_000)).map((wait_ms) => ({ type: "rate_limit" as const, message: "slow", wait_ms })),
  fc.record({
    type: fc.constant("error" as const),
    code: fc.constantFrom<string>(...codes, "refused", "odd"),
    message: fc.constant("It failed."),
    recoverable: fc.boolean(),
  }),
  fc.constant(done),
);
const ending = fc.oneof<fc.Arbitrary<Script | BulkheadError>[]>(
  fc.constant<Script>(() => undefined),
  fc.constant<Script>(({ say }) => say(done)),
  fc.constant(hangs),
  fc.constantFrom(...codes).map((code) => breaksWith(code)),
  fc.constantFrom(...codes).map((code) => new BulkheadError(code, "It could not begin.")),
);
const attempt = fc.record({ events: fc.array(event, { maxLength: 8 }), end: ending }).map(
  ({ events, end }): Script | BulkheadError =>
    end instanceof BulkheadError ? end : (stage) => {
      stage.say(...events);
      return end(stage);
    },
);
const plan = fc.record({
  adapters: fc.array(fc.array(attempt, { minLength: 1, maxLength: 7 }), { minLength: 1, maxLength: 3 }),
  retry: fc.constantFrom("never" as const, "safe" as const, "always" as const),
  approval: fc.constantFrom("ask" as const, "all" as const, "deny" as const),
  timeout_ms: fc.integer({ min: 1, max: 300_000 }),
  answer_timeout_ms: fc.constantFrom(0, 1000, 1_000_000),
  budget: fc.option(fc.record({ cost: fc.nat(4) }), { nil: undefined }),
  worktree: fc.boolean(),
  stop_after_ms: fc.option(fc.nat(60_000)),
});

test(
  "whatever adapters do over however many attempts, a session ends in exactly one result and keeps the rules",
  async () => {
    await fc.assert(
      fc.asyncProperty(plan, async ({ adapters, worktree, stop_after_ms, budget, ...request }) => {
        const scripted = new ScriptedSession(
          adapters.map((scripts, index) => ({ id: `adapter-${index}`, scripts, limits: { idle_timeout_ms: 20_000 } })),
          {
            request: { ...request, ...(budget ? { budget } : {}) },
            reset: worktree ? () => Promise.resolve() : null,
          },
        );
        let over = false;
        scripted.session.result.finally(() => (over = true)).catch(() => {});
        if (stop_after_ms !== null) setTimeout(() => scripted.session.stop("interrupted", "Enough."), stop_after_ms);
        for (let turn = 0; !over && turn < 1000; turn++) await vi.advanceTimersByTimeAsync(2000);
        expect(over).toBe(true);
        const result = await scripted.ended();
        expect(checkSession(scripted.events)).toEqual([]);
        expect(scripted.events.at(-1)?.event).toEqual({ type: "session_ended", result });
        expect(result.outcome).toBe(outcomeOf(result.stop_reason));
        if (result.outcome === "completed") expect(result.error).toBeUndefined();
        else expect(result.error?.code).toBeTypeOf("string");

        const tried = [...new Set(result.attempts.map(({ adapter_id }) => adapter_id))];
        for (const adapter of tried) {
          const attempts = result.attempts.filter(({ adapter_id }) => adapter_id === adapter);
          expect(attempts.length).toBeLessThanOrEqual(maxTries);
        }
        expect(result.attempts.map((one) => one.attempt)).toEqual(result.attempts.map((_, index) => index + 1));
        if (request.retry === "never") expect(result.attempts).toHaveLength(1);
        // Adapters are tried in their order, and none again after another.
        expect(tried).toEqual(adapters.slice(0, tried.length).map((_, index) => `adapter-${index}`));
        expect(result.substitutions).toHaveLength(tried.length - 1);
        // Without leave, nothing follows an attempt that had called a tool.
        if (request.retry === "safe" && !worktree) {
          const called = scripted.events.filter(({ event: one }) => one.type === "tool_call").map((one) => one.attempt);
          for (const number of called) expect(number).toBe(result.attempts.length);
        }
        expect(vi.getTimerCount()).toBeLessThanOrEqual(stop_after_ms === null ? 0 : 1);
        vi.clearAllTimers();
      }),
      { numRuns: 2000 },
    );
  },
  120_000,
);
