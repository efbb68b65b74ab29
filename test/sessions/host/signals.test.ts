import { describe, expect, test } from "vitest";
import { toPrometheusText } from "bulkhead";
import { SignalCounter } from "../../../core/sessions/host/signal-counter.ts";
import { Signals } from "../../../core/sessions/host/signals.ts";
import type { HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { fakeResult, fakeSettings } from "../../doors/cli/fake-host.ts";
import { adapterCode, completed, openHost } from "./test-host.ts";

/** Signals whose clock is the test's, and how a session's events reach them. */
function watched() {
  const clock = { ms: 0 };
  const signals = new Signals(() => clock.ms);
  const see = (sessionId: string, ...events: HostEvent[]) => {
    const stream = { sessionId, adapter: { id: "alpha", version: "1.0.0" }, attempt: 1, lastSeq: 0 };
    for (const event of events) signals.see(stream, event);
  };
  /** Values by name and labels. */
  const values = () => {
    const text = toPrometheusText(signals.snapshot({ available: null, primary: null, problems: [] }));
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    return Object.fromEntries(lines.map((line) => {
      const space = line.lastIndexOf(" ");
      return [line.slice("bulkhead_".length, space), Number(line.slice(space + 1))];
    }));
  };
  return { clock, see, values, signals };
}

const started: HostEvent = {
  type: "session_started",
  adapter_id: "alpha",
  workdir: "/w",
  task_id: null,
  labels: {},
  requested: { workdir: "/w", prompt: "p" },
  effective: fakeSettings(),
  candidates: ["alpha"],
  passed_over: [],
};

function ended(changes: Partial<SessionResult> = {}): HostEvent {
  return { type: "session_ended", result: fakeResult(changes) };
}

describe("Signals", () => {
  test("count sessions by how they ended, with cost and tokens where they are known", () => {
    const { see, values } = watched();
    see("1", started, { type: "attempt_started", attempt: 1, adapter_id: "alpha" }, ended());
    see("2", started, ended({ stop_reason: "timeout" }));
    const free = { ...fakeResult().usage, cost: null, currency: null, tokens_in: null, tokens_out: null };
    see("3", started, ended({ stop_reason: "refused", usage: free }));
    see("4", started);
    expect(values()).toEqual({
      "sessions_running": 1,
      'session_success_total{adapter="alpha"}': 1,
      'session_ended_total{adapter="alpha",outcome="completed",stop_reason="end_turn"}': 1,
      'session_ended_total{adapter="alpha",outcome="error",stop_reason="timeout"}': 1,
      'session_ended_total{adapter="alpha",outcome="blocked",stop_reason="refused"}': 1,
      'session_cost_total{adapter="alpha",currency="USD",basis="reported"}': 0.0072,
      'session_tokens_total{adapter="alpha",direction="in"}': 1200,
      'session_tokens_total{adapter="alpha",direction="out"}': 240,
      'attempts_total{adapter="alpha"}': 1,
    });
  });

  test("count failed attempts, fallbacks and the time of both kinds of waits", () => {
    const { see, values, clock } = watched();
    const error = { code: "rate_limit", message: "429" } as const;
    see("1", started, { type: "queued", position: 2 });
    clock.ms = 1500;
    see("1", { type: "queued", position: 1 });
    clock.ms = 2000;
    see(
      "1",
      { type: "attempt_started", attempt: 1, adapter_id: "alpha" },
      { type: "attempt_failed", attempt: 1, adapter_id: "alpha", error, retry_in_ms: 250 },
      { type: "attempt_started", attempt: 2, adapter_id: "alpha" },
      { type: "attempt_failed", attempt: 2, adapter_id: "alpha", error, retry_in_ms: null },
      { type: "fallback", from: "alpha", to: "beta", reason: "r" },
      { type: "attempt_started", attempt: 3, adapter_id: "beta" },
    );
    see("2", started, { type: "queued", position: 1 });
    clock.ms = 5000;
    see("2", ended({ stop_reason: "interrupted" }));
    expect(values()).toMatchObject({
      "sessions_running": 1,
      'attempts_total{adapter="alpha"}': 2,
      'attempts_total{adapter="beta"}': 1,
      'attempt_failures_total{adapter="alpha",code="rate_limit"}': 2,
      'fallbacks_total{from="alpha",to="beta"}': 1,
      'waits_total{adapter="alpha",reason="queue"}': 2,
      'wait_seconds_total{adapter="alpha",reason="queue"}': 5,
      'waits_total{adapter="alpha",reason="retry"}': 1,
      'wait_seconds_total{adapter="alpha",reason="retry"}': 0.25,
    });
  });

  test("count what was denied, also what no event tells of", () => {
    const { see, values } = watched();
    const permissions = {
      allowed: 3,
      denied: 7,
      by: { read: { allowed: 3, denied: 0 }, net: { allowed: 0, denied: 7 } },
    };
    see("1", started, ended({ metadata: { tool_version: null, permissions } }));
    expect(values()).toMatchObject({ 'permissions_denied_total{adapter="alpha",permission="net"}': 7 });
    expect(Object.keys(values()).filter((name) => name.includes('"read"'))).toEqual([]);
  });

  test("a session that began under an earlier host ends without having run here", () => {
    const { see, values } = watched();
    see("old", ended({ stop_reason: "host_restarted" }));
    expect(values()["sessions_running"]).toBe(0);
  });

  test("a currency that is none is counted with the others", () => {
    const { see, values } = watched();
    for (const currency of ["credits\n", "usd", null]) {
      see("1", started, ended({ usage: { ...fakeResult().usage, cost: 1, currency } }));
    }
    expect(values()).toMatchObject({ 'session_cost_total{adapter="alpha",currency="other",basis="reported"}': 3 });
  });

  test("gauges that nobody has asked for have no value", () => {
    const { signals } = watched();
    const [none, noPrimary] = signals.snapshot({ available: null, primary: null, problems: [] });
    expect([none?.samples, noPrimary?.samples]).toEqual([[], []]);
    const [zero, primary] = signals.snapshot({ available: 0, primary: "alpha", problems: [] });
    expect([zero?.samples, primary?.samples]).toEqual([
      [{ labels: {}, value: 0 }],
      [{ labels: { adapter: "alpha" }, value: 1 }],
    ]);
  });
});

describe("SignalCounter", () => {
  test("counts values of a label beyond its bound together", () => {
    const counter = new SignalCounter({ name: "n", help: "h", labels: ["adapter"] });
    for (let index = 0; index < 1000; index++) counter.add([`a${index}`]);
    counter.add(["a0"]);
    const { samples } = counter.signal();
    expect(samples).toHaveLength(257);
    expect(samples[0]).toEqual({ labels: { adapter: "a0" }, value: 2 });
    expect(samples.at(-1)).toEqual({ labels: { adapter: "other" }, value: 744 });
  });

  test("only rises, and what it gave does not change", () => {
    const counter = new SignalCounter({ name: "n", help: "h", labels: [] });
    for (const by of [1, 0, -5, NaN, Infinity]) counter.add([], by);
    const before = counter.signal();
    counter.add([], 0.5);
    expect(before.samples).toEqual([{ labels: {}, value: 1 }]);
    expect(counter.signal().samples).toEqual([{ labels: {}, value: 1.5 }]);
  });
});

test("Host.signals tells of its sessions and of the agents that were asked", async () => {
  const made = await openHost();
  await made.add("alpha", { code: adapterCode(`await ctx.fs.readText("x").catch(() => {}); yield ${completed};`) });
  await made.add("beta", {
    code: adapterCode("", `async isAvailable() { return { availability: "missing", reason: "-" }; },`),
  });
  const gaugesOf = () =>
    toPrometheusText(made.host.signals().slice(0, 2)).split("\n").filter((line) => /^[a-z]/.test(line));
  expect(gaugesOf()).toEqual([]);
  await made.host.agents();
  expect(gaugesOf()).toEqual(["bulkhead_adapters_available 1", 'bulkhead_adapter_primary{adapter="alpha"} 1']);
  await made.run("alpha");
  const text = toPrometheusText(made.host.signals());
  expect(text).toContain('\nbulkhead_session_success_total{adapter="alpha"} 1\n');
  expect(text).toContain('\nbulkhead_permissions_denied_total{adapter="alpha",permission="read"} 1\n');
  expect(text).toContain("\nbulkhead_sessions_running 0\n");
});
