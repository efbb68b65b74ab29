import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cuttable, cuttable } from "./cuttable.ts";
import { type Machine, startMachine, until } from "./machine.ts";
import { type NatsServers, startServers } from "./nats-servers.ts";
import { endAll, faultsOf, type Shown, startTickers, watch } from "./shown-events.ts";

/** A minute by `BULKHEAD_CLUSTER_CUT_MS=60000 npm run test:cluster -- cut`. */
const cutMs = Number(process.env["BULKHEAD_CLUSTER_CUT_MS"] ?? 5000);

let on: NatsServers;
let ways: Cuttable[] = [];
let machines: Machine[] = [];

beforeAll(async () => {
  // Servers that told their addresses would be reached past the cut.
  on = await startServers(3, ["--no_advertise"]);
  ways = await Promise.all(on.urls.map(cuttable));
  const near = ["one", "two"].map((name) => startMachine({ name, servers: on.urls, replicas: 3 }));
  const far = startMachine({ name: "far", servers: ways.map(({ url }) => url), replicas: 3 });
  machines = await Promise.all([...near, far]);
  await until("each sees the others", async () => {
    const seen = await Promise.all(machines.map(({ host }) => host.cluster()));
    return seen.every(({ machines: all }) => all.filter(({ state }) => state === "present").length === 3);
  });
}, 120_000);

afterAll(async () => {
  for (const machine of machines) await machine.remove();
  for (const way of ways) await way.close();
  await on?.stop();
});

test("a start waits for a connection that is made again in a moment", async () => {
  const [, , far] = machines as [Machine, Machine, Machine];
  for (const way of ways) way.shut();
  await until("it is noticed", async () => !(await far.host.cluster()).connected);
  const starting = far.host.start({ workdir: far.workdir, prompt: "go" }, { adapter: "brief" });
  await sleep(300);
  for (const way of ways) way.mend();
  const session = await starting;
  expect(await session.result()).toMatchObject({ outcome: "completed" });
}, 60_000);

test(`a machine that is cut off for ${cutMs} ms loses, doubles and reorders nothing`, async () => {
  const [one, , far] = machines as [Machine, Machine, Machine];
  const shown: Shown = new Map();
  const ids = await startTickers(machines);
  const own = ids.get(far)!;
  const watching = watch(machines, shown);
  await sleep(300);
  for (const way of ways) way.cut();
  await until("the others ended its session", async () => (await one.host.get(own)).state === "ended", 30_000);
  const before = await one.host.get(own);
  await sleep(cutMs - 3000);
  for (const way of ways) way.mend();
  await until("it has joined again", async () => {
    await far.ready();
    return (await far.host.get(own).catch(() => null))?.state === "ended";
  }, 60_000);
  // What it wrote while it was cut off was refused.
  expect((await far.host.get(own)).last_seq).toBe(before.last_seq);
  await endAll(machines, ids);
  await watching.stop();
  expect(await faultsOf([...ids.values()], { machines, shown, round: 0 })).toEqual([]);
}, cutMs + 150_000);
