import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { daemonFiles } from "../../core/daemon/daemon-files.ts";
import { takeDaemonLock } from "../../core/daemon/daemon-lock.ts";
import { type DaemonRecord, readDaemonRecord, writeDaemonRecord } from "../../core/daemon/daemon-record.ts";
import { inspectDaemon } from "../../core/daemon/inspect-daemon.ts";
import { processStart } from "../../core/runtime/process-rows.ts";
import { errorOf } from "../host/test-host.ts";

let stateDir = "";
beforeEach(async () => {
  stateDir = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-daemon-")));
});
afterEach(() => rm(stateDir, { recursive: true }));

/** No system gives a pid that high. */
const gone = 2 ** 30;

function record(pid: number, start: string | null): DaemonRecord {
  return {
    record: 1,
    pid,
    start,
    started_at: "2026-01-01T00:00:00.000Z",
    version: "0.1.0",
    runtime: "node 20",
    address: "http://127.0.0.1:7717",
    socket: null,
    token_file: join(stateDir, "http", "token"),
    log_file: join(stateDir, "daemon.log"),
    config_file: null,
  };
}

test("inspectDaemon tells no daemon, one that starts, one that runs and one that was killed apart", async () => {
  const files = daemonFiles(stateDir);
  expect(await inspectDaemon(stateDir)).toMatchObject({ state: "stopped", pid: null, record: null });
  const release = await takeDaemonLock(files);
  expect(await inspectDaemon(stateDir)).toMatchObject({ state: "starting", pid: process.pid });
  const own = record(process.pid, processStart(process.pid));
  await writeDaemonRecord(files.record, own);
  expect(await inspectDaemon(stateDir)).toMatchObject({ state: "running", record: own });
  await release();
  await writeDaemonRecord(files.record, record(gone, "1"));
  expect(await inspectDaemon(stateDir)).toMatchObject({ state: "killed", pid: gone });
});

test("inspectDaemon calls a record stale whose pid another program has, or that cannot be read", async () => {
  const files = daemonFiles(stateDir);
  await writeDaemonRecord(files.record, record(process.pid, "0"));
  expect(await inspectDaemon(stateDir)).toMatchObject({ state: "stale", pid: process.pid });
  await writeFile(files.record, "{");
  expect(await inspectDaemon(stateDir)).toMatchObject({ state: "stale", pid: null });
  expect(await readDaemonRecord(files.record)).toBe("broken");
});

test("a second daemon is told who the first is and where it listens", async () => {
  const files = daemonFiles(stateDir);
  const release = await takeDaemonLock(files);
  await writeDaemonRecord(files.record, record(process.pid, processStart(process.pid)));
  const error = await errorOf(takeDaemonLock(files));
  expect(error).toMatchObject({ code: "busy", details: { pid: process.pid, address: "http://127.0.0.1:7717" } });
  expect(error.message).toContain(`process ${process.pid}`);
  await release();
  await (await takeDaemonLock(files))();
});

test("the lock of a daemon that was killed is taken over, also one that was cut off over the writing", async () => {
  const files = daemonFiles(stateDir);
  for (const left of [{ pid: gone, start: "1" }, { pid: process.pid, start: "0" }]) {
    await writeFile(files.lock, JSON.stringify(left));
    await writeFile(`${files.lock}.taking`, JSON.stringify(left));
    await (await takeDaemonLock(files))();
  }
});

test("daemonFiles puts the socket where its path is short enough, or nowhere", () => {
  const runtimeDir = (name: string) => name === "XDG_RUNTIME_DIR" ? "/run/user/1000" : undefined;
  expect(daemonFiles("/state", runtimeDir).socket).toMatch(/^\/run\/user\/1000\/bulkhead\/[0-9a-f]{16}\.sock$/);
  expect(daemonFiles("/state", runtimeDir).socket).not.toBe(daemonFiles("/other", runtimeDir).socket);
  expect(daemonFiles("/state", () => undefined).socket).toBe("/state/daemon.sock");
  expect(daemonFiles("/state", () => "relative").socket).toBe("/state/daemon.sock");
  expect(daemonFiles(`/${"s".repeat(120)}`, () => undefined).socket).toBeNull();
});
