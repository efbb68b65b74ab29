import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { parseHostManifest } from "bulkhead";
import { adapterCode, closeHosts, completed, errorOf, openHost, type TestHost, writePlugin } from "./test-host.ts";

/** An entry whose agent is in this state, and whose sessions say which adapter and access modes they have. */
function entry(availability = "available", { body = "", members = "" } = {}): string {
  return adapterCode(
    `${body}
     yield { type: "output", stream: "stdout", data: JSON.stringify(modes) };
     yield ${completed};`,
    `initialize(config) { modes = config.access_modes.map(({ type }) => type); },
     async isAvailable(ctx) {
       ctx.log.info("asked");
       return { availability: "${availability}", reason: "So it is.", next_step: "Do this.", version: "7.1" };
     },
     ${members}`,
  ).replace("export default", "let modes = [];\nexport default");
}

const modes = `access_modes:
  - {type: subscription, priority: 1, enabled: true, plan: pro, rate_limits: {requests_per_day: 2}}
  - {type: local, priority: 3, enabled: true, model: m, endpoint: "http://127.0.0.1:1"}
  - {type: api, priority: 2, enabled: true, model: m, max_tokens: 9,
     pricing: {input_per_1k_tokens: 1, output_per_1k_tokens: 1, currency: USD}}`;

/** A host whose plugins run in threads: what is tried here is not the walls, and processes take their time. */
async function open(options: Parameters<typeof openHost>[0] = {}): Promise<TestHost> {
  const made = await openHost(options);
  const inThread: TestHost["add"] = (id, plugin, settings) =>
    made.add(id, plugin, { trusted: true, isolation: "thread", ...settings });
  return { ...made, add: inThread };
}

function asked({ logs }: TestHost): number {
  return logs.filter(({ message }) => message === "asked").length;
}

