import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, it, vi } from "vitest";
import { defaultLimits, type Limits } from "../../../core/ground/config/limits.ts";
import { Lane } from "../../../core/walls/pool/lane.ts";
import type { Container } from "../../../core/walls/pool/lane-transport.ts";
import { startProcessContainer } from "../../../core/walls/pool/process-container.ts";
import { defaultOsWallUses } from "../../../core/ground/platform/os-walls/os-wall.ts";
import { processIsAlive } from "../../../core/ground/platform/processes/process-alive.ts";
import { until } from "../../sessions/host/test-host.ts";
import { closePools, makePool, open, run, script } from "./pool-fixture.ts";

const containers: Container[] = [];
const folders: string[] = [];

afterEach(async () => {
  await closePools();
  delete process.env["TMPDIR"];
  for (const container of containers.splice(0)) await container.close();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** A process in a warden's place that sends what the script says; `say(message)` sends a report. */
async function scripted(body: string, changes: Partial<Limits> = {}): Promise<{ lane: Lane; container: Container }> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-scripted-"));
  folders.push(folder);
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await writeFile(
    join(folder, "warden.js"),
    `import { Socket } from "node:net";
import { Buffer } from "node:buffer";
const pipe = new Socket({ fd: 3, readable: true, writable: true });
pipe.on("data", () => {});
const say = (message, lane = 0, to = pipe) => {
  const payload = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(8);
  head.writeUInt32LE(payload.length, 0);
  head.writeUInt32LE(lane, 4);
  to.write(Buffer.concat([head, payload]));
};
setInterval(() => {}, 1000);
${body}`,
  );
  const limits = { ...defaultLimits, warden_grace_ms: 300, ...changes };
  const container = await startProcessContainer(join(folder, "warden.js"), { limits, osWalls: defaultOsWallUses });
  containers.push(container);
  return { container, lane: new Lane(container.openLane(), { pluginId: "made", script, limits }) };
}

describe("startProcessContainer", () => {
  it("ends a process that takes more memory than it may, as out of memory", async () => {
    const { lane, container } = await scripted(`say({ type: "stats", rss_bytes: 2 ** 40, cpu_ms: 0 });`);
    expect(await lane.ended).toMatchObject({
      reason: "out_of_memory",
      message: expect.stringMatching(/more than 1024 MB/),
    });
    expect(container.condemned).toBe(true);
    expect(lane.crash).toMatchObject({ code: "out_of_memory" });
  });

  it("ends a process that keeps a core busy without a pause", async () => {
    const busy = `let cpu = 0; setInterval(() => say({ type: "stats", rss_bytes: 1, cpu_ms: (cpu += 100) }), 50);`;
    const { lane } = await scripted(busy, { cpu_burst_ms: 300 });
    expect(await lane.ended).toMatchObject({
      reason: "error",
      message: expect.stringMatching(/busy for more than 300 ms/),
    });
  });

  it("leaves alone a process that pauses now and then", async () => {
    const calm = `let cpu = 0; setInterval(() => say({ type: "stats", rss_bytes: 1, cpu_ms: (cpu += 10) }), 50);
      setTimeout(() => say({ type: "lane_closed", lane: 1, reason: "closed", message: "done" }), 1000);`;
    const { lane, container } = await scripted(calm, { cpu_burst_ms: 300 });
    expect(await lane.ended).toEqual({ reason: "closed", message: "done" });
    expect(container.condemned).toBe(false);
  });

  it("tells what the process printed last, cleaned and cut, when it dies by itself", async () => {
    const { lane } = await scripted(`process.stderr.write("first\\n\\u001b[31mthe last words" + "!".repeat(1000));
      setTimeout(() => process.exit(7), 50);`);
    const { reason, message } = await lane.ended;
    expect(reason).toBe("exit");
    expect(message).toMatch(/exit code 7.*the last words!/s);
    expect(message).not.toContain("\u001b");
    expect(message.length).toBeLessThan(500);
  });

  it("tells the error that ended it, not what the runtime prints around it", async () => {
    const { lane } = await scripted(`setTimeout(() => { throw new TypeError("this is why"); }, 50);`);
    const { message } = await lane.ended;
    expect(message).toMatch(/^The plugin's process ended \(exit code 1\)\. It printed: .*TypeError: this is why$/);
  });

  it("closes a process that does not want to stop, within its grace", async () => {
    const { container } = await scripted(`process.on("SIGTERM", () => {});`);
    await container.close();
    expect(processIsAlive(container.pid!)).toBe(false);
  });
});

describe("a worker", () => {
  // The first two have a pipe of their own, the third shares the warden's.
  it.each([1, 2, 3])("that crashes while the host is slow loses nothing that it sent before (%i.)", async (number) => {
    const pool = makePool("process", { workers: 1 });
    for (let before = 1; before < number; before++) {
      const { end } = await run(pool, "reject");
      expect(end).toMatchObject({ error: { code: "crash" } });
    }
    const place = await pool.acquire();
    const { ended, events } = open(place, "flood, then reject", { slowMs: 8 });
    expect(await ended).toMatchObject({
      error: { code: "crash", message: expect.stringMatching(/nobody caught this/) },
    });
    place.release();
    expect(events.length).toBe(2000);
    expect((await run(pool, "hello")).end).toEqual({ value: null });
  });

  it("is heard to its last words, although its process says before that it ended", async () => {
    const { lane } = await scripted(
      `pipe.once("data", () => {
        say({ type: "lane_closed", lane: 1, reason: "exit", message: "ended" });
        const own = new Socket({ fd: 4, readable: true, writable: true });
        setTimeout(() => {
          say({ type: "failed", error: { code: "crash", message: "the last words" } }, 1, own);
          own.end();
        }, 50);
      });`,
      { warden_grace_ms: 2000 },
    );
    await lane.ended;
    expect(lane.crash).toMatchObject({ code: "crash", message: "the last words" });
  });

  it("that dies before it opens its pipe ends all the same", async () => {
    const { lane, container } = await scripted(
      `setTimeout(() => say({ type: "lane_closed", lane: 1, reason: "exit", message: "died at once" }), 50);`,
    );
    expect(await lane.ended).toEqual({ reason: "exit", message: "died at once" });
    expect(container.condemned).toBe(false);
  });

  it("that is said to have ended again and again costs one timer", async () => {
    const { lane } = await scripted(
      `setTimeout(() => {
        for (let n = 0; n < 500; n++) say({ type: "lane_closed", lane: 1, reason: "exit", message: "ended" });
      }, 50);`,
      { warden_grace_ms: 2000 },
    );
    const timers = vi.spyOn(globalThis, "setTimeout");
    await lane.ended;
    const count = timers.mock.calls.filter(([, ms]) => ms === 500).length;
    timers.mockRestore();
    expect(count).toBe(1);
  });

  it("that does not read is ended before it fills the host's memory", async () => {
    const { lane, container } = await scripted("pipe.pause();", { message_bytes: 100_000 });
    for (let sent = 0; lane.alive && sent < 50; sent++) {
      open({ lane, release: () => {} }, "x".repeat(90_000));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(await lane.ended).toMatchObject({ reason: "error", message: "The plugin's process does not read." });
    expect(container.condemned).toBe(true);
  });
});

describe("a warden that is killed from outside", () => {
  it("ends its sessions as a crash, and the next session has a new one; nothing of either is left", async () => {
    // A temporary folder of its own: tests that run beside this one have wardens too.
    const temporary = await mkdtemp(join(tmpdir(), "bulkhead-killed-"));
    folders.push(temporary);
    process.env["TMPDIR"] = temporary;
    const pool = makePool("process");
    const place = await pool.acquire();
    const running = [open(place, "wait"), open(place, "wait")];
    const pid = await pool.wardenPid();
    process.kill(pid!, "SIGKILL");
    for (const { ended } of running) {
      expect(await ended).toMatchObject({ error: { code: "crash", message: expect.stringMatching(/SIGKILL/) } });
    }
    place.release();
    expect((await run(pool, "hello")).end).toEqual({ value: null });
    const next = await pool.wardenPid();
    expect(next).not.toBe(pid);
    await pool.close();
    await until(() => !processIsAlive(next!) && !processIsAlive(pid!));
    expect(await readdir(temporary)).toEqual([]);
  });
});
