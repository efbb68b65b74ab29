import { afterEach, beforeEach, expect, test } from "vitest";
import { patiently } from "../../core/cluster/engine/patiently.ts";
import { SessionShares } from "../../core/cluster/machines/session-shares.ts";
import { type LogMachine, logMachine } from "./log-fixture.ts";
import { type NatsServers, startServers } from "./nats-servers.ts";

let on: NatsServers;
const machines: { machine: LogMachine; shares: SessionShares; close(): Promise<void> }[] = [];

beforeEach(async () => {
  on = await startServers();
});

afterEach(async () => {
  for (const { close } of machines.splice(0)) await close();
  await on.stop();
});

async function join(name: string, slots: number | null = null): Promise<SessionShares> {
  const machine = await logMachine(name, on);
  // Each has a log before it takes sessions.
  await machine.take();
  const over = new AbortController();
  const shares = new SessionShares({
    engine: machine.engine,
    machine: name,
    slots,
    sessionsOf: () => new Map(),
    askForSpare: () =>
      Promise.all(machines.filter((one) => one.shares !== shares).map((one) => one.shares.giveBackSpare())),
  });
  await shares.open();
  const following = shares.follow(over.signal);
  await shares.caughtUp;
  await shares.begin();
  machines.push({
    machine,
    shares,
    close: async () => {
      shares.close();
      over.abort();
      await following;
      await machine.close();
    },
  });
  return shares;
}

test("machines that start sessions at once never have more than the limit together", async () => {
  const all = [await join("one"), await join("two"), await join("three")];
  const starts = all.flatMap((shares) => Array.from({ length: 12 }, () => shares.take(20)));
  const settled = await Promise.allSettled(starts);
  expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(20);
  for (const one of settled) if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "busy" });
  expect(all.reduce((sum, { used }) => sum + used, 0)).toBe(20);
});

test("a slot that one machine gives back is another's at once", async () => {
  const [one, two] = [await join("one"), await join("two")];
  // Many are free, so that it takes some ahead.
  const taken = await Promise.all(Array.from({ length: 60 }, () => one.take(64)));
  await expect(Promise.all(Array.from({ length: 5 }, () => two.take(64)))).rejects.toMatchObject({ code: "busy" });
  for (const giveBack of taken.splice(0, 10)) giveBack();
  for (let at = 0; at < 6; at++) await two.take(64);
  expect(one.used + two.used).toBeLessThanOrEqual(64);
});

test("a machine takes no more than its own slots", async () => {
  const one = await join("one", 2);
  const giveBack = await one.take(100);
  await one.take(100);
  await expect(one.take(100)).rejects.toMatchObject({ code: "busy", hint: expect.stringContaining("cluster.slots") });
  giveBack();
  giveBack();
  await one.take(100);
  expect(one.used).toBe(2);
});

test("the share of a machine that is gone is free once it is sure that it begins no more sessions", async () => {
  const [one, two] = [await join("one"), await join("two")];
  for (let at = 0; at < 4; at++) await one.take(4);
  // It frees the share that was told until now.
  await expect.poll(() => two.taken).toBe(4);
  const free = two.freeing("one");
  await expect(two.take(4)).rejects.toMatchObject({ code: "busy" });
  expect(two.holds("one")).toBe(true);
  await free();
  for (let at = 0; at < 4; at++) await two.take(4);
  expect(two.holds("one")).toBe(false);
});

test("a machine that is back and has told a new share keeps it", async () => {
  const [one, two] = [await join("one"), await join("two")];
  await one.take(4);
  await expect.poll(() => two.holds("one")).toBe(true);
  const free = two.freeing("one");
  for (let at = 0; at < 2; at++) await one.take(4);
  await expect.poll(() => two.taken).toBe(3);
  await free();
  expect(two.taken).toBe(3);
});

test("a machine that joins waits for servers that have just started", async () => {
  const one = await join("one");
  // It takes more than it uses, which it gives back as it begins.
  await one.take(1000);
  await on.servers[0]!.kill();
  const begun = patiently("join the cluster", () => one.begin());
  await on.servers[0]!.start();
  await begun;
  expect(one.taken).toBe(1);
});

test("while the servers are away a machine uses what it has, and no more", async () => {
  const one = await join("one");
  await one.take(1000);
  await on.servers[0]!.kill();
  const begun = performance.now();
  for (;;) {
    const settled = await one.take(1000).then(() => null, (error: unknown) => error);
    if (settled === null) continue;
    expect(settled).toMatchObject({ code: "unavailable" });
    break;
  }
  expect(one.used).toBeLessThanOrEqual(33);
  expect(performance.now() - begun).toBeLessThan(20_000);
});
