import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BenchHost, benchHost } from "./bench-host.ts";
import { loadCore } from "./load-core.ts";
import { aimed, type Figure, quantile, timed } from "./measure.ts";

/**
 * Events written to the journal with nobody reading, and read back from it by a late reader; then the host's log over
 * the journal side by side with the same log over one that waits for the disk, and over one that keeps nothing.
 */
export async function journal({ quick }: { quick: boolean }): Promise<Figure[]> {
  const count = quick ? 50_000 : 200_000;
  const rounds = quick ? 5 : 9;
  return [...await writtenAndRead(count), ...await beside(count, rounds), ...await throughHosts(count, rounds)];
}

/**
 * An agent's events in batches, and a session's first event, with each kind of `journal.sync`. Both are compared round by
 * round, and every other round begins with the other one: what the machine does beside counts for both.
 */
async function throughHosts(count: number, rounds: number): Promise<Figure[]> {
  await using normal = await benchHost("thread");
  await using full = await benchHost("thread", { sync: "full" });
  const batches = (bench: BenchHost) => timed(async () => await (await bench.start(`arrays ${count}`)).result());
  const firstEvent = (bench: BenchHost) =>
    timed(async () => {
      const session = await bench.start("single 2");
      for await (const { event } of session.events()) if (event.type === "output") break;
    });
  const ratios = await paired([normal, full], { rounds, warmUp: 1, measure: batches });
  const added = await paired([normal, full], { rounds: 10 * rounds, warmUp: 10, measure: firstEvent });
  const median = (values: number[]) => quantile(values, 0.5);
  return [
    aimed(
      { name: "journal.full.batches", value: median(ratios.map(([one, other]) => one / other)), unit: "ratio" },
      { least: 0.85 },
    ),
    aimed(
      { name: "journal.full.first_event", value: median(added.map(([one, other]) => other - one)), unit: "ms" },
      { most: 0.5 },
    ),
  ];
}

/** Measures two things in turn, the first one first in every other round. */
async function paired<T>(
  [one, other]: readonly [T, T],
  { rounds, warmUp, measure }: { rounds: number; warmUp: number; measure(what: T): Promise<number> },
): Promise<[one: number, other: number][]> {
  const values: [number, number][] = [];
  for (let round = -warmUp; round < rounds; round++) {
    const isSwapped = round % 2 !== 0;
    const early = await measure(isSwapped ? other : one);
    const late = await measure(isSwapped ? one : other);
    if (round >= 0) values.push(isSwapped ? [late, early] : [early, late]);
  }
  return values;
}

async function writtenAndRead(count: number): Promise<Figure[]> {
  await using bench = await benchHost("thread");
  const written: number[] = [];
  const read: number[] = [];
  let after = 0;
  for (let round = -1; round < 3; round++) {
    const write = await timed(async () => await (await bench.start(`arrays ${count}`)).result());
    const replay = await timed(async () => {
      for await (const { gseq, event } of bench.host.events({ after })) {
        after = gseq;
        if (event.type === "session_ended") break;
      }
    });
    if (round < 0) continue;
    written.push(count / (write / 1000));
    read.push(count / (replay / 1000));
  }
  return [
    { name: "journal.written", value: quantile(written, 0.5), unit: "per_second" },
    { name: "journal.read", value: quantile(read, 0.5), unit: "per_second" },
  ];
}

/** What a bench needs of the host's log. */
interface Log {
  add(stream: object, entries: readonly object[], text: string): Promise<void>;
  subscribe(): AsyncIterable<object>;
  close(): void;
}

interface LogModule {
  MergedLog: new (journal: object) => Log;
}

interface JournalModule {
  openJournal(file: string, options: { sync: "full" | "normal" }): Promise<{ close(): Promise<void> }>;
}

