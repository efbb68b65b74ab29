import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process, { pid } from "node:process";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { findHolder, type HeldLock, takeLock, withLockFile } from "../../../../core/ground/platform/state/lock-file.ts";
import { holderText, placeOf } from "../../../../core/ground/platform/state/lock-holder.ts";
import { processStart } from "../../../../core/ground/platform/processes/process-rows.ts";
import { systemId } from "../../../../core/ground/platform/processes/system-id.ts";
import { needsProgram } from "../../../needs-program.ts";
import { smallDisk } from "../../../records/git/small-disk.ts";
import { type Runnable, runnable } from "../../../records/journal/runnable.ts";
import { skipBecause } from "../../../skip-because.ts";

const entry = new URL("../programs/lock-program.ts", import.meta.url).href;

let folder = "";
let lock = "";
let program: Runnable;
const programFolder = realpathSync(mkdtempSync(join(tmpdir(), "bulkhead-lock-program-")));
beforeAll(async () => void (program = await runnable(entry, programFolder)));
afterAll(() => rmSync(programFolder, { recursive: true }));

const children: ChildProcess[] = [];
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "bulkhead-lock-")));
  lock = join(folder, "lock");
});
afterEach(async () => {
  for (const child of children.splice(0)) await killed(child);
  rmSync(folder, { recursive: true });
});

/** Runs the program of these tests. */
function run(args: readonly string[], { env = {}, before = [] as string[] } = {}): ChildProcess {
  const [command = "", ...rest] = [...before, process.execPath, ...program.args, ...args];
  const child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"], env: { ...program.env, ...env } });
  children.push(child);
  return child;
}

