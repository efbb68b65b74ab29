import { chmod, chown, mkdir, mkdtemp, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { daemonFiles } from "../../../core/doors/daemon/daemon-files.ts";
import { takeDaemonLock } from "../../../core/doors/daemon/daemon-lock.ts";
import { type DaemonRecord, readDaemonRecord, writeDaemonRecord } from "../../../core/doors/daemon/daemon-record.ts";
import { inspectDaemon } from "../../../core/doors/daemon/inspect-daemon.ts";
import { listen } from "../../../core/doors/daemon/listen.ts";
import { whoElseMayChange } from "../../../core/ground/platform/files/own-folder.ts";
import { processStart } from "../../../core/ground/platform/processes/process-rows.ts";
import { unixFetch } from "../../../core/ground/platform/net/unix-fetch.ts";
import { claimState } from "../../../core/sessions/host/state/state-claim.ts";
import { errorOf } from "../../sessions/host/test-host.ts";

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
  const { release } = await takeDaemonLock(files);
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

test("what others could have written is believed neither by a command nor by a daemon nor by a host", async () => {
  const { uid } = await stat(stateDir);
  expect(await whoElseMayChange(stateDir, uid)).toBeNull();
  expect(await whoElseMayChange(join(stateDir, "none"), uid)).toBeNull();
  // What is the administrator's is nobody else's.
  if (uid === 0) await chown(stateDir, 1, 1);
  expect(await whoElseMayChange(stateDir, uid === 0 ? 0 : uid + 1)).toBe("it belongs to another user");
  if (uid === 0) await chown(stateDir, 0, 0);
  await chmod(stateDir, 0o777);
  const refused = { code: "io_error", message: expect.stringContaining("everybody may write to it") };
  expect(await errorOf(inspectDaemon(stateDir))).toMatchObject(refused);
  expect(await errorOf(claimState(stateDir))).toMatchObject(refused);
  await chmod(stateDir, 0o700);
});

test("a second daemon is told who the first is and where it listens", async () => {
  const files = daemonFiles(stateDir);
  const { release } = await takeDaemonLock(files);
  await writeDaemonRecord(files.record, record(process.pid, processStart(process.pid)));
  const error = await errorOf(takeDaemonLock(files));
  expect(error).toMatchObject({ code: "busy", details: { pid: process.pid, address: "http://127.0.0.1:7717" } });
  expect(error.message).toContain(`process ${process.pid}`);
  await release();
  await (await takeDaemonLock(files)).release();
});

test("daemonFiles names the places for the socket, the best first", () => {
  const runtimeDir = (name: string) => name === "XDG_RUNTIME_DIR" ? "/run/user/1000" : undefined;
  const [first, second] = daemonFiles("/state", runtimeDir).sockets;
  expect(first).toMatch(/^\/run\/user\/1000\/bulkhead\/[0-9a-f]{16}\.sock$/);
  expect(second).toBe("/state/daemon.sock");
  expect(daemonFiles("/other", runtimeDir).sockets[0]).not.toBe(first);
  expect(daemonFiles("/state", () => undefined).sockets).toEqual(["/state/daemon.sock"]);
  expect(daemonFiles("/state", () => "relative").sockets).toEqual(["/state/daemon.sock"]);
});

test("listen takes the first place for its socket that is this user's alone, and does without where there is none", async () => {
  const file = join(stateDir, "file");
  await writeFile(file, "");
  await mkdir(join(stateDir, "open"));
  await chmod(join(stateDir, "open"), 0o777);
  const unfit = [join(file, "bulkhead", "s.sock"), join(stateDir, "open", "s.sock"), file, `/${"s".repeat(120)}`];
  const options = { port: 0, limits: defaultLimits, answer: async () => new Response("here"), onStall() {} };
  for (
    const [sockets, taken] of [[[...unfit, join(stateDir, "s.sock")], join(stateDir, "s.sock")], [unfit, null]] as const
  ) {
    const listening = await listen({ ...options, sockets });
    expect(listening.socket).toBe(taken);
    const reasons = [
      `"${join(file, "bulkhead")}" is no folder of this user's alone`,
      `"${join(stateDir, "open")}" is no folder of this user's alone`,
      expect.stringContaining(`"${file}": `) as string,
      `"${unfit[3]}" is longer than a socket's path may be, 103 bytes`,
    ];
    expect(listening.noSocket).toEqual(taken === null ? reasons : []);
    if (taken !== null) expect(await (await unixFetch(taken)("http://localhost/")).text()).toBe("here");
    await listening.close();
  }
});
