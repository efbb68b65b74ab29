import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execPath } from "node:process";
import { fileURLToPath } from "node:url";
import { Tinypool } from "tinypool";
import { type BenchHost, benchHost } from "./bench-host.ts";
import { loadCore } from "./load-core.ts";
import { aimed, type Figure, quantile, timed } from "./measure.ts";
import { programUrl } from "./programs/program-url.ts";

/** Round trips between two processes that a warm session may take, beside one commit. */
const mostTrips = 8;

/**
 * A warm session of five events beside what it cannot do without, each alone: a message to another process and back,
 * and a commit to the disk; also beside a bare task of the same pool library that returns five objects.
 */
export async function roundTrip({ quick }: { quick: boolean }): Promise<Figure[]> {
  const rounds = quick ? 200 : 1500;
  await using thread = await benchHost("thread");
  await using process = await benchHost("process");
  await using bare = barePool();
  await using socket = echo();
  await using commit = await committing();
  const session = async ({ start }: BenchHost) => await (await start("single 5")).result();
  const ways = [
    { name: "thread", run: () => session(thread), times: [] as number[] },
    { name: "process", run: () => session(process), times: [] as number[] },
    ...[bare, socket, commit].map((way) => ({ ...way, times: [] as number[] })),
  ];
  for (let round = -50; round < rounds; round++) {
    for (const { run, times } of ways) {
      const ms = await timed(run);
      if (round >= 0) times.push(ms);
    }
  }
  const median = (name: string) => quantile(ways.find((way) => way.name === name)?.times ?? [], 0.5);
  const floor = mostTrips * median("socket") + median("commit");
  return [
    ...ways.flatMap(({ name, times }): Figure[] => [
      { name: `round_trip.${name}.p50`, value: quantile(times, 0.5), unit: "ms" },
      { name: `round_trip.${name}.p99`, value: quantile(times, 0.99), unit: "ms" },
    ]),
    { name: "round_trip.thread.of_floor", value: median("thread") / floor, unit: "ratio" },
    aimed({ name: "round_trip.process.of_floor", value: median("process") / floor, unit: "ratio" }, { most: 1 }),
  ];
}

/** Something that is measured beside a session. */
interface Way extends AsyncDisposable {
  name: string;
  run(): Promise<unknown>;
}

function barePool(): Way {
  const pool = new Tinypool({
    filename: programUrl("bare-worker").href,
    minThreads: 1,
    maxThreads: 1,
    useAtomics: false,
  });
  return { name: "bare", run: () => pool.run(null), [Symbol.asyncDispose]: () => pool.destroy() };
}

/** As long as a message of such a session. */
const message = new Uint8Array(400).fill(120);

/** A message to a program that gives it back, over the pair of sockets that the runtime makes for a program's streams. */
function echo(): Way {
  const child = spawn(execPath, [fileURLToPath(programUrl("echo"))], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return {
    name: "socket",
    run: () => sentAndBack(child),
    async [Symbol.asyncDispose]() {
      child.stdin?.end();
      await ended;
    },
  };
}

function sentAndBack({ stdin, stdout }: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    let missing = message.byteLength;
    const take = (bytes: Uint8Array) => {
      missing -= bytes.byteLength;
      if (missing > 0) return;
      stdout?.off("data", take);
      resolve();
    };
    stdout?.on("data", take);
    stdin?.write(message);
  });
}

/** What a bench needs of a database. */
interface SqliteModule {
  openSqlite(file: string, options: { busyTimeoutMs: number }): Promise<{
    exec(sql: string): void;
    prepare(sql: string): { run(...values: (string | number)[]): unknown };
    close(): void;
  }>;
}

/** One row, committed as the journal commits by default. */
async function committing(): Promise<Way> {
  const { openSqlite } = await loadCore<SqliteModule>("ground/platform/state/sqlite");
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-"));
  const database = await openSqlite(join(folder, "rows.db"), { busyTimeoutMs: 1000 });
  for (const pragma of ["journal_mode = WAL", "synchronous = NORMAL"]) database.exec(`PRAGMA ${pragma}`);
  database.exec("CREATE TABLE row (text TEXT) STRICT");
  const insert = database.prepare("INSERT INTO row VALUES (?)");
  const text = new TextDecoder().decode(message);
  return {
    name: "commit",
    run: () => Promise.resolve(insert.run(text)),
    async [Symbol.asyncDispose]() {
      database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