async function said(child: ChildProcess): Promise<string> {
  let text = "";
  for await (const piece of child.stdout!) text += String(piece);
  return text;
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

/** Starts a process that holds the lock. */
async function holder(at = lock): Promise<{ child: ChildProcess; outlives: number }> {
  const child = run(["hold", at]);
  const [line] = await once(child.stdout!, "data");
  const { left, child: outlives } = JSON.parse(String(line)) as { left: unknown; child: number };
  expect(left).toBeNull();
  return { child, outlives };
}

/** Takes a lock that must be free, and gives it back. */
async function mustBeFree(at = lock): Promise<HeldLock["left"]> {
  const taken = await takeLock(at);
  if (!("release" in taken)) throw new Error(`It is held by ${JSON.stringify(taken.holder)}.`);
  await taken.release();
  return taken.left;
}

describe("takeLock()", () => {
  test("holds a lock until it is released, and leaves nothing behind", async () => {
    const first = await takeLock(lock, { program: "bulkhead up" }) as HeldLock;
    expect(await takeLock(lock)).toMatchObject({ holder: { pid, program: "bulkhead up" } });
    expect(await findHolder(lock)).toMatchObject({ holder: { pid }, holds: true });
    await first.release();
    await first.release();
    expect(await readdir(folder)).toEqual([]);
    expect(await findHolder(lock)).toBeNull();
    expect(await mustBeFree()).toBeNull();
  });

  test("takes the lock of a process that was killed, although a program that it started lives on", async () => {
    const { child, outlives } = await holder();
    try {
      const found = await takeLock(lock);
      expect(found).toMatchObject({ holder: { pid: child.pid, program: "bulkhead try" } });
      expect(holderText((found as { holder: never }).holder)).toBe(`"bulkhead try" (process ${child.pid})`);
      await killed(child);
      expect(await findHolder(lock)).toMatchObject({ holds: false });
      process.kill(outlives, 0);
      expect(await mustBeFree()).toMatchObject({ pid: child.pid });
    } finally {
      process.kill(outlives, "SIGKILL");
    }
  });

  test("gives each of fifty locks to one of two processes that want it in the same millisecond", async () => {
    const both = [1, 2].map(() => run(["race", folder, "50"]));
    const next = () => Promise.all(both.map(async ({ stdout }) => String((await once(stdout!, "data"))[0])));
    expect(await next()).toEqual(["ready\n", "ready\n"]);
    const from = `${Date.now() + 100}\n`;
    for (const { stdin } of both) stdin!.write(from);
    const got = (await next()).flatMap((text) => JSON.parse(text) as number[]);
    expect(got.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, round) => round));
  });

  test("lets one process in at a time, while others are killed at any moment", async () => {
    const steady = [1, 2].map(() => run(["turns", lock, "150"]));
    const answers = Promise.all(steady.map(said));
    for (const afterMs of [60, 75, 90, 110, 130, 160]) {
      const child = run(["turns", lock, "1000000"]);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await killed(child);
    }
    expect(await answers).toEqual(["0", "0"]);
    await mustBeFree();
  });

  test("asks the system, not the process list, about a record from another namespace or boot", async () => {
    const [boot = "", space = ""] = systemId()?.split(" ") ?? [];
    const places = [[`${boot} pid:[1]`, "container"], [`another ${space}`, "machine"]] as const;
    for (const [system, place] of places) {
      const record = { pid: 2 ** 30, start: "1", system, host: "far", program: null, file: "0:0" };
      const held = await takeLock(lock) as HeldLock;
      writeFileSync(lock, JSON.stringify(record));
      const { holder } = await takeLock(lock) as { holder: never };
      expect([holder, placeOf(holder)]).toEqual([record, place]);
      expect(holderText(holder)).toMatch(/^process 1073741824 (in another container|on another machine) \("far"\)$/);
      expect(await findHolder(lock)).toMatchObject({ holds: true });
      // Another one's record stays.
      await held.release();
      expect(await findHolder(lock)).toMatchObject({ holds: false });
      expect(await mustBeFree()).toMatchObject({ system });
    }
  });

  test("takes a record with a reused pid for one that was left", async () => {
    const left = { pid, start: "0", system: systemId(), host: null, program: null, file: "0:0" };
    await writeFile(lock, JSON.stringify(left));
    expect(await findHolder(lock)).toMatchObject({ holds: false });
    expect(await mustBeFree()).toEqual(left);
  });

  test("respects the record of an older version, and writes one that it can read", async () => {
    await writeFile(lock, JSON.stringify({ pid, start: processStart(pid) }));
    expect(await takeLock(lock)).toMatchObject({ holder: { pid } });
    await writeFile(lock, JSON.stringify({ pid: 2 ** 30, start: "1" }));
    const { release } = await takeLock(lock) as HeldLock;
    expect(JSON.parse(await readFile(lock, "utf8"))).toMatchObject({ pid, start: processStart(pid) });
    await release();
    await writeFile(lock, "");
    expect(await mustBeFree()).toBeNull();
  });

  test("is not held off by the record in a copy of a folder, nor harms the lock in the folder itself", async () => {
    await mkdir(join(folder, "one"));
    const { child } = await holder(join(folder, "one", "lock"));
    await cp(join(folder, "one"), join(folder, "copy"), { recursive: true, preserveTimestamps: true });
    expect(await findHolder(join(folder, "copy", "lock"))).toMatchObject({ holds: false });
    expect(await mustBeFree(join(folder, "copy", "lock"))).toMatchObject({ pid: child.pid });
    symlinkSync(join(folder, "one"), join(folder, "link"));
    expect(await takeLock(join(folder, "link", "lock"))).toMatchObject({ holder: { pid: child.pid } });
  });

  test("names what keeps it from taking a lock, and leaves no descriptor open", async (context) => {
    const refused = (at: string) => takeLock(at).then(() => null, (error: BulkheadError) => error);
    expect(await refused(join(folder, "none", "lock"))).toMatchObject({
      code: "io_error",
      message: `Cannot take the lock "${join(folder, "none", "lock")}": "${join(folder, "none")}" does not exist.`,
    });
    await writeFile(join(folder, "victim"), "");
    symlinkSync(join(folder, "victim"), `${lock}.held`);
    expect((await refused(lock))?.message).toBe(`Cannot take the lock "${lock}.held": something else stands there.`);
    using disk = smallDisk(join(folder, "disk"), 64) ?? skipBecause(context, "this user may not mount a file system");
    const full = join(disk.folder, "lock");
    fill(join(disk.folder, "filled"));
    const open = () => readdirSync("/proc/self/fd").length;
    const before = open();
    for (let at = 0; at < 20; at++) {
      expect(await refused(full)).toMatchObject({
        code: "io_error",
        message: expect.stringMatching(/the disk of ".*" is full/),
      });
    }
    expect(open()).toBeLessThanOrEqual(before + 1);
    expect(await readdir(disk.folder)).toEqual(["filled"]);
    // Who makes room needs locks for it.
    let turns = 0;
    await withLockFile(full, { what: "it", waitMs: 0 }, async () => {
      turns++;
      const second = withLockFile(full, { what: "it", waitMs: 0 }, async () => void turns++);
      await expect(second).rejects.toMatchObject({ code: "busy" });
    });
    expect(turns).toBe(1);
    execFileSync("mount", ["-o", "remount,ro", disk.folder]);
    expect((await refused(full))?.message).toBe(
      `Cannot take the lock "${full}": the disk of "${disk.folder}" is read-only.`,
    );
  });

  test("tells too many open files from a lock that is held", async () => {
    const limited = ["/bin/sh", "-c", 'ulimit -n 60; exec "$@"', "sh"];
    expect(JSON.parse(await said(run(["fail", lock, "full"], { before: limited })))).toEqual({
      code: "io_error",
      message: `Cannot take the lock "${lock}": this process has no file descriptors left to write "${folder}".`,
    });
  });

  test("tells a file system without locks from a lock that is held", async (context) => {
    needsProgram(context, "gcc");
    // As the kernel answers on NFS without lockd; SQLite takes that for "held".
    const source = `
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #include <errno.h>
      #include <fcntl.h>
      #include <stdarg.h>
      #include <stdio.h>
      #include <string.h>
      #include <unistd.h>
      static int go(const char *name, int fd, int cmd, void *arg) {
        char link[32], file[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = cmd == F_SETLK ? readlink(link, file, sizeof file - 1) : 0;
        if (length > 0 && (file[length] = 0, strstr(file, ".held"))) { errno = ENOLCK; return -1; }
        int (*real)(int, int, ...) = dlsym(RTLD_NEXT, name);
        return real(fd, cmd, arg);
      }
      int fcntl(int fd, int cmd, ...) { va_list a; va_start(a, cmd); void *p = va_arg(a, void *); va_end(a); return go("fcntl", fd, cmd, p); }
      int fcntl64(int fd, int cmd, ...) { va_list a; va_start(a, cmd); void *p = va_arg(a, void *); va_end(a); return go("fcntl64", fd, cmd, p); }`;
    const library = join(folder, "no-locks.so");
    execFileSync("gcc", ["-shared", "-fPIC", "-x", "c", "-o", library, "-", "-ldl"], { input: source });
    expect(JSON.parse(await said(run(["fail", lock], { env: { LD_PRELOAD: library } })))).toEqual({
      code: "io_error",
      message: `Cannot take the lock "${lock}": the file system of "${folder}" has no locks.`,
    });
  });
});

function fill(file: string): void {
  writeFileSync(file, "");
  try {
    for (;;) appendFileSync(file, new Uint8Array(4096));
  } catch {
    expect(readFileSync(file).length).toBeGreaterThan(0);
  }
}
