import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Random } from "../fuzz/random.ts";
import { type LogMachine, logMachine } from "./log-fixture.ts";
import { type Machine, startMachine, until } from "./machine.ts";
import { type NatsServers, startServers } from "./nats-servers.ts";
import { makeRepository } from "./repository.ts";
import { endNext, isKnown, nextOf, resumeFaults, startResumable } from "./resumed-sessions.ts";
import { endAll, eventsOn, faultsOf, type Shown, startTickers, watch } from "./shown-events.ts";
import { StaleWrites, textOf } from "./stale-writes.ts";

const machineRounds = Number(process.env["BULKHEAD_CLUSTER_ROUNDS"] ?? 3);
const serverRounds = Number(process.env["BULKHEAD_CLUSTER_SERVER_ROUNDS"] ?? 2);
const seed = Number(process.env["BULKHEAD_CLUSTER_SEED"] ?? 20_261_124);

describe("rounds on three servers", () => {
  const random = new Random(seed);
  const shown: Shown = new Map();
  const takeovers: number[] = [];
  const resumes: number[] = [];
  const times: number[] = [];
  const faults: string[] = [];
  let on: NatsServers;
  let machines: Machine[] = [];
  let watcher: LogMachine;
  let stale: StaleWrites;
  let repository: string;

  beforeAll(async () => {
    on = await startServers(3);
    machines = await Promise.all(
      ["one", "two", "three"].map((name) => startMachine({ name, servers: on.urls, replicas: 3 })),
    );
    watcher = await logMachine("watcher", on);
    stale = await StaleWrites.open(on.urls, watcher);
    repository = await makeRepository(join(on.folder, "source"));
    await until("each sees the others", async () => {
      const seen = await Promise.all(machines.map(({ host }) => host.cluster()));
      return seen.every(({ machines: all }) => all.filter(({ state }) => state === "present").length === 3);
    });
  }, 120_000);

  afterAll(async () => {
    await stale?.close();
    await watcher?.close();
    for (const machine of machines) await machine.remove();
    await on?.stop();
  });

  test(
    `${machineRounds} kills and pauses of a machine lose, double or reorder nothing, and all goes on once`,
    async () => {
      for (let round = 0; round < machineRounds; round++) {
        const victim = pick(machines);
        const others = machines.filter((machine) => machine !== victim);
        const ids = await startTickers(machines);
        const own = ids.get(victim)!;
        const asking = await startResumable(victim, {
          by: others[0]!,
          repository: round % 2 === 0 ? null : repository,
        });
        const watching = watch(machines, shown);
        await sleep(100 + random.below(400));
        const begun = performance.now();
        const isPause = round % 4 === 2;
        await victim.signal(isPause ? "SIGSTOP" : "SIGKILL");
        const areEnded = async (...sessions: string[]) => {
          const states = await Promise.all(
            others.flatMap(({ host }) => sessions.map((id) => host.get(id).then(({ state }) => state, () => null))),
          );
          return states.every((state) => state === "ended");
        };
        await until(`round ${round}: the others ended its session`, () => areEnded(own), 60_000);
        takeovers.push(performance.now() - begun);
        await until(`round ${round}: the others ended the one that asks to go on`, () => areEnded(asking), 60_000);
        const next = await nextOf(asking, others[0]!);
        if (next !== null) await until(`round ${round}: it goes on`, () => isKnown(next, others), 60_000);
        resumes.push(performance.now() - begun);
        if (isPause) await victim.signal("SIGCONT");
        else await victim.start();
        await until(`round ${round}: it is back`, async () => {
          await victim.ready();
          return (await victim.host.get(own).catch(() => null))?.state === "ended";
        }, 60_000);
        if (next !== null) await endNext(next, machines);
        await endAll(machines, ids);
        await watching.stop();
        const all = [...ids.values(), asking, ...next === null ? [] : [next]];
        faults.push(
          ...await faultsOf(all, { machines, shown, round }),
          ...await resumeFaults(asking, { machines, next, round }),
        );
        await stale.look(shownBy);
        report(`${faults.length} faults, takeover`, takeovers);
        report(
          `stale writes: ${stale.tried} tried, ${stale.stored} stored, ${stale.accepted.length} accepted; a session went on`,
          resumes,
        );
      }
      expect(stale.accepted).toEqual([]);
      expect(faults).toEqual([]);
      // A paused machine that wakes up tries to write: without that nothing was refused.
      if (machineRounds > 2) expect(stale.tried).toBeGreaterThan(0);
    },
    machineRounds * 60_000 + 60_000,
  );

  test(`${serverRounds} kills of a server lose, double or reorder nothing`, async () => {
    for (let round = 0; round < serverRounds; round++) {
      const begun = performance.now();
      const ids = await startTickers(machines);
      const watching = watch(machines, shown);
      await sleep(200);
      // Every second one is the leader of a machine's log.
      const { logs } = await machines[0]!.host.cluster();
      const leader = on.servers.find(({ name }) => name === logs[0]?.leader);
      const server = round % 2 === 0 && leader !== undefined ? leader : pick(on.servers);
      await server.kill();
      await sleep(500 + random.below(1000));
      await server.start();
      await until(
        `round ${round}: all take sessions again`,
        async () => (await Promise.all(machines.map(({ host }) => host.ready()))).every(Boolean),
        60_000,
      );
      await endAll(machines, ids);
      await watching.stop();
      faults.push(...await faultsOf([...ids.values()], { machines, shown, round }));
      times.push(performance.now() - begun);
      await stale.look(shownBy);
      report(`${faults.length} faults, round with a killed server`, times);
    }
    expect(faults).toEqual([]);
    expect(stale.accepted).toEqual([]);
  }, serverRounds * 180_000 + 60_000);

  test("a full outage loses nothing that was acknowledged", async () => {
    const ids = await startTickers(machines);
    const watching = watch(machines, shown);
    await sleep(300);
    for (const server of on.servers) await server.kill();
    await sleep(500);
    for (const server of on.servers) await server.start();
    await until(
      "all take sessions again",
      async () => (await Promise.all(machines.map(({ host }) => host.ready()))).every(Boolean),
      60_000,
    );
    await endAll(machines, ids);
    await watching.stop();
    expect(await faultsOf([...ids.values()], { machines, shown, round: 0 })).toEqual([]);
    await stale.look(shownBy);
    expect(stale.accepted).toEqual([]);
  }, 240_000);

  /** Everything that clients were shown of a session: as it happened, and by each machine now. */
  async function shownBy(sessionId: string): Promise<string[]> {
    const told = await Promise.all(machines.map((machine) => eventsOn(machine, sessionId)));
    return [
      ...told.flat().map(textOf),
      ...[...shown.get(sessionId) ?? []].map(([seq, text]) => `${seq} ${text}`),
    ];
  }

  function pick<T>(from: readonly T[]): T {
    return from[random.below(from.length)]!;
  }
});

function report(what: string, times: readonly number[]): void {
  const sorted = [...times].sort((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  process.stderr.write(`${what}: ${sorted.length} times, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms\n`);
}