describe("Host.agents", () => {
  test("says whose settings an agent has, and how one of an unknown name that is not logged in gets another's", async () => {
    const made = await openHost();
    const add = (id: string, run: string, settings: object = {}) => {
      const manifest = `permissions: { run: [{ binary: ${run} }, { binary: echo }] }`;
      const granted = {
        trusted: true,
        isolation: "thread" as const,
        grant: { run: [{ binary: run }, { binary: "echo" }] },
      };
      const fails =
        `yield { type: "error", code: "unavailable", message: "Not logged in.", recoverable: false }; return;`;
      const code = entry("unauthenticated", { body: fails });
      return made.add(id, { type: "agent", code, manifest }, { ...granted, ...settings });
    };
    await add("known", "codex-acp");
    await add("told", "zed-acp", { settings_of: "codex" });
    await add("zed", "zed-acp");
    for (
      const [id, hint] of [["known", undefined], ["zed", expect.stringMatching(/plugins\.zed\.settings_of/)]] as const
    ) {
      const { error } = (await made.run(id)).result;
      expect([error?.message, error?.hint], id).toEqual(["Not logged in.", hint]);
    }
    const reports = await made.host.agents();
    expect(reports.map(({ id, settings_of, next_step }) => [id, settings_of, next_step])).toEqual([
      ["known", undefined, "Do this."],
      ["told", "codex", "Do this."],
      ["zed", undefined, expect.stringMatching(/^Do this\. .*~\/\.config\/zed-acp.*plugins\.zed\.settings_of/)],
    ]);
  });

  test("reports on each adapter, asking each once in one entry, and again only when told", async () => {
    const made = await open();
    await made.add("alpha", { code: entry("unauthenticated") });
    await made.add("beta", { code: entry(), manifest: modes });
    const reports = await made.host.agents();
    expect(reports).toMatchObject([
      {
        id: "alpha",
        name: "alpha",
        version: "1.0.0",
        adapter_type: "tool",
        availability: "unauthenticated",
        reason: "So it is.",
        next_step: "Do this.",
        agent_version: "7.1",
        health: { status: "unhealthy", error: "So it is.", details: { binary_found: true, authenticated: false } },
        access_mode: null,
        access_modes: [],
        primary: false,
      },
      {
        id: "beta",
        availability: "available",
        health: { status: "healthy", details: { binary_version: "7.1", rate_limit_remaining: 2 } },
        access_mode: { type: "subscription", status: "available", current: { requests: 0, tokens: 0 } },
        access_modes: [{ type: "subscription" }, { type: "api" }, { type: "local" }],
        primary: true,
      },
    ]);
    expect(asked(made)).toBe(2);
    await made.host.agents();
    expect(asked(made)).toBe(2);
    await made.host.agents({ refresh: true });
    expect(asked(made)).toBe(4);
  });

  test("asks anew after a session of the adapter failed, not after one that did its work or was told to end", async () => {
    const made = await open();
    const body = `if (request.prompt === "fail") throw new Error("no");
      if (request.prompt === "wait") await ctx.sleep(1e8);`;
    await made.add("alpha", { code: entry("available", { body }) });
    await made.host.agents();
    const askedAfter = async (prompt: string) => {
      const session = await made.host.runSession({ workdir: made.workdir, prompt }, { adapter: "alpha" });
      if (prompt === "wait") await session.interrupt();
      await session.result();
      await made.host.agents();
      return asked(made);
    };
    expect(await askedAfter("go")).toBe(1);
    expect(await askedAfter("wait")).toBe(1);
    expect(await askedAfter("fail")).toBe(2);
  });

  test("a health check of the adapter's own counts, and one that fails makes it degraded", async () => {
    const made = await open();
    const own = `async healthCheck(ctx) {
      return { status: "degraded", latency_ms: 3, last_check: "2026-01-01T00:00:00.000Z", error: "slow",
        details: { binary_found: true, authenticated: true, custom_checks: { disk: false } } };
    },`;
    await made.add("own", { code: entry("available", { members: own }) });
    await made.add("throws", {
      code: entry("available", { members: `async healthCheck() { throw new Error("no disk"); },` }),
    });
    await made.add("nonsense", { code: entry("available", { members: `async healthCheck() { return 7; },` }) });
    const health = Object.fromEntries((await made.host.agents()).map((report) => [report.id, report.health]));
    expect(health["own"]).toMatchObject({
      status: "degraded",
      latency_ms: 3,
      details: { custom_checks: { disk: false } },
    });
    expect(health["throws"]).toMatchObject({ status: "degraded", error: "no disk" });
    expect(health["nonsense"]).toMatchObject({
      status: "degraded",
      error: "The adapter's healthCheck() gave no health.",
    });
  });

  test("says of adapters that cannot be asked what is wrong, and rejects for none", async () => {
    const made = await open();
    await made.add("throws", { code: adapterCode("", `isAvailable() { throw new Error("no idea"); },`) });
    await made.add("lies", { code: adapterCode("", `async isAvailable() { return { availability: "great" }; },`) });
    await made.add("broken", { code: "export default 1 +;" });
    const reports = await made.host.agents();
    expect(reports.map(({ id, availability }) => `${id} ${availability}`)).toEqual([
      "broken unrunnable",
      "lies unrunnable",
      "throws unrunnable",
    ]);
    expect(reports.map(({ reason }) => reason).join("\n")).toMatch(/mod\.js[^]*no availability[^]*no idea/);
    expect(reports.some(({ primary }) => primary)).toBe(false);
  });

  test("says of a plugin in quarantine that it is disabled and how it is released, without asking it", async () => {
    const made = await openHost();
    const code = adapterCode(`void Promise.reject(new Error("No luck")); await ctx.sleep(1e8);`);
    await made.add("shaky", { code }, { limits: { quarantine_crashes: 1, restart_backoff_ms: 1 } });
    await made.run("shaky");
    const [report] = await made.host.agents();
    expect(report).toMatchObject({
      availability: "disabled",
      quarantined: true,
      next_step: "bulkhead plugin release shaky",
      health: { status: "unhealthy" },
    });
    expect(report?.reason).toContain("quarantine");
    await made.host.release("shaky");
    expect(await made.host.agents()).toMatchObject([{ availability: "available", primary: true }]);
  });
});

