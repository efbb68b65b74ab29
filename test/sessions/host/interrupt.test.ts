import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MissingGrant } from "bulkhead";
import { describe, expect, test } from "vitest";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { checkSession } from "../session/session-rules.ts";
import {
  adapterCode,
  childrenLeft,
  completed,
  errorOf,
  isolations,
  openHost,
  ownChildren,
  type TestHost,
  until,
} from "./test-host.ts";

const limits = {
  teardown_timeout_ms: 200,
  agent_grace_ms: 300,
  heartbeat_interval_ms: 100,
  heartbeat_timeout_ms: 600,
  warden_grace_ms: 300,
};

/** Says that it runs, and then never ends by itself, but for the signal. */
const waits = adapterCode(`    yield { type: "progress", message: "running" };
    await ctx.sleep(1e8);`);

/** The same, deaf to the signal. */
const deaf = adapterCode(`    yield { type: "progress", message: "running" };
    for (;;) await new Promise(() => {});`);

/** The same, and it never lets anybody in again. */
const spins = adapterCode(`    yield { type: "progress", message: "running" };
    await ctx.sleep(20);
    for (;;);`);

interface Live {
  session: Awaited<ReturnType<TestHost["host"]["runSession"]>>;
  events: Envelope[];
  /** Resolves when the reader has seen the end. */
  read: Promise<void>;
}

async function start(
  { host, workdir }: TestHost,
  adapter: string,
  request: Partial<SessionRequest> = {},
): Promise<Live> {
  const session = await host.runSession({ workdir, prompt: "go", retry: "never", ...request }, {
    adapter,
    artifacts: "none",
  });
  const events: Envelope[] = [];
  const read = (async () => {
    for await (const envelope of session.events()) events.push(envelope);
  })();
  return { session, events, read };
}

function types({ events }: Live): string[] {
  return events.map(({ event }) => event.type);
}

