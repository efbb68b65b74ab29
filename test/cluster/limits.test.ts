import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTokens } from "../../core/doors/http/tokens.ts";
import { allPresent, type Machine, startMachine, until } from "./machine.ts";
import { type NatsServers, startServers } from "./nats-servers.ts";

describe("limits of two machines together", () => {
  let on: NatsServers;
  let one: Machine;
  let two: Machine;

  beforeAll(async () => {
    on = await startServers();
    const common = { servers: on.urls, limits: ", host_sessions: 3" };
    const made = await Promise.all([
      startMachine({ name: "one", ...common, cluster: ["slots: 2"] }),
      startMachine({ name: "two", ...common, labels: { at: "two" }, cluster: ["slots: 2"] }),
    ]);
    [one, two] = made;
    await allPresent(made);
  }, 60_000);

  afterAll(async () => {
    for (const machine of [one, two]) await machine?.remove();
    await on?.stop();
  });

  const start = ({ host, workdir }: Machine, adapter = "ticker") => host.start({ workdir, prompt: "go" }, { adapter });

  async function interruptAll(): Promise<void> {
    for (const { session_id } of await one.host.list({ state: "running" })) {
      await (await one.host.open(session_id)).interrupt();
    }
  }

  test("count the sessions of all machines, and a machine that dies gives its share back", async () => {
    await start(two);
    await start(two);
    await expect(start(two)).rejects.toMatchObject({ code: "busy", hint: expect.stringContaining("cluster.slots") });
    await start(one);
    await expect(start(one)).rejects.toMatchObject({ code: "busy", hint: expect.stringContaining("host_sessions") });
    const { slots, host_sessions, machines } = await one.host.cluster();
    expect({ slots, host_sessions, of: machines.map((machine) => machine.slots) }).toEqual({
      slots: 3,
      host_sessions: 3,
      of: [2, 2],
    });
    await two.signal("SIGKILL");
    await until("its share is free", async () => await start(one).then(() => true, () => false));
    await two.start();
    await start(two);
    await expect(start(two)).rejects.toMatchObject({ code: "busy" });
    await interruptAll();
  });

  test("count what all machines have used of an access mode", async () => {
    const request = { workdir: one.workdir, prompt: "go" };
    for (const machine of [one, two]) {
      const session = await start(machine, "planned");
      expect(await session.result()).toMatchObject({ outcome: "completed" });
    }
    await until("both know that it is used up", async () => {
      const reports = await Promise.all([one, two].map(({ host }) => host.agents()));
      return reports.every((agents) => agents.find(({ id }) => id === "planned")?.availability === "quota_exhausted");
    });
    for (const { host } of [one, two]) {
      const session = await host.start({ ...request, retry: "never" }, { adapter: ["planned", "brief"] });
      expect(await session.result()).toMatchObject({ outcome: "completed", attempts: [{ adapter_id: "brief" }] });
    }
  });

  test("give each client its turn where sessions wait for a machine", async () => {
    const [many, few] = await Promise.all(
      ["many", "few"].map(async (name) => await openTokens(one.stateDir).create({ name, scopes: ["run", "read"] })),
    );
    const place = { labels: { at: "two" } };
    const blocking = await Promise.all([start(two), start(two)]);
    const order: string[] = [];
    const wait = async (name: string, token: string) => {
      const session = await one.as(token).start({ workdir: two.workdir, prompt: "go", place }, { adapter: "brief" });
      order.push(name);
      await session.result();
    };
    const first = [1, 2, 3, 4].map(() => wait("many", many!.token));
    await until("they wait", async () => (await two.host.cluster()).waiting_sessions === 4);
    const last = wait("few", few!.token);
    await until("all wait", async () => (await two.host.cluster()).waiting_sessions === 5);
    // One slot is left to those that wait.
    await blocking[0]!.interrupt();
    await Promise.all([...first, last]);
    expect(order.indexOf("few")).toBeLessThanOrEqual(1);
    expect((await one.host.cluster()).waiting_sessions).toBe(0);
    await blocking[1]!.interrupt();
  });

  test("start one session for a key whose machine died while the session waited", async () => {
    const blocking = await Promise.all([start(two), start(two)]);
    const request = {
      workdir: two.workdir,
      prompt: "go",
      place: { labels: { at: "two" } },
      idempotency_key: "waits",
    };
    const asked = one.host.start(request, { adapter: "brief" }).catch(() => null);
    await until("it waits", async () => (await two.host.cluster()).waiting_sessions === 1);
    const again = two.host.start(request, { adapter: "brief" });
    await one.signal("SIGKILL");
    await blocking[0]!.interrupt();
    const session = await again;
    expect(await session.result()).toMatchObject({ outcome: "completed" });
    await one.start();
    expect((await one.host.start(request, { adapter: "brief" })).id).toBe(session.id);
    // The client that was asked first has asked again by itself.
    expect((await asked)?.id).toBe(session.id);
    await blocking[1]!.interrupt();
  });

  test("refuse a start at once while the servers are away", async () => {
    await on.servers[0]!.kill();
    await until("it is known", async () => !(await one.host.ready()));
    const begun = performance.now();
    await expect(start(one)).rejects.toMatchObject({ code: "unavailable" });
    expect(performance.now() - begun).toBeLessThan(5000);
    await on.servers[0]!.start();
    await until(
      "both are back",
      async () => (await Promise.all([one, two].map(({ host }) => host.ready()))).every(Boolean),
    );
    await (await start(one)).interrupt();
  });
});