describe("Host.runSession without one adapter", () => {
  test("takes the first available agent that can do what is needed", async () => {
    const made = await open();
    await made.add("a", { code: entry("missing"), manifest: "models: [m]" });
    await made.add("b", { code: entry() });
    await made.add("c", { code: entry() });
    const session = await made.host.runSession({ workdir: made.workdir, prompt: "go" });
    expect((await session.result()).provenance.adapter_id).toBe("b");
    const chain = await made.host.runSession({ workdir: made.workdir, prompt: "go" }, { adapter: ["a", "c", "b"] });
    expect((await chain.result()).provenance.adapter_id).toBe("c");
    expect((await made.host.route({ adapter: ["a", "c", "b"] })).candidates.map(({ adapter_id }) => adapter_id))
      .toEqual(
        ["c", "b"],
      );
  });

  test("holds to the host manifest's routing", async () => {
    const manifest = await parseHostManifest(
      "bulkhead: 1\nrouting: {agent: auto, order: [c, b], require: {testing: true}, availability_ttl_ms: 0}\n",
      { file: "bulkhead.yaml" },
    );
    const made = await open({ manifest });
    const able = entry();
    for (const id of ["a", "b", "c"]) {
      await made.add(id, { code: able, manifest: id === "c" ? "" : "# Made by a test." });
    }
    const refused = await errorOf(made.host.runSession({ workdir: made.workdir, prompt: "go" }));
    expect(refused).toMatchObject({ code: "unavailable" });
    expect(refused.message).toMatch(/a: It lacks testing\.\n.*b: It lacks testing\./);
    expect(asked(made)).toBe(3);
    await errorOf(made.host.route());
    expect(asked(made)).toBe(6);
    // Whoever names one adapter has decided already.
    expect((await made.run("a")).result.outcome).toBe("completed");
    expect(await errorOf(made.host.route({ adapter: "a", require: { code_review: true } }))).toMatchObject({
      code: "unavailable",
      details: { passed_over: [{ adapter_id: "a", reason: "It lacks code_review." }] },
    });
  });

  test("one that is named alone is not asked first, and an unknown one is an error that lists the others", async () => {
    const made = await open();
    await made.add("a", { code: entry("missing") });
    expect((await made.run("a")).result.outcome).toBe("completed");
    expect(asked(made)).toBe(0);
    const error = await errorOf(made.host.runSession({ workdir: made.workdir, prompt: "go" }, { adapter: "nobody" }));
    expect(error).toMatchObject({ code: "unknown_adapter", hint: "Enabled are: a." });
  });

  test("one that is there and not enabled is an error with the command that enables it", async () => {
    const { root } = await open();
    await writePlugin(join(root, "plugins", "idle"), "idle", { code: entry("available") });
    const { host, workdir } = await openHost({ root });
    expect(await errorOf(host.runSession({ workdir, prompt: "go" }, { adapter: "idle" }))).toMatchObject({
      code: "unknown_adapter",
      hint: "bulkhead plugin enable idle",
    });
    expect(await host.agents()).toMatchObject([{
      id: "idle",
      availability: "disabled",
      next_step: "Run: bulkhead plugin enable idle",
    }]);
  });

  test("a request that fits no schema is refused before anyone is asked", async () => {
    const made = await open();
    await made.add("a", { code: entry() });
    const wrong = { workdir: 7 } as unknown as Parameters<TestHost["host"]["runSession"]>[0];
    expect(await errorOf(made.host.runSession(wrong))).toMatchObject({ code: "invalid_request" });
    expect(asked(made)).toBe(0);
  });
});