describe.each(isolations)("interrupting a session in a %s", (isolation) => {
  const settings = { isolation, trusted: true, limits };

  test("that runs: the adapter is told, and the session ends as interrupted", async () => {
    const made = await openHost();
    const code = adapterCode(`    yield { type: "progress", message: "running" };
    try { await ctx.sleep(1e8); } catch (reason) { yield { type: "progress", message: reason.code + " " + ctx.signal.aborted }; }
    yield ${completed};`);
    await made.add("polite", { code }, settings);
    const live = await start(made, "polite");
    await until(() => types(live).includes("progress"));
    const result = await live.session.interrupt();
    await live.read;
    expect(result).toMatchObject({
      outcome: "error",
      stop_reason: "interrupted",
      error: { code: "interrupted" },
      confidence: 0,
    });
    expect(live.events.map(({ event }) => (event.type === "progress" ? event.message : ""))).toContain(
      "interrupted true",
    );
    expect(checkSession(live.events)).toEqual([]);
  });

  test("through the caller's signal", async () => {
    const made = await openHost();
    await made.add("waits", { code: waits }, settings);
    const controller = new AbortController();
    const session = await made.host.runSession(
      { workdir: made.workdir, prompt: "go" },
      { adapter: "waits", artifacts: "none", signal: controller.signal },
    );
    setTimeout(() => controller.abort(), 100);
    expect((await session.result()).stop_reason).toBe("interrupted");
  });

  test("that waits for its script: nothing is written once the host is closed", async () => {
    const made = await openHost();
    await made.add("waits", { code: waits }, settings);
    const session = await made.host.runSession({ workdir: made.workdir, prompt: "go" }, {
      adapter: "waits",
      artifacts: "none",
    });
    expect((await session.interrupt()).stop_reason).toBe("interrupted");
    await made.host.close();
    const files = await readdir(made.stateDir, { recursive: true });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await readdir(made.stateDir, { recursive: true })).toEqual(files);
  });

  test("that waits in line: it never starts, and the next in line moves up", async () => {
    const made = await openHost();
    await made.add("waits", { code: waits }, {
      ...settings,
      limits: { ...limits, workers: 1, sessions_per_worker: 1 },
    });
    const first = await start(made, "waits");
    await until(() => types(first).includes("progress"));
    const second = await start(made, "waits");
    const third = await start(made, "waits");
    await until(() => types(third).includes("queued"));
    expect(second.events.at(-1)?.event).toEqual({ type: "queued", position: 1 });
    expect(third.events.at(-1)?.event).toEqual({ type: "queued", position: 2 });
    expect((await second.session.interrupt()).stop_reason).toBe("interrupted");
    await second.read;
    expect(types(second)).toEqual(["session_started", "queued", "session_ended"]);
    await first.session.interrupt();
    await until(() => types(third).includes("progress"));
    expect((await third.session.interrupt()).stop_reason).toBe("interrupted");
  });

  test("that is deaf: it is left behind after its time, and its place serves the next", async () => {
    const made = await openHost();
    await made.add("deaf", { code: deaf }, { ...settings, limits: { ...limits, workers: 1, sessions_per_worker: 1 } });
    for (let time = 0; time < 2; time++) {
      const live = await start(made, "deaf");
      await until(() => types(live).includes("progress"));
      const started = performance.now();
      expect((await live.session.interrupt()).stop_reason).toBe("interrupted");
      expect(performance.now() - started).toBeLessThan(3000);
      await live.read;
      expect(types(live)).not.toContain("worker");
    }
  });

  test("deadlines: the total one in spite of a busy stream, the idle one only in silence", async () => {
    const made = await openHost();
    const busy = adapterCode(`    for (;;) { yield { type: "progress", message: "busy" }; await ctx.sleep(20); }`);
    await made.add("busy", { code: busy }, settings);
    await made.add("waits", { code: waits }, settings);
    await made.add("deaf", { code: deaf }, settings);
    const total = await made.run("busy", { timeout_ms: 600, idle_timeout_ms: 400 });
    expect(total.result).toMatchObject({
      stop_reason: "timeout",
      error: { code: "timeout", message: "The session was not done within 600 ms." },
    });
    const limited = adapterCode(
      `    yield { type: "rate_limit", message: "429: later", wait_ms: 9000 }; for (;;) await ctx.sleep(20);`,
    );
    await made.add("limited", { code: limited }, settings);
    expect((await made.run("limited", { timeout_ms: 600 })).result.error?.message).toBe(
      "The session was not done within 600 ms; its agent met a limit: 429: later.",
    );
    for (const adapter of ["waits", "deaf"]) {
      const idle = await made.run(adapter, { timeout_ms: 20_000, idle_timeout_ms: 300 });
      expect(idle.result).toMatchObject({ stop_reason: "idle_timeout", error: { code: "idle_timeout" } });
      expect(idle.result.effective).toMatchObject({ timeout_ms: 20_000, idle_timeout_ms: 300 });
    }
  });

  test("the first reason is kept", async () => {
    const made = await openHost();
    await made.add("deaf", { code: deaf }, settings);
    const live = await start(made, "deaf", { timeout_ms: 300 });
    await live.read;
    expect((await live.session.interrupt()).stop_reason).toBe("timeout");
  });

  test.each([
    [
      "cost",
      { cost: 1 },
      `{ type: "usage", scope: "session", tokens_in: null, tokens_out: null, tokens_cached: null, cost: 2 }`,
    ],
    [
      "tokens",
      { tokens: 10 },
      `{ type: "usage", scope: "turn", tokens_in: 6, tokens_out: 5, tokens_cached: null, cost: null }`,
    ],
    [
      "turns",
      { turns: 1 },
      `{ type: "usage", scope: "turn", tokens_in: 1, tokens_out: 1, tokens_cached: null, cost: null }`,
    ],
    ["tool_calls", { tool_calls: 0 }, `{ type: "tool_call", call_id: String(n), tool: "t", kind: "edit", input: {} }`],
  ])("a budget of %s that is spent", async (name, budget, event) => {
    const made = await openHost();
    const code = adapterCode(`    for (let n = 0; n < 2; n++) yield ${event};\n    await ctx.sleep(1e8);`);
    await made.add("spender", { code, manifest: `reports: [${name}]` }, settings);
    const { result, events } = await made.run("spender", { budget, best_effort: true });
    expect(result).toMatchObject({
      outcome: "error",
      stop_reason: `budget_${name}`,
      error: { code: "budget_exceeded" },
    });
    expect(checkSession(events)).toEqual([]);
  });

  test("a budget that is not spent changes nothing", async () => {
    const made = await openHost();
    const code = adapterCode(
      `    yield { type: "usage", scope: "session", tokens_in: 5, tokens_out: 5, tokens_cached: null, cost: 1 };\n    yield ${completed};`,
    );
    await made.add("thrifty", { code, manifest: "reports: [cost, tokens, turns, tool_calls]" }, settings);
    const { result } = await made.run("thrifty", {
      budget: { cost: 1, tokens: 10, turns: 1, tool_calls: 0 },
      best_effort: true,
    });
    expect(result.outcome).toBe("completed");
  });

  test("host.close() ends what runs, what waits and what is deaf, and nothing is left", async () => {
    const made = await openHost();
    await made.add("waits", { code: waits }, {
      ...settings,
      limits: { ...limits, workers: 1, sessions_per_worker: 1 },
    });
    await made.add("deaf", { code: deaf }, settings);
    const lives = [await start(made, "waits"), await start(made, "waits"), await start(made, "deaf")];
    await until(() => types(lives[0]!).includes("progress") && types(lives[2]!).includes("progress"));
    const started = performance.now();
    await made.host.close();
    expect(performance.now() - started).toBeLessThan(10_000);
    for (const { session, read } of lives) {
      expect((await session.result()).stop_reason).toBe("interrupted");
      await read;
    }
    for (const { events } of lives) expect(checkSession(events)).toEqual([]);
    // One that was killed is in the table for a moment more.
    await until(async () => (await ownChildren()).length === 0);
    await made.host.close();
  });
});

