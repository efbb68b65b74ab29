import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allPresent, type Machine, startMachine, until } from "./machine.ts";
import { openTokens } from "../../core/doors/http/tokens.ts";
import { type NatsServers, startServers } from "./nats-servers.ts";
import { gitIn, makeRepository } from "./repository.ts";

describe("two machines", () => {
  let on: NatsServers;
  let one: Machine;
  let two: Machine;

  beforeAll(async () => {
    on = await startServers();
    const made = await Promise.all([
      startMachine({ name: "one", servers: on.urls, labels: { disk: "slow" } }),
      startMachine({ name: "two", servers: on.urls, labels: { disk: "fast", gpu: "yes" } }),
    ]);
    [one, two] = made;
    await allPresent(made);
  }, 60_000);

  afterAll(async () => {
    for (const machine of [one, two]) await machine?.remove();
    await on?.stop();
  });

  /** The machine whose log has the session. */
  async function machineOf(sessionId: string): Promise<string | undefined> {
    for await (const { session_id, machine } of one.host.events({ after: 0 })) {
      if (session_id === sessionId) return machine;
    }
    return undefined;
  }

  test("know one another's tokens and owners, until one is revoked on any of them", async () => {
    const made = await createToken(one, "ci");
    const ci = { one: one.as(made.token), two: two.as(made.token) };
    await until("the other machine knows it", async () => await ci.two.list().then(() => true, () => false));
    const session = await ci.one.start({ workdir: one.workdir, prompt: "go" }, { adapter: "brief" });
    const other = await one.host.start({ workdir: one.workdir, prompt: "go" }, { adapter: "brief" });
    await until("it is seen", async () => (await ci.two.list()).length === 1);
    expect((await ci.two.list()).map(({ session_id }) => session_id)).toEqual([session.id]);
    await expect(ci.two.get(other.id)).rejects.toMatchObject({ code: "not_found" });
    await openTokens(two.stateDir).revoke("ci");
    await until(
      "it holds nowhere",
      async () => await ci.one.list().then(() => false, ({ code }) => code === "unauthorized"),
    );
  });

  test("run a session on the machine, or on one with the labels", async () => {
    for (const place of [{ machine: "two" }, { labels: { gpu: "yes", disk: "fast" } }]) {
      const session = await one.host.start({ workdir: two.workdir, prompt: "go", place }, { adapter: "brief" });
      expect(await session.result()).toMatchObject({ outcome: "completed" });
      expect(await machineOf(session.id)).toBe("two");
    }
    const here = await one.host.start({ workdir: one.workdir, prompt: "go", place: { machine: "one" } }, {
      adapter: "brief",
    });
    expect(await machineOf(here.id)).toBe("one");
  });

  test("let a session wait for a machine that fits, and is told when none has come", async () => {
    const late = one.host.start(
      { workdir: one.workdir, prompt: "go", place: { labels: { gpu: "three" }, wait_ms: 800 } },
      { adapter: "brief" },
    );
    await until("it waits", async () => (await one.host.cluster()).waiting_sessions === 1);
    await expect(late).rejects.toMatchObject({ code: "unavailable" });
    const soon = one.host.start({ workdir: one.workdir, prompt: "go", place: { machine: "three" } }, {
      adapter: "brief",
    });
    const three = await startMachine({ name: "three", servers: on.urls, labels: { gpu: "three" } });
    try {
      const session = await soon;
      expect(await session.result()).toMatchObject({ outcome: "completed" });
      expect(await machineOf(session.id)).toBe("three");
    } finally {
      await three.remove();
    }
  });

  test("give no session to a machine whose code of the agent is another", async () => {
    const three = await startMachine({ name: "three", servers: on.urls, briefVersion: "1.0.1" });
    try {
      await until("it is seen", async () => {
        const { machines } = await one.host.cluster();
        return machines.some(({ name, other_agents }) => name === "three" && other_agents.includes("brief"));
      });
      const request = { workdir: one.workdir, prompt: "go", place: { machine: "three", wait_ms: 800 } };
      await expect(one.host.start(request, { adapter: "brief" })).rejects.toMatchObject({ code: "unavailable" });
      const same = await one.host.start(request, { adapter: "writer" });
      expect(await same.result()).toMatchObject({ outcome: "completed" });
    } finally {
      await three.remove();
    }
  });

  test("say why a machine could not start a session", async () => {
    const start = one.host.start({ workdir: "/nowhere/at/all", prompt: "go", place: { machine: "two" } }, {
      adapter: "brief",
    });
    await expect(start).rejects.toMatchObject({ code: "workdir_missing" });
  });

  test("run a session in a clone of a repository, whose changes every machine can read", async () => {
    const source = await makeRepository(join(one.folder, "source"));
    const repository = { url: `file://${source}`, ref: "main" };
    const request = { workdir: "part", prompt: "go", place: { machine: "two", repository } };
    const [first, second] = await Promise.all([1, 2].map(() => one.host.start(request, { adapter: "writer" })));
    for (const session of [first!, second!]) {
      expect(await session.result()).toMatchObject({ outcome: "completed", artifacts: [{ path: "made.txt" }] });
      expect(await one.host.workspaces.diff(session.id)).toMatchObject({ artifacts: [{ path: "part/made.txt" }] });
    }
    expect(gitIn(source, "status", "--porcelain").toString()).toBe("");
    const outside = one.host.start({ ...request, workdir: "../.." }, { adapter: "writer" });
    await expect(outside).rejects.toMatchObject({ code: "invalid_request" });
    const none = one.host.start({ ...request, place: { machine: "two", repository: { ...repository, ref: "none" } } }, {
      adapter: "writer",
    });
    await expect(none).rejects.toMatchObject({ code: "not_found" });
  });

  test("go on with a lost session in a fresh clone of its repository", async () => {
    const source = await makeRepository(join(one.folder, "again"));
    const place = { machine: "two", repository: { url: `file://${source}`, ref: "main" } };
    const request = { workdir: "part", prompt: "go", place, resume: "after_restart" as const };
    const lost = await one.host.start(request, { adapter: "ticker" });
    await until("it ticks", async () => (await one.host.get(lost.id)).last_seq > 5);
    await two.signal("SIGKILL");
    const { stop_reason, resumed_as } = await lost.result();
    expect({ stop_reason, resumed_as }).toEqual({ stop_reason: "machine_lost", resumed_as: expect.any(String) });
    const next = await one.host.open(resumed_as!);
    const result = await next.interrupt();
    expect(result).toMatchObject({ stop_reason: "interrupted", resumed_from: lost.id });
    expect(await machineOf(next.id)).toBe("one");
    await two.start();
  });

  test("leave alone the sessions of a machine that ends, for as long as it gives them", async () => {
    const drainMs = 3500;
    const four = await startMachine({ name: "four", servers: on.urls, drainMs });
    try {
      const session = await four.host.start({ workdir: four.workdir, prompt: "go" }, { adapter: "ticker" });
      await until("it is seen", async () => (await one.host.get(session.id).catch(() => null)) !== null);
      const ended = four.signal("SIGTERM");
      const stateOf = async () => (await one.host.cluster()).machines.find(({ name }) => name === "four")?.state;
      await until("it is said to leave", async () => await stateOf() === "leaving");
      // Longer than a machine may be silent.
      await sleep(2500);
      expect([await stateOf(), (await one.host.get(session.id)).state]).toEqual(["leaving", "running"]);
      await ended;
      expect(await (await one.host.open(session.id)).result()).toMatchObject({ stop_reason: "interrupted" });
      expect(await stateOf()).toBe("left");
    } finally {
      await four.remove();
    }
  });

  test("start one session for a key, whichever machine is asked", async () => {
    const request = { workdir: one.workdir, prompt: "go", idempotency_key: "k1" };
    const started = await Promise.all(
      [one, two, one, two].map(({ host }) => host.start(request, { adapter: "brief" })),
    );
    expect(new Set(started.map(({ id }) => id)).size).toBe(1);
    await Promise.all(started.map((session) => session.result()));
    const other = two.host.start({ ...request, prompt: "another" }, { adapter: "brief" });
    await expect(other).rejects.toMatchObject({ code: "idempotency_conflict" });
  });
});

function createToken({ stateDir }: Machine, name: string): Promise<{ token: string }> {
  return openTokens(stateDir).create({ name, scopes: ["run"] });
}
