import { cp, rename } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { StaleError } from "../../core/cluster/engine/engine.ts";
import { heldEntries } from "../../core/cluster/log/held-entries.ts";
import { LogReader, logStart } from "../../core/cluster/log/log-entry.ts";
import { MachineLog } from "../../core/cluster/log/machine-log.ts";
import { envelopesOf, type LogMachine, logMachine, numbersIn, upTo } from "./log-fixture.ts";
import { until } from "./machine.ts";
import { type NatsServers, startServers } from "./nats-servers.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function servers(count = 1): Promise<NatsServers> {
  const started = await startServers(count);
  open.push({ close: started.stop });
  return started;
}

async function machine(name: string, on: NatsServers): Promise<LogMachine> {
  const made = await logMachine(name, on);
  open.push(made);
  return made;
}

describe("a machine's log", () => {
  test("brings every event to another machine's copy, in order, large ones too", async () => {
    const on = await servers();
    const [one, two] = [await machine("one", on), await machine("two", on)];
    const { journal } = await one.take();
    const mirror = await two.mirror("one");
    const appended: Promise<number>[] = [];
    for (let at = 0; at < 300; at++) {
      const data = at === 150 ? "y".repeat(3_000_000) : "x";
      appended.push(
        journal.append({
          session_id: `s${at % 3}`,
          envelopes: envelopesOf(`s${at % 3}`, { gseq: at + 1, seq: Math.floor(at / 3) + 1, data }),
        }),
      );
    }
    await Promise.all(appended);
    await until("the copy has all", () => mirror.journal.lastGseq === 300);
    expect(await numbersIn(mirror.journal)).toEqual(upTo(300));
    const [large] = await mirror.journal.read({ after: 150, limit: 1 });
    expect(large?.event).toMatchObject({ data: `${"y".repeat(3_000_000)}151` });
  });

  test("is read by a machine that is too busy to read it, without losing its connection", async () => {
    const on = await servers();
    const [one, two] = [await machine("one", on), await machine("two", on)];
    const { journal } = await one.take();
    const data = "y".repeat(1_000_000);
    const count = 120;
    for (let gseq = 1; gseq <= count; gseq++) {
      await journal.append({ session_id: "s", envelopes: envelopesOf("s", { gseq, seq: gseq, data }) });
    }
    const changes: boolean[] = [];
    two.engine.onConnection((connected) => changes.push(connected));
    const mirror = await two.mirror("one");
    await until("the copy has begun", () => mirror.journal.lastGseq > 0);
    for (const end = performance.now() + 2000; performance.now() < end;);
    await until("the copy has all", () => mirror.journal.lastGseq === count);
    expect(changes).toEqual([]);
  });

  test("refuses the writer that another one has replaced, and readers drop what it sent on", async () => {
    const on = await servers();
    const [one, two] = [await machine("one", on), await machine("two", on)];
    const { journal, log } = await one.take();
    await journal.append({ session_id: "s", envelopes: envelopesOf("s", { gseq: 1 }) });
    const mirror = await two.mirror("one");
    await until("the copy has it", () => mirror.journal.lastGseq === 1);
    const late = Array.from(
      { length: 50 },
      (_, at) =>
        journal.append({ session_id: "s", envelopes: envelopesOf("s", { gseq: at + 2, seq: at + 2, data: "late" }) }),
    );
    const outcomes = Promise.allSettled(late);
    const { position, journal: copy, resume } = await mirror.pause();
    let taken: MachineLog | null = null;
    const held = (after: number) => heldEntries(copy, after);
    const deps = { engine: two.engine, machine: "one", by: "two", held, writeLog: () => {} };
    for (let from = position; taken === null;) {
      taken = await MachineLog.begin(deps, from).catch((error: unknown) => {
        if (!(error instanceof StaleError)) throw error;
        return null;
      });
      const state = await two.engine.stream(two.engine.names.log("one"));
      from = { ...from, seq: state?.lastSeq ?? 0 };
    }
    taken.close();
    await resume();
    const settled = await outcomes;
    const kept = settled.filter(({ status }) => status === "fulfilled").length;
    const first = settled.findIndex(({ status }) => status === "rejected");
    // What was acknowledged is a beginning of what was sent.
    if (first !== -1) expect(kept).toBe(first);
    if (first !== -1) expect(log.lost.reason).toMatchObject({ code: "machine_lost" });
    await expect(journal.append({ session_id: "s", envelopes: envelopesOf("s", { gseq: 90, seq: 90 }) })).rejects
      .toMatchObject({ code: "machine_lost" });
    await until("the copy has what was acknowledged", () => mirror.journal.lastGseq >= kept + 1);
    expect(mirror.journal.lastGseq).toBe(kept + 1);
  });

  test("has one new writer where three take it over at once", async () => {
    const on = await servers(3);
    const machines = await Promise.all(["one", "two", "three", "four"].map((name) => machine(name, on)));
    const { journal } = await machines[0]!.take();
    await journal.append({ session_id: "s", envelopes: envelopesOf("s", { gseq: 1 }) });
    const takers = machines.slice(1);
    for (let round = 0; round < 10; round++) {
      const state = await takers[0]!.engine.stream(takers[0]!.engine.names.log("one"));
      const position = { ...logStart, seq: state!.lastSeq };
      const begun = await Promise.allSettled(
        takers.map(({ engine, name }) =>
          MachineLog.begin({ engine, machine: "one", by: name, held: nothing, writeLog: () => {} }, position)
        ),
      );
      const winners = begun.filter((one) => one.status === "fulfilled");
      expect(winners).toHaveLength(1);
      for (const { value } of winners) value.close();
      for (const one of begun) if (one.status === "rejected") expect(one.reason).toBeInstanceOf(StaleError);
    }
  });

  test("waits while its server is away, and goes on when it is back", async () => {
    const on = await servers();
    const [one, two] = [await machine("one", on), await machine("two", on)];
    const { journal } = await one.take();
    const mirror = await two.mirror("one");
    const appended: Promise<number>[] = [];
    for (let at = 0; at < 200; at++) {
      if (at === 60) await on.servers[0]!.kill();
      if (at === 120) await on.servers[0]!.start();
      appended.push(journal.append({ session_id: "s", envelopes: envelopesOf("s", { gseq: at + 1, seq: at + 1 }) }));
    }
    await Promise.all(appended);
    await until("the copy has all", () => mirror.journal.lastGseq === 200);
    expect(await numbersIn(mirror.journal)).toEqual(upTo(200));
    expect(await numbersIn(journal)).toEqual(upTo(200));
  });

  test("offers its events again to a server that has lost them all", async () => {
    const on = await servers();
    const [one, two] = [await machine("one", on), await machine("two", on)];
    const { journal } = await one.take();
    const mirror = await two.mirror("one");
    const write = (from: number, to: number) =>
      Promise.all(
        Array.from({ length: to - from + 1 }, (_, at) =>
          journal.append({ session_id: "s", envelopes: envelopesOf("s", { gseq: from + at, seq: from + at }) })),
      );
    await write(1, 100);
    await on.servers[0]!.kill();
    await on.wipe(on.servers[0]!);
    await on.servers[0]!.start();
    await write(101, 150);
    await until("the copy has all", () => mirror.journal.lastGseq === 150);
    expect(await numbersIn(mirror.journal)).toEqual(upTo(150));
    const three = await machine("three", on);
    const fresh = await three.mirror("one");
    await until("a new copy has all", () => fresh.journal.lastGseq === 150);
    expect(await numbersIn(fresh.journal)).toEqual(upTo(150));
  });

  test("is brought back by a copy of the folder of a stopped server", async () => {
    const on = await servers();
    const one = await machine("one", on);
    const { journal } = await one.take();
    for (const gseq of upTo(50)) {
      await journal.append({ session_id: "s", envelopes: envelopesOf("s", { gseq, seq: gseq }) });
    }
    const [server] = on.servers;
    await server!.kill("SIGTERM");
    const [stored, saved] = [join(on.folder, server!.name), join(on.folder, "saved")];
    await cp(stored, saved, { recursive: true });
    await on.wipe(server!);
    // The machine that could offer its events again is gone as well.
    await one.close();
    open.splice(open.indexOf(one), 1);
    await rename(saved, stored);
    await server!.start();
    const mirror = await (await machine("two", on)).mirror("one");
    await until("the copy has all", () => mirror.journal.lastGseq === 50);
    expect(await numbersIn(mirror.journal)).toEqual(upTo(50));
  });

  test("forgets a deleted session on every machine, and its messages on the servers", async () => {
    const on = await servers();
    const [one, two] = [await machine("one", on), await machine("two", on)];
    const { journal } = await one.take();
    const mirror = await two.mirror("one");
    for (const [at, id] of ["gone", "kept"].entries()) {
      await journal.append({ session_id: id, envelopes: envelopesOf(id, { gseq: at + 1 }) });
    }
    await until("the copy has both", () => mirror.journal.lastGseq === 2);
    expect(await journal.delete("gone", "client", { leftOpen: true })).toBe(true);
    await until("the copy knows", async () => (await mirror.journal.session("gone"))?.deleted !== null);
    const left: string[] = [];
    const reading = new AbortController();
    const reader = new LogReader();
    const stream = two.engine.names.log("one");
    const { lastSeq: toSeq } = (await two.engine.stream(stream))!;
    for await (const message of two.engine.read({ stream, fromSeq: 1, toSeq, signal: reading.signal })) {
      const entry = reader.take(message);
      if (entry?.kind === "batch") left.push(entry.session_id);
    }
    expect(left).toEqual(["kept"]);
  });
});

async function* nothing(): AsyncGenerator<never, void, void> {}