describe("a worker that is stuck", () => {
  test("at load: an interrupt does not wait for it, and its load ends at its deadline", async () => {
    const made = await openHost();
    await made.add("stuck", { code: `for (;;);\nexport default class {}` }, {
      // One worker: on Deno the end of a stuck thread takes its neighbours with it.
      limits: { ...limits, workers: 1, load_timeout_ms: 1500, quarantine_crashes: 100 },
    });
    const live = await start(made, "stuck");
    await new Promise((resolve) => setTimeout(resolve, 200));
    const started = performance.now();
    expect((await live.session.interrupt()).stop_reason).toBe("interrupted");
    expect(performance.now() - started).toBeLessThan(1000);
    const late = await made.run("stuck");
    expect(late.result).toMatchObject({ stop_reason: "fatal", error: { code: "load_failed" } });
    expect(late.result.error?.message).toContain("was not loaded within 1500 ms");
  });

  test("in a loop: interrupted stays the reason, and the worker's end is told", async () => {
    const made = await openHost();
    await made.add("spins", { code: spins }, { limits });
    const live = await start(made, "spins");
    await until(() => types(live).includes("progress"));
    expect((await live.session.interrupt()).stop_reason).toBe("interrupted");
    await live.read;
    expect(checkSession(live.events)).toEqual([]);
  });

  test("does not keep host.close() from its end", async () => {
    const made = await openHost();
    await made.add("spins", { code: spins }, { limits: { ...limits, heartbeat_timeout_ms: 60_000 } });
    const live = await start(made, "spins");
    await until(() => types(live).includes("progress"));
    const started = performance.now();
    await made.host.close();
    expect(performance.now() - started).toBeLessThan(15_000);
    expect((await live.session.result()).stop_reason).toBe("interrupted");
    expect(await childrenLeft()).toEqual([]);
  });

  test("costs a session that comes right after it nothing", async () => {
    const made = await openHost();
    const code = adapterCode(
      `    if (request.prompt === "die") for (const hoard = [];;) hoard.push(new Array(1000).fill(hoard.length));
    yield ${completed};`,
    );
    await made.add("mixed", { code }, { limits: { ...limits, heap_mb: 64, quarantine_crashes: 100 } });
    for (let time = 0; time < 3; time++) {
      expect((await made.run("mixed", { prompt: "die" })).result.stop_reason).toBe("crash");
      const { result } = await made.run("mixed");
      expect(result.error).toBeUndefined();
    }
  });
});

describe("approval", () => {
  const asks = adapterCode(
    `    yield { type: "permission_request", request_id: "r", tool: "shell", title: "Run it?", options: [
      { id: "yes", label: "Yes", kind: "allow_once" }, { id: "no", label: "No", kind: "reject_once" }] };
    const chosen = await ctx.permission("r");
    yield { type: "question", request_id: "q", question: "Which?" };
    yield { type: "output", stream: "stdout", data: JSON.stringify([chosen, request.approval ? null : await ctx.answer("q")]) };
    yield ${completed};`,
  );
  const yes = { id: "yes", label: "Yes", kind: "allow_once" };
  const no = { id: "no", label: "No", kind: "reject_once" };

  test.each([["all", yes], ["deny", no]] as const)("%s answers by policy", async (approval, chosen) => {
    const made = await openHost();
    await made.add("asks", { code: asks, manifest: "reports: [permissions]" });
    const { result, events } = await made.run("asks", { approval });
    expect(JSON.parse(result.output)).toEqual([chosen, null]);
    const resolved = events.flatMap(({ event }) => (event.type === "permission_resolved" ? [event] : []));
    expect(resolved).toEqual([
      { type: "permission_resolved", request_id: "r", choice: chosen.id, by: "policy" },
      { type: "permission_resolved", request_id: "q", choice: null, by: "session_end" },
    ]);
  });

  test("a client answers, once, and only what was asked", async () => {
    const made = await openHost();
    await made.add("asks", { code: asks, manifest: "reports: [permissions]" });
    const live = await start(made, "asks");
    expect(await live.session.answer("r", "yes")).toBe(false);
    await until(() => types(live).includes("permission_request"));
    expect(await live.session.answer("other", "yes")).toBe(false);
    expect(await live.session.answer("r", "yes")).toBe(true);
    expect(await live.session.answer("r", "no")).toBe(false);
    await until(() => types(live).includes("question"));
    expect(await live.session.answer("q", "the blue one")).toBe(true);
    expect(JSON.parse((await live.session.result()).output)).toEqual([yes, "the blue one"]);
    await live.read;
    expect(checkSession(live.events)).toEqual([]);
  });
});

