import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { takeLock, withLockFile } from "../../../../core/ground/platform/state/lock-file.ts";
import { processIsAlive } from "../../../../core/ground/platform/processes/process-alive.ts";

const [, , what = "", lock = "", ...rest] = process.argv;

/** Takes a lock, keeps it until this process is killed, and starts a program that outlives it. */
async function hold(): Promise<void> {
  const taken = await takeLock(lock, { program: "bulkhead try" });
  const child = spawn("sleep", ["60"], { stdio: "ignore", detached: true });
  process.stdout.write(`${JSON.stringify({ ...taken, child: child.pid })}\n`);
  setInterval(() => taken, 1000);
}

/** Takes one lock after the other, each at a moment that another process knows, tells which it got and keeps them. */
async function race(): Promise<void> {
  process.stdout.write("ready\n");
  const [said] = await once(process.stdin, "data");
  const [from, rounds] = [Number(String(said)), Number(rest[0])];
  const got: number[] = [];
  const held: unknown[] = [];
  for (let round = 0; round < rounds; round++) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, from + round * 15 - Date.now())));
    const taken = await takeLock(join(lock, `lock-${round}`));
    held.push(taken);
    if ("release" in taken) got.push(round);
  }
  process.stdout.write(`${JSON.stringify(got)}\n`);
  setInterval(() => held, 1000);
}

/** Takes turns with other processes, and prints how many it had while a living process had one too. */
async function turns(): Promise<void> {
  const mark = `${lock}.turn`;
  let shared = 0;
  for (let turn = 0; turn < Number(rest[0]); turn++) {
    await withLockFile(lock, { what: "it", waitMs: 30_000 }, async () => {
      // One that was killed has left its own.
      const other = existsSync(mark) ? Number(readFileSync(mark, "utf8")) : 0;
      if (other > 0 && processIsAlive(other)) shared++;
      writeFileSync(mark, String(process.pid));
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (readFileSync(mark, "utf8") !== String(process.pid)) shared++;
      rmSync(mark);
    });
  }
  process.stdout.write(JSON.stringify(shared));
  process.exit(0);
}

/** Prints why a lock cannot be taken, with no descriptor left for it where `rest` says so. */
async function fail(): Promise<void> {
  const open: number[] = [];
  for (let full = rest[0] !== "full"; !full;) {
    try {
      open.push(openSync("/dev/null", "r"));
    } catch {
      full = true;
    }
  }
  const error = await takeLock(lock).then(() => null, ({ code, message }) => ({ code, message }));
  open.forEach(closeSync);
  process.stdout.write(JSON.stringify(error));
  process.exit(0);
}

await new Map([["hold", hold], ["race", race], ["turns", turns], ["fail", fail]]).get(what)?.();