/** Takes all and keeps nothing: what is left of the cost is the log's own. */
function nothingKept(): { lastGseq: number; append(): Promise<void>; read(): Promise<object[]> } {
  return { lastGseq: 0, append: () => Promise.resolve(), read: () => Promise.resolve([]) };
}

const batch = 128;

/** Round by round in turn, with one live reader each, so that whatever else the machine does hits all alike. */
async function beside(count: number, rounds: number): Promise<Figure[]> {
  const { MergedLog } = await loadCore<LogModule>("sessions/session/merged-log");
  const { openJournal } = await loadCore<JournalModule>("records/journal/open-journal");
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-"));
  const journals = {
    normal: await openJournal(join(folder, "normal.db"), { sync: "normal" }),
    full: await openJournal(join(folder, "full.db"), { sync: "full" }),
  };
  const way = (name: string, journal: object) => ({
    name,
    log: new MergedLog(journal),
    rates: [] as number[],
    steps: [] as number[],
  });
  const [normal, full, none] = [
    way("journaled", journals.normal),
    way("full", journals.full),
    way("unjournaled", nothingKept()),
  ];
  const ways = [normal, full, none];
  try {
    for (let round = -1; round < rounds; round++) {
      for (const { log, rates } of ways) {
        const ms = await timed(() => flood(log, { count, session: `s${round}` }));
        if (round >= 0) rates.push(count / (ms / 1000));
      }
    }
    for (let round = -20; round < 40 * rounds; round++) {
      for (const { log, steps } of [normal, full]) {
        const ms = await oneEvent(log, `f${round}`);
        if (round >= 0) steps.push(ms);
      }
    }
  } finally {
    for (const { log } of ways) log.close();
    for (const journal of Object.values(journals)) await journal.close();
    await rm(folder, { recursive: true, force: true });
  }
  const p50 = (values: number[]) => quantile(values, 0.5);
  return [
    ...ways.map(({ name, rates }): Figure => ({ name: `journal.log.${name}`, value: p50(rates), unit: "per_second" })),
    { name: "journal.log.ratio", value: p50(normal.rates) / p50(none.rates), unit: "ratio" },
    { name: "journal.log.full.eight_at_once", value: p50(full.rates) / p50(normal.rates), unit: "ratio" },
    { name: "journal.log.full.one_after_the_other", value: p50(full.steps) - p50(normal.steps), unit: "ms" },
  ];
}

/** One event on its own, in milliseconds. */
async function oneEvent(log: Log, session: string): Promise<number> {
  const stream = { sessionId: session, adapter: { id: "bench", version: "1.0.0" }, attempt: 1, lastSeq: 0 };
  const event = { type: "output", stream: "stdout", data: "one line" };
  await new Promise((resolve) => setTimeout(resolve, 2));
  return await timed(() => log.add(stream, [{ source: "agent", event }], JSON.stringify([event])));
}

/** As a worker's batches come: parsed from one text, several of them under way. */
async function flood(log: Log, { count, session }: { count: number; session: string }): Promise<void> {
  const stream = { sessionId: session, adapter: { id: "bench", version: "1.0.0" }, attempt: 1, lastSeq: 0 };
  const events = Array.from({ length: batch }, (_, at) => ({
    type: "output",
    stream: "stdout",
    data: `line ${at} of what an agent says while it works`,
  }));
  const text = JSON.stringify(events);
  const reading = (async () => {
    let seen = 0;
    for await (const _ of log.subscribe()) if (++seen === count) break;
  })();
  for (let sent = 0; sent < count;) {
    const adding: Promise<void>[] = [];
    for (let at = 0; at < 8 && sent < count; at++) {
      const parsed = (JSON.parse(text) as object[]).slice(0, count - sent);
      const source = parsed.length === batch ? text : JSON.stringify(parsed);
      adding.push(log.add(stream, parsed.map((event) => ({ source: "agent", event })), source));
      sent += parsed.length;
    }
    await Promise.all(adding);
  }
  await reading;
}