describe("idempotency_key", () => {
  test("the same key is the same session, another key another one", async () => {
    const made = await openHost();
    await made.add("works", { code: adapterCode(`    yield ${completed};`) });
    const request = { workdir: made.workdir, prompt: "go", idempotency_key: "k1" };
    const options = { adapter: "works", artifacts: "none" } as const;
    const [first, again] = await Promise.all([
      made.host.runSession(request, options),
      made.host.runSession(request, options),
    ]);
    const result = await first.result();
    const later = await made.host.runSession(request, options);
    const other = await made.host.runSession({ ...request, idempotency_key: "k2" }, options);
    expect([again.id, later.id]).toEqual([first.id, first.id]);
    expect(await later.result()).toBe(result);
    expect(other.id).not.toBe(first.id);
    await other.result();
  });

  test("a request that could not start may be tried again", async () => {
    const made = await openHost();
    await made.add("works", { code: adapterCode(`    yield ${completed};`) });
    const workdir = join(made.root, "later");
    await errorOf(made.run("works", { workdir, idempotency_key: "k" }));
    expect((await made.run("works", { idempotency_key: "k" })).result.outcome).toBe("completed");
  });
});

describe("two hosts on one state folder", () => {
  test("run at once, each with a journal of its own, and the next host goes on with the first one's numbers", async () => {
    const one = await openHost();
    const two = await openHost({ root: one.root });
    const works = adapterCode(`    yield ${completed};`);
    for (const host of [one, two]) await host.add("works", { code: works });
    const [first, second] = await Promise.all([one.run("works"), two.run("works")]);
    expect([first.result.outcome, second.result.outcome]).toEqual(["completed", "completed"]);
    expect([first.events[0]!.gseq, second.events[0]!.gseq]).toEqual([1, 1]);
    await two.host.close();
    await one.host.close();
    const three = await openHost({ root: one.root });
    await three.add("works", { code: works });
    expect((await three.run("works")).events[0]!.gseq).toBe(first.events.at(-1)!.gseq + 1);
  });
});

describe("a missing grant", () => {
  const reads = adapterCode(`    yield { type: "output", stream: "stdout", data: await ctx.fs.readText("notes.txt") };
    yield ${completed};`);
  const manifest = "permissions:\n  read: [workdir]";

  async function withNotes(askGrant?: (missing: MissingGrant) => Promise<boolean>): Promise<TestHost> {
    const made = await openHost(askGrant ? { askGrant } : {});
    await writeFile(join(made.workdir, "notes.txt"), "hello");
    await made.add("reads", { code: reads, manifest });
    return made;
  }

  test("is denied with the command that would grant it when there is nobody to ask", async () => {
    const { result, events } = await (await withNotes()).run("reads");
    expect(result.error).toMatchObject({
      code: "permission_denied",
      hint: expect.stringContaining("bulkhead plugin grant reads read:"),
    });
    expect(events.map(({ event }) => event)).toContainEqual(
      expect.objectContaining({
        type: "capability",
        permission: "read",
        decision: "denied",
        grant_command: result.error?.hint,
      }),
    );
  });

  test.each([[true, "completed"], [false, "error"]] as const)("a person's %s holds", async (answer, outcome) => {
    const asked: MissingGrant[] = [];
    const made = await withNotes((missing) => {
      asked.push(missing);
      return Promise.resolve(answer);
    });
    const { result } = await made.run("reads");
    expect(result.outcome).toBe(outcome);
    expect(asked).toEqual([expect.objectContaining({ plugin_id: "reads", permission: "read" })]);
    if (answer) expect(result.output).toBe("hello");
    else expect(result.error?.code).toBe("permission_denied");
  });

  test.each([true, false])("an answer %s that comes after the session's end changes nothing", async (answer) => {
    let give = (_answer: boolean) => {};
    const made = await withNotes(() => new Promise((resolve) => (give = resolve)));
    const live = await start(made, "reads", { timeout_ms: 300 });
    expect((await live.session.result()).stop_reason).toBe("timeout");
    await live.read;
    give(answer);
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 200);
    const all: Envelope[] = [];
    for await (const envelope of made.host.events({ after: 0, signal: stop.signal })) all.push(envelope);
    expect(checkSession(all)).toEqual([]);
    expect(all).toEqual(live.events);
  });
});
