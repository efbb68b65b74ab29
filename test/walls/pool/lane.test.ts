import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { protocolVersion } from "../../../core/walls/channel/protocol.ts";
import { fakeLane } from "../../hostile/fake-lane.ts";

const timers = { heartbeat_interval_ms: 100, heartbeat_timeout_ms: 400, load_timeout_ms: 1000 };

afterEach(() => void vi.useRealTimers());

function useOwnClock(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
}

/** Runs what is due until then, on a clock of the test's own. */
async function advance(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await new Promise((resolve) => setImmediate(resolve));
}

describe("Lane.loaded", () => {
  it("rejects with what the worker says is wrong with the plugin", async () => {
    const { lane, say } = fakeLane({ loaded: false });
    say({
      type: "loaded",
      protocol: protocolVersion,
      error: { code: "adapter_incomplete", message: "It lacks runSession." },
    });
    await expect(lane.loaded).rejects.toMatchObject({ code: "adapter_incomplete", message: "It lacks runSession." });
  });

  it("does not take a code that only the host can know", async () => {
    const { lane, say } = fakeLane({ loaded: false });
    const error = { code: "internal" as const, message: "It says so." };
    say({ type: "loaded", protocol: protocolVersion, error });
    await expect(lane.loaded).rejects.toMatchObject({ code: "fatal", details: { agent_code: "internal" } });
  });

  it("rejects, and the worker is ended, when nothing is heard within the load deadline", async () => {
    useOwnClock();
    const { lane, killed } = fakeLane({ loaded: false, limits: timers });
    await advance(999);
    expect(killed()).toBeNull();
    await advance(1);
    await expect(lane.loaded).rejects.toMatchObject({ code: "load_failed" });
    expect(killed()).toMatch(/not loaded within 1000 ms/);
  });

  it("rejects when the worker dies first", async () => {
    const { lane, end } = fakeLane({ loaded: false });
    end({ reason: "out_of_memory", message: "The worker ran out of memory." });
    await expect(lane.loaded).rejects.toMatchObject({ code: "out_of_memory" });
    expect(lane.alive).toBe(false);
  });
});

