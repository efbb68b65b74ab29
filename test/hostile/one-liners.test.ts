import { readFile } from "node:fs/promises";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, expect, test } from "vitest";
import { errorCodes } from "../../plugin-sdk/errors.ts";
import type { SessionResult } from "../../plugin-sdk/result.ts";
import { bySession, checkSession, type Seen } from "../sessions/session/session-rules.ts";
import { childrenLeft, closeHosts, openHost, type TestHost, until } from "../sessions/host/test-host.ts";
import { generatorEntry, oneLinerEntry } from "./attack-plugin.ts";
import { type Attack, type Expected, generators, oneLiners } from "./attacks.ts";
import { canaryCounts, canaryEntry } from "./canary.ts";

if (!("Deno" in globalThis)) setFlagsFromString("--expose-gc");
const collectGarbage: () => void = "Deno" in globalThis ? () => {} : runInNewContext("gc") as () => void;
const onDeno = "Deno" in globalThis;
const atOnce = 3;
const honestPlugins = 4;

/** Small, so that a verdict over an attack comes soon. */
const limits = {
  heap_mb: 64,
  rss_mb: 512,
  heartbeat_interval_ms: 100,
  // A thread that shares two cores with attacks that spin needs longer for 17 MB on Deno.
  heartbeat_timeout_ms: onDeno ? 2000 : 1000,
  teardown_timeout_ms: 300,
  timeout_ms: 4000,
  events: 10_000,
  workers: 1,
  quarantine_crashes: 1000,
};

interface Sight {
  attack: Attack;
  result: SessionResult;
  ms: number;
}

afterAll(closeHosts);

test(
  "one host survives every attack, each comes to what it must, and a session beside them misses nothing",
  async () => {
    const code = JSON.parse(await readFile(new URL("one-liners.json", import.meta.url), "utf8")) as Record<
      string,
      string
    >;
    expect(oneLiners.map(({ name }) => name).sort()).toEqual(Object.keys(code).sort());

    const test = await openHost();
    await test.add("canary", { code: canaryEntry });
    const merged: Seen[] = [];
    const watching = watch(test, merged);
    const canary = await test.host.runSession({ workdir: test.workdir, prompt: "sing", retry: "never" }, {
      adapter: "canary",
      artifacts: "none",
    });
    await until(() => canaryCounts(merged).length > 0);
    await workHonestly(test);
    const lag = measureLag();
    const rssBefore = await settledMb();
    let rssMost = rssBefore;

    const queue = [...oneLiners, ...generators];
    const sights: Sight[] = [];
    const runQueue = async () => {
      for (let attack = queue.shift(); attack; attack = queue.shift()) {
        const entry = attack.body === undefined ? oneLinerEntry(code[attack.name] ?? "") : generatorEntry(attack.body);
        sights.push(await run(test, attack, entry));
        rssMost = Math.max(rssMost, residentMb());
      }
    };
    await Promise.all(Array.from({ length: atOnce }, runQueue));
    const worstLagMs = lag.stop();

    expect((await canary.interrupt()).stop_reason).toBe("interrupted");
    // Of the host at work: one that is closing holds what its last events take.
    const rssAfter = await settledMb();
    await test.host.close();
    await watching;
    expectWhole(merged, canary.id);
    console.info(
      `${sights.length} attacks; host memory ${rssBefore} → ${rssAfter} MB (most ${rssMost}); worst event-loop lag ${worstLagMs} ms`,
    );

    expect(sights.flatMap(faultsOf)).toEqual([]);
    expect(await childrenLeft()).toEqual([]);
    if (!onDeno) expect(Math.max(rssMost, rssAfter) - rssBefore).toBeLessThan(64);
  },
  240_000,
);

/** What is measured afterwards is what attacks cost a host at work, not what its first sessions cost. */
async function workHonestly({ add, run }: TestHost): Promise<void> {
  for (let n = 0; n < honestPlugins; n++) {
    await add(`honest-${n}`, {
      code: generatorEntry(`for (let n = 0; n < 5000; n++) yield { type: "unparsed", data: n };`),
    });
    expect((await run(`honest-${n}`)).result.outcome).toBe("completed");
  }
}

async function run({ add, host, workdir }: TestHost, attack: Attack, entry: string): Promise<Sight> {
  const id = attack.name.toLowerCase().replaceAll("_", "-");
  await add(id, { code: entry }, { limits });
  const started = performance.now();
  const session = await host.runSession({ workdir, prompt: "go", retry: "never" }, { adapter: id, artifacts: "none" });
  const result = await session.result();
  return { attack, result, ms: Math.round(performance.now() - started) };
}

/** What differs from what the attack must come to; empty when nothing does. */
function faultsOf({ attack, result, ms }: Sight): string[] {
  const { name, expected, shows, timeLimitMs } = attack;
  const seen = classOf(result);
  const error = result.error ? `${result.error.code}: ${result.error.message.slice(0, 200)}` : "no error";
  const faults: string[] = [];
  if (![expected].flat().includes(seen)) faults.push(`${name} was ${seen}, not ${String(expected)} (${error})`);
  if (shows && !shows.test(result.output)) {
    faults.push(`${name} showed ${JSON.stringify(result.output.slice(0, 1000))}`);
  }
  if (result.error && !Object.hasOwn(errorCodes, result.error.code)) faults.push(`${name}: ${error}`);
  if (seen === "refused" && !/mod\.js:\d+:\d+/.test(result.error?.message ?? "")) {
    faults.push(`${name} names no place: ${error}`);
  }
  if (ms > timeLimitMs) faults.push(`${name} took ${ms} ms`);
  return faults;
}

function classOf({ outcome, stop_reason, error }: SessionResult): Expected {
  if (outcome === "completed") return "inert";
  if (error?.code === "bundle_failed" || error?.code === "load_failed") return "refused";
  return stop_reason === "crash" ? "killed" : "typed";
}

/** Takes in the merged stream. What a flood holds is of no interest here, and would count as the host's memory. */
async function watch({ host }: TestHost, into: Seen[]): Promise<void> {
  const flood: Seen["event"] = { type: "unparsed", data: null };
  for await (const { seq, gseq, session_id, event } of host.events()) {
    const idle = event.type === "unparsed" || event.type === "output";
    into.push({ seq, gseq, session_id, event: idle ? flood : event });
  }
}

function expectWhole(merged: readonly Seen[], canaryId: string): void {
  const gseqs = merged.map(({ gseq }) => gseq);
  expect(gseqs.every((gseq, index) => index === 0 || gseq > gseqs[index - 1]!)).toBe(true);
  const sessions = bySession(merged);
  expect(sessions.size).toBe(oneLiners.length + generators.length + honestPlugins + 1);
  for (const events of sessions.values()) expect(checkSession(events)).toEqual([]);
  const counts = canaryCounts(sessions.get(canaryId) ?? []);
  expect(counts.length).toBeGreaterThan(20);
  expect(counts).toEqual(counts.map((_, index) => index + 1));
}

/** Resident memory once what is garbage has gone back to the system, which takes its time. */
async function settledMb(): Promise<number> {
  let least = Infinity;
  for (let sample = 0; sample < 10; sample++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 100));
    least = Math.min(least, residentMb());
  }
  return least;
}

function residentMb(): number {
  return Math.round(process.memoryUsage().rss / 1024 / 1024);
}

function measureLag(): { stop(): number } {
  let last = performance.now();
  let worst = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - 10);
    last = now;
  }, 10);
  return {
    stop: () => {
      clearInterval(timer);
      return Math.round(worst);
    },
  };
}