describe("access modes", () => {
  test("are used by priority, counted, kept over a restart, and given up for the next when their plan is used up", async () => {
    const first = await open();
    await first.add("alpha", { code: entry(), manifest: modes });
    const outputs = [(await first.run("alpha")).result.output, (await first.run("alpha")).result.output];
    expect(outputs).toEqual(Array(2).fill('["subscription","api","local"]'));
    const { root } = first;
    await first.host.close();
    const again = await open({ root });
    await again.add("alpha", { code: entry(), manifest: modes });
    const [report] = await again.host.agents();
    expect(report).toMatchObject({
      availability: "available",
      access_mode: { type: "api" },
      access_modes: [{ type: "subscription", status: "rate_limited", current: { requests: 2 } }, {}, {}],
    });
    expect((await again.run("alpha")).result.output).toBe('["api","subscription","local"]');
    await closeHosts();
  });

  test("price what an agent reports in tokens alone, and say so in the events", async () => {
    const used =
      `yield { type: "usage", scope: "session", tokens_in: 500, tokens_out: 250, tokens_cached: null, cost: null };`;
    const paid = "access_modes: [{type: api, enabled: true, model: m, max_tokens: 9, " +
      "pricing: {input_per_1k_tokens: 0.1, output_per_1k_tokens: 0.2, currency: EUR}}]";
    const made = await open();
    await made.add("alpha", { code: entry("available", { body: used }), manifest: `reports: [tokens]\n${paid}` });
    const { result, events } = await made.run("alpha");
    expect(result.usage).toMatchObject({ cost: 0.1, currency: "EUR", scope: "session", basis: "estimated" });
    expect(events.map(({ event }) => event)).toContainEqual({
      type: "attempt_started",
      attempt: 1,
      adapter_id: "alpha",
      access_mode: "api",
    });
    expect((await made.host.agents())[0]?.access_mode?.current).toEqual({ requests: 1, tokens: 750 });
    const stopped = await made.run("alpha", { budget: { cost: 0.05 }, best_effort: true });
    expect(stopped.result.stop_reason).toBe("budget_cost");
  });

  test("are charged what an agent says at its end alone, and nothing for a session that never reached it", async () => {
    const body = `if (request.prompt.includes("hold")) await ctx.sleep(60_000);
      yield { type: "completed", success: true, files_changed: [], tokens_used: 750, cost: null };
      return;`;
    const made = await open();
    const one = { limits: { workers: 1, sessions_per_worker: 1 } };
    await made.add("alpha", { code: entry("available", { body }), manifest: modes }, one);
    const current = async () => (await made.host.agents())[0]?.access_mode?.current;
    await made.run("alpha");
    expect(await current()).toEqual({ requests: 1, tokens: 750 });
    const start = (prompt: string) =>
      made.host.runSession({ workdir: made.workdir, prompt }, { adapter: "alpha", artifacts: "none" });
    const holder = await start("hold");
    for await (const { event } of holder.events()) if (event.type === "attempt_started") break;
    const queued = await start("go");
    for await (const { event } of queued.events()) if (event.type === "queued") break;
    await queued.interrupt();
    await holder.interrupt();
    expect((await made.host.agents())[0]?.access_modes[0]?.current).toEqual({ requests: 2, tokens: 750 });
  });

  test("an agent whose sessions take all its workers is reported as available, soon", async () => {
    const made = await open();
    const body = "await ctx.sleep(60_000);";
    await made.add("alpha", { code: entry("available", { body }) }, { limits: { workers: 1, sessions_per_worker: 1 } });
    const start = () =>
      made.host.runSession({ workdir: made.workdir, prompt: "hold" }, { adapter: "alpha", artifacts: "none" });
    const holder = await start();
    for await (const { event } of holder.events()) if (event.type === "attempt_started") break;
    const queued = await start();
    const asked = performance.now();
    expect(await made.host.agents()).toMatchObject([
      { id: "alpha", availability: "available", reason: "Its sessions take all its workers." },
    ]);
    expect(performance.now() - asked).toBeLessThan(15_000);
    await queued.interrupt();
    await holder.interrupt();
  });

  test("a rate limit that a session ends with closes its mode, and an agent without another is rate limited", async () => {
    const limit = `yield { type: "error", code: "rate_limit", message: "429", recoverable: true }; return;`;
    const made = await open();
    await made.add("alpha", { code: entry("available", { body: limit }), manifest: modes });
    await made.add("beta", { code: entry("available", { body: limit }) });
    expect((await made.run("alpha")).result.error?.code).toBe("rate_limit");
    expect((await made.run("beta")).result.error?.code).toBe("rate_limit");
    const reports = await made.host.agents();
    expect(reports).toMatchObject([
      { id: "alpha", availability: "available", access_mode: { type: "api" } },
      { id: "beta", availability: "rate_limited", health: { status: "degraded" } },
    ]);
    expect(reports[1]?.reason).toMatch(/^It is limited until 20/);
    expect((await made.host.route()).passed_over).toMatchObject([{ adapter_id: "beta", code: "rate_limit" }]);
    await made.run("alpha");
    await made.run("alpha");
    expect((await made.host.agents())[0]).toMatchObject({ availability: "rate_limited" });
    expect(await errorOf(made.host.route())).toMatchObject({ code: "rate_limit" });
  });

  describe("without their key", () => {
    const key = "BULKHEAD_TEST_ACCESS_KEY";
    const paid = `{type: api, priority: 2, enabled: true, model: m, max_tokens: 9, api_key_env_var: ${key},
     pricing: {input_per_1k_tokens: 1, output_per_1k_tokens: 1, currency: USD}}`;
    const plan = "{type: subscription, priority: 1, enabled: true, plan: pro, rate_limits: {}}";
    const asksFor = `permissions: { env: [${key}] }`;
    afterEach(() => void delete process.env[key]);

    async function openWith(list: string, body = "") {
      const made = await open();
      const manifest = `${asksFor}\naccess_modes: [${list}]`;
      await made.add("alpha", { code: entry("available", { body }), manifest }, { grant: { env: [key] } });
      return made;
    }

    test("are not used by any choice, and every answer names the key and how to give it", async () => {
      const made = await openWith(paid);
      await made.add("beta", { code: entry() });
      const [report] = await made.host.agents();
      const how = { reason: expect.stringContaining(key), next_step: expect.stringContaining(`Set ${key} in`) };
      expect(report).toMatchObject({
        availability: "unauthenticated",
        ...how,
        access_modes: [{ status: "unavailable", missing_key: key }],
      });
      expect(await made.host.route()).toMatchObject({
        candidates: [{ adapter_id: "beta" }],
        passed_over: [{ adapter_id: "alpha", code: "unavailable", ...how }],
      });
      const refused = await errorOf(
        made.host.runSession({ workdir: made.workdir, prompt: "go" }, { adapter: "alpha" }),
      );
      expect(refused).toMatchObject({ code: "unavailable", message: expect.stringContaining(key) });
      const { result } = await made.run("alpha", { env: { [key]: "sk-of-the-request" } });
      expect(result.outcome).toBe("completed");
      process.env[key] = "sk-of-the-host";
      expect(await made.host.agents()).toMatchObject([{ availability: "available" }, {}]);
      expect((await made.run("alpha")).result.outcome).toBe("completed");
    });

    test("do not take over from a plan that is limited", async () => {
      const limit = `yield { type: "error", code: "rate_limit", message: "429", recoverable: true }; return;`;
      const made = await openWith(`${plan}, ${paid}`, limit);
      const modeOfNext = async () => {
        const { events } = await made.run("alpha");
        return events.flatMap(({ event }) => event.type === "attempt_started" ? [event.access_mode] : []);
      };
      expect([await modeOfNext(), await modeOfNext()]).toEqual([["subscription"], ["subscription"]]);
      const [report] = await made.host.agents();
      expect(report).toMatchObject({
        availability: "rate_limited",
        reason: expect.stringMatching(/^Its subscription access is limited/),
      });
      process.env[key] = "sk-of-the-host";
      expect(await modeOfNext()).toEqual(["api"]);
    });
  });
});