describe("Lane's heartbeat", () => {
  it("goes on for ever with a worker that answers", async () => {
    useOwnClock();
    const { heard, say, killed } = fakeLane({ limits: timers });
    let answered = 0;
    for (let ms = 0; ms < 10_000; ms += 100) {
      await advance(100);
      const pings = heard.filter(({ type }) => type === "ping");
      for (const ping of pings.slice(answered)) say({ type: "pong", n: (ping as { n: number }).n });
      answered = pings.length;
    }
    expect(answered).toBe(100);
    expect(killed()).toBeNull();
  });

  it("ends a worker within its deadline and one interval, and says so to each entry", async () => {
    useOwnClock();
    const fake = fakeLane({ limits: timers });
    const entries = [fake.open(), fake.open()];
    await advance(100);
    expect(fake.heard.at(-1)).toMatchObject({ type: "ping" });
    await advance(timers.heartbeat_timeout_ms - 1);
    expect(fake.killed()).toBeNull();
    await advance(1);
    expect(fake.killed()).toMatch(/did not answer for 400 ms\. It may be in a loop without an await/);
    for (const { entry } of entries) expect(await entry.ended).toMatchObject({ error: { code: "unresponsive" } });
  });

  it("counts an answer that waits to be read because the host was late", async () => {
    useOwnClock();
    const { heard, say, killed } = fakeLane({ limits: timers });
    await advance(100);
    // The timer fires first, as it does after a turn that took too long; what came meanwhile is read after it.
    vi.advanceTimersByTime(timers.heartbeat_timeout_ms);
    say({ type: "pong", n: (heard.at(-1) as { n: number }).n });
    await advance(0);
    expect(killed()).toBeNull();
  });

  it("stops with the worker: no timer is left", async () => {
    useOwnClock();
    const { lane, end } = fakeLane({ limits: timers });
    await advance(50);
    end({ reason: "exit", message: "gone" });
    await lane.ended;
    await advance(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("Lane.open", () => {
  it.each(["internal", "host_closed", "host_restarted", "unresponsive"] as const)(
    "ends an entry that says %s with fatal: only the host can know that",
    async (code) => {
      const { say, open } = fakeLane();
      const { entry } = open();
      say({ type: "done", sid: 1, error: { code, message: "It says so." } });
      expect(await entry.ended).toEqual({
        error: { code: "fatal", message: "It says so.", details: { agent_code: code } },
      });
    },
  );

  it("tells the worker about a cancel, and ends the worker when it does not come to an end", async () => {
    useOwnClock();
    const limits = { ...timers, heartbeat_interval_ms: 60_000, teardown_timeout_ms: 100, agent_grace_ms: 200 };
    const fake = fakeLane({ limits });
    const { entry } = fake.open();
    entry.cancel({ code: "interrupted", message: "Stop." });
    expect(fake.heard.at(-1)).toMatchObject({ type: "cancel", sid: 1, error: { code: "interrupted" } });
    const graceMs = 3 * limits.teardown_timeout_ms + limits.agent_grace_ms + limits.heartbeat_timeout_ms;
    await advance(graceMs - 1);
    expect(fake.killed()).toBeNull();
    await advance(1);
    expect(fake.killed()).toMatch(/did not end a session/);
    expect(await entry.ended).toMatchObject({ error: { code: "unresponsive" }, lost: { reason: "closed" } });
  });

  it("ends at once as a crash on a worker that is gone, and posts nothing to it", async () => {
    const fake = fakeLane();
    fake.end({ reason: "exit", message: "The worker thread exited." });
    await fake.lane.ended;
    const before = fake.heard.length;
    const { entry } = fake.open();
    entry.addCredit(5);
    entry.cancel({ code: "interrupted", message: "Stop." });
    expect(await entry.ended).toEqual({
      error: { code: "crash", message: "The worker thread exited." },
      lost: { reason: "exit", message: "The worker thread exited." },
    });
    expect(fake.heard).toHaveLength(before);
    expect(fake.lane.load).toBe(0);
  });

  it("is an orderly end, and no crash, where the host ended the worker for itself", async () => {
    const fake = fakeLane();
    const { entry } = fake.open();
    fake.lane.kill("host_closed", "The host is shutting down.");
    expect(await entry.ended).toMatchObject({ error: { code: "host_closed" } });
    expect(fake.lane.crash).toBeNull();
    const other = fakeLane();
    other.lane.kill("protocol_violation", "It lied.");
    expect(other.lane.crash).toMatchObject({ code: "protocol_violation" });
  });
});

describe("Lane's calls", () => {
  it("are answered once each, with a value or a typed error, in whatever order they are done", async () => {
    const answers = fc.array(fc.record({ fails: fc.boolean(), twice: fc.boolean() }), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(answers, fc.infiniteStream(fc.nat()), async (wanted, order) => {
        const pending: { id: number; settle(): void }[] = [];
        const fake = fakeLane();
        fake.open({
          onCall: (_operation, args) =>
            new Promise((resolve, reject) => {
              const { id } = args as { id: number };
              const { fails } = wanted[id - 1]!;
              const settle = () => fails ? reject(new BulkheadError("not_found", "There is none.")) : resolve({ id });
              pending.push({ id, settle });
            }),
        });
        wanted.forEach((_, index) =>
          fake.say({ type: "call", sid: 1, id: index + 1, op: "kv_get", args: { id: index + 1 } })
        );
        while (pending.length > 0) pending.splice(order.next().value! % pending.length, 1)[0]!.settle();
        await new Promise((resolve) => setTimeout(resolve, 0));
        const replies = fake.heard.filter((message) => message.type === "reply");
        expect(replies.map(({ id }) => id).sort((a, b) => a - b)).toEqual(wanted.map((_, index) => index + 1));
        for (const { id, value, error } of replies) {
          if (wanted[id - 1]!.fails) expect(error).toMatchObject({ code: "not_found" });
          else expect(value).toEqual({ id });
        }
        expect(fake.killed()).toBeNull();
      }),
      { numRuns: 30 },
    );
  });

  it("leave room for new ones once they are answered", async () => {
    const fake = fakeLane({ limits: { calls_in_flight: 2 } });
    fake.open({ onCall: () => Promise.resolve(1) });
    for (let round = 0; round < 20; round++) {
      fake.say({ type: "call", sid: 1, id: 2 * round, op: "kv_get", args: {} });
      fake.say({ type: "call", sid: 1, id: 2 * round + 1, op: "kv_get", args: {} });
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    expect(fake.heard.filter((message) => message.type === "reply" && message.value === 1)).toHaveLength(40);
  });
});

/** What a guest out of its mind may send. */
const anything = fc.oneof(
  fc.jsonValue(),
  fc.record({
    type: fc.constantFrom(
      "loaded",
      "events",
      "call",
      "done",
      "pong",
      "failed",
      "part",
      "open",
      "credit",
      "constructor",
    ),
    sid: fc.oneof(fc.integer({ min: -2, max: 5 }), fc.string(), fc.constant(null)),
    id: fc.oneof(fc.nat(), fc.string()),
    op: fc.oneof(fc.constant("kv_get"), fc.jsonValue()),
    args: fc.jsonValue(),
    n: fc.oneof(fc.nat(5), fc.string()),
    events: fc.oneof(fc.array(fc.jsonValue(), { maxLength: 5 }), fc.jsonValue()),
    error: fc.oneof(fc.constant({ code: "crash", message: "x" }), fc.jsonValue()),
    text: fc.string(),
    last: fc.boolean(),
    protocol: fc.nat(2),
  }, { requiredKeys: ["type"] }),
);

describe("Lane, whatever a guest sends", () => {
  it("throws nothing, settles every entry once, and ends as soon as it has had enough", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anything, { maxLength: 60 }), async (messages) => {
        const fake = fakeLane();
        const entries = [fake.open(), fake.open(), fake.open()];
        for (const message of messages) fake.say(message);
        if (fake.killed() !== null) expect(fake.lane.alive).toBe(false);
        fake.end({ reason: "exit", message: "gone" });
        for (const { entry } of entries) await entry.ended;
        await fake.lane.ended;
        await new Promise((resolve) => setTimeout(resolve, 0));
        for (const { ended } of entries) expect(ended).toHaveLength(1);
        expect(fake.lane.load).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it("survives bytes of any kind", () => {
    fc.assert(fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 20 }), (payloads) => {
      const fake = fakeLane();
      fake.open();
      for (const bytes of payloads) fake.sayBytes(bytes);
      fake.end({ reason: "exit", message: "gone" });
    }));
  });
});

describe("Lane's replies", () => {
  it.each<[string, unknown]>([
    ["a short text", "a"],
    ["a long text", '{"a":"é\\n"}\n'.repeat(100)],
    ["a long text that UTF-8 cannot hold", `${"a".repeat(300)}\ud800`],
    ["other values", { a: ["a".repeat(300)] }],
  ])("bring the worker %s as it is", async (_, value) => {
    const { open, say, heard } = fakeLane();
    open({ onCall: () => Promise.resolve(value) });
    say({ type: "call", sid: 1, id: 7, op: "stream_read", args: { stream_id: 1 } });
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard.at(-1)).toEqual({ type: "reply", sid: 1, id: 7, value });
  });

  it("with a long text come no more once the worker was ended", async () => {
    const { lane, open, say, heard } = fakeLane();
    open({ onCall: () => Promise.resolve("a".repeat(300)) });
    say({ type: "call", sid: 1, id: 7, op: "stream_read", args: { stream_id: 1 } });
    lane.kill("host_closed", "The host ends.");
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard.some(({ type }) => type === "reply")).toBe(false);
  });
});
