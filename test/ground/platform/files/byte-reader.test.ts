import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { PassThrough, Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { PullReader } from "../../../../core/ground/platform/files/byte-reader.ts";

async function sizeOfRest(reader: PullReader, pauseMs = 0): Promise<number> {
  let size = 0;
  for (let piece = await reader.read(); piece !== null; piece = await reader.read()) {
    size += piece.byteLength;
    if (pauseMs > 0) await sleep(pauseMs);
  }
  return size;
}

/** A program that prints so many bytes, after a while if told so, and ends. */
function printer(bytes: number, afterMs = 0) {
  const { env: { PATH = "" } } = process;
  const script = `sleep ${afterMs / 1000}; head -c ${bytes} /dev/zero`;
  return spawn("/bin/sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"], env: { PATH } });
}

test("a program's last output is read however slowly its reader takes it", async () => {
  const child = printer(600_000);
  const reader = new PullReader(child.stdout, { onCancel: "drain", maxBuffered: 256 * 1024 });
  const first = await reader.read();
  reader.endAfterSilence(40);
  // One piece at a time, so that the reader holds less than it may, and more than it resumes at, for longer than that.
  expect(first!.byteLength + await sizeOfRest(reader, 100)).toBe(600_000);
});

test("a source of tiny pieces waits as soon as those take much memory", async () => {
  let given = 0;
  const source = Readable.from(
    (function* () {
      for (; given < 50_000; given++) yield new Uint8Array(1);
    })(),
    { objectMode: true, highWaterMark: 1 },
  );
  const reader = new PullReader(source, { onCancel: "drain", maxBuffered: 256 * 1024 });
  await expect.poll(() => source.isPaused()).toBe(true);
  expect(given).toBeLessThan(10_000);
  expect(await sizeOfRest(reader)).toBe(50_000);
});

test("what a program printed while the host was busy is no silence", async () => {
  const child = printer(50_000, 100);
  await once(child, "spawn");
  const reader = new PullReader(child.stdout, { onCancel: "drain" });
  reader.endAfterSilence(40);
  await new Promise<void>((resolve) => setImmediate(resolve));
  for (const end = performance.now() + 400; performance.now() < end;);
  expect(await sizeOfRest(reader)).toBe(50_000);
});

test("a pipe that stays open ends after its silence, and not before it", async () => {
  const source = new PassThrough();
  const reader = new PullReader(source, { onCancel: "drain" });
  const began = performance.now();
  reader.endAfterSilence(200);
  source.write("a");
  setTimeout(() => source.write("b"), 120);
  expect(await sizeOfRest(reader)).toBe(2);
  expect(performance.now() - began).toBeGreaterThan(250);
  expect(source.destroyed).toBe(true);
});
