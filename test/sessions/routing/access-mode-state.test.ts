import { describe, expect, test } from "vitest";
import {
  accessModeKey,
  accessModeState,
  type ModeUse,
  unused,
} from "../../../core/sessions/routing/access-mode-state.ts";
import type { AccessModeStatus } from "../../../plugin-sdk/access-modes.ts";
import { api, local, subscription } from "./modes.ts";

const now = Date.UTC(2026, 0, 1, 12, 0, 0);

function used(requests: number, changes: { tokens?: number; agoMs?: number; limitedUntil?: number } = {}): ModeUse {
  const { tokens = 0, agoMs = 0, limitedUntil = null } = changes;
  return { spans: [{ at: now - agoMs, width_ms: 1000, requests, tokens }], limitedUntil };
}

function said(changes: Partial<AccessModeStatus>): AccessModeStatus {
  return {
    type: "subscription",
    status: "available",
    current: { requests: 999, tokens: 999 },
    limits: {},
    reset_at: null,
    estimated_wait: null,
    ...changes,
  };
}

describe("accessModeState", () => {
  test("a mode without use is available, with its plan's ceilings", () => {
    const mode = subscription({}, { requests_per_minute: 5 });
    expect(accessModeState(mode, unused, { now })).toEqual({
      mode,
      exhausted: false,
      remaining: 5,
      status: {
        type: "subscription",
        status: "available",
        current: { requests: 0, tokens: 0 },
        limits: { requests_per_minute: 5 },
        reset_at: null,
        estimated_wait: 0,
      },
    });
    expect(accessModeState(api(), unused, { now })).toMatchObject({ remaining: null, status: { limits: {} } });
  });

  test.each([
    [{ requests_per_minute: 3 }, used(3), 61, false],
    [{ requests_per_hour: 3 }, used(3), 3601, false],
    [{ requests_per_day: 3 }, used(3), 86_401, true],
    [{ tokens_per_day: 50 }, used(1, { tokens: 50 }), 86_401, true],
  ])("a ceiling of %j that is reached limits it until its window has room", (limits, use, wait, exhausted) => {
    const state = accessModeState(subscription({}, limits), use, { now });
    expect(state.exhausted).toBe(exhausted);
    expect(state.status).toMatchObject({
      status: "rate_limited",
      estimated_wait: wait,
      reset_at: new Date(now + wait * 1000).toISOString(),
    });
    const below = accessModeState(subscription({}, limits), used(2, { tokens: 49 }), { now });
    expect(below.status.status).toBe("available");
  });

  test("of several ceilings the one that holds longest counts, and what is left is of the tightest", () => {
    const limits = { requests_per_minute: 2, requests_per_day: 3 };
    expect(accessModeState(subscription({}, limits), used(3), { now }).status.estimated_wait).toBe(86_401);
    expect(accessModeState(subscription({}, limits), used(2, { agoMs: 120_000 }), { now }).remaining).toBe(1);
  });

  test("a limit that the agent reported holds until its end", () => {
    expect(accessModeState(api(), used(1, { limitedUntil: now + 1500 }), { now }).status).toMatchObject({
      status: "rate_limited",
      estimated_wait: 2,
    });
    expect(accessModeState(api(), used(1, { limitedUntil: now }), { now }).status.status).toBe("available");
  });

  test("the adapter's word makes it worse, never better, and does not touch the host's counts", () => {
    const limits = { requests_per_minute: 1 };
    const better = accessModeState(subscription({}, limits), used(1), { now, said: said({}) });
    expect(better.status).toMatchObject({ status: "rate_limited", current: { requests: 1, tokens: 0 } });
    const reset_at = new Date(now + 5000).toISOString();
    const worse = accessModeState(subscription(), unused, { now, said: said({ status: "rate_limited", reset_at }) });
    expect(worse.status).toMatchObject({
      status: "rate_limited",
      reset_at,
      estimated_wait: 5,
      current: { requests: 0 },
    });
    const unknown = accessModeState(subscription(), unused, { now, said: said({ status: "rate_limited" }) });
    expect(unknown.status).toMatchObject({ status: "rate_limited", reset_at: null, estimated_wait: null });
    const none = accessModeState(subscription(), unused, { now, said: said({ status: "unavailable" }) });
    expect(none.status.status).toBe("unavailable");
  });

  test("a mode that is not enabled, or of an agent that cannot be used, is unavailable", () => {
    expect(accessModeState(api({ enabled: false }), unused, { now }).status.status).toBe("unavailable");
    expect(accessModeState(api(), unused, { now, usable: false }).status.status).toBe("unavailable");
  });
});

test("accessModeKey tells the modes of an adapter apart", () => {
  const modes = [
    null,
    subscription(),
    subscription({ plan: "max" }),
    api(),
    api({ model: "x" }),
    local({ model: "x" }),
  ];
  expect(new Set(modes.map(accessModeKey)).size).toBe(modes.length);
});
