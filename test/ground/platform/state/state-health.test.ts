import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test, type TestContext } from "vitest";
import { startHttpServer } from "../../../../core/ground/platform/net/http-server.ts";
import { StateHealth, type StateProblem, whyUnwritable } from "../../../../core/ground/platform/state/state-health.ts";
import { replaceFile } from "../../../../core/ground/platform/files/replace-file.ts";
import { openJournal } from "../../../../core/records/journal/open-journal.ts";
import { smallDisk } from "../../../records/git/small-disk.ts";
import { errorOf } from "../../../sessions/host/test-host.ts";
import { skipBecause } from "../../../skip-because.ts";

let root = "";
let health: StateHealth;
let told: (StateProblem | null)[];

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "bulkhead-health-")));
});
afterEach(() => {
  health.close();
  rmSync(root, { recursive: true, force: true });
});

function watch(folder: string): void {
  told = [];
  health = new StateHealth({ folder, part: folder, onChange: (problem) => void told.push(problem), everyMs: 50 });
}

/** Fills what is left of a disk; returns the file. */
function fill(folder: string): string {
  const file = join(folder, "filled");
  for (const bytes of [1_000_000, 4096, 1]) {
    try {
      for (;;) writeFileSync(file, new Uint8Array(bytes), { flag: "a" });
    } catch {
      // Full, for pieces of this size.
    }
  }
  return file;
}

test("a disk that is full is known from the first refused write to when it has room, with its first cause", async (context) => {
  const disk = smallDisk(join(root, "disk"), 8 * 1024) ?? skipBecause(context, "this user may not mount a file system");
  using _ = disk;
  watch(disk.folder);
  expect(await health.look()).toBeNull();
  const filled = fill(disk.folder);
  await expect(replaceFile(join(disk.folder, "a"), "x".repeat(5000))).rejects.toMatchObject({ code: "ENOSPC" });
  await expect.poll(() => health.problem, { timeout: 5000 }).toMatchObject({
    code: "ENOSPC",
    state: `the disk of "${disk.folder}" is full`,
    told: "the disk of the state folder is full",
  });
  expect(await whyUnwritable(disk.folder)).toMatchObject({ code: "ENOSPC" });
  health.report(Object.assign(new Error("later"), { code: "EIO" }), "another");
  expect(await errorOf(health.demand("Cannot start a session"))).toMatchObject({
    code: "journal_error",
    message: `Cannot start a session: the disk of "${disk.folder}" is full.`,
  });
  rmSync(filled);
  await expect.poll(() => health.problem).toBeNull();
  expect(told.map((problem) => problem?.code ?? null)).toEqual(["ENOSPC", null]);
  expect(readdirSync(disk.folder)).toEqual([]);
});

test("clients that connect and say nothing leave descriptors to the state, and a client that asks is served", async (context) => {
  watch(root);
  const before = limitHere(context);
  const sockets: Socket[] = [];
  limit("600");
  const server = await startHttpServer({
    at: { kind: "tcp", host: "127.0.0.1", port: 0 },
    limits: {
      header_bytes: 8192,
      connections: 5000,
      header_timeout_ms: 60_000,
      request_timeout_ms: 60_000,
      stall_timeout_ms: 60_000,
    },
    answer: async () => new Response("here"),
  });
  try {
    const { port } = server.at as { port: number };
    for (let number = 0; number < 300; number++) sockets.push(connect(port, "127.0.0.1").on("error", () => {}));
    await expect.poll(() => server.connections(), { timeout: 5000 }).toBe(150);
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("here");
    expect(await health.look()).toBeNull();
  } finally {
    for (const socket of sockets) socket.destroy();
    limit(before);
    await server.close();
  }
});

test("a process without descriptors is known, and goes on once it has some", async (context) => {
  watch(root);
  const before = limitHere(context);
  const held: number[] = [];
  try {
    const newest = openSync("/dev/null", "r");
    closeSync(newest);
    limit(String(newest + 64));
    // The runtimes raise their limit at the start, so it is lowered with what is open. What the command above used may be
    // closed a moment later.
    let found: Awaited<ReturnType<typeof health.look>> = null;
    for (let round = 0; round < 10 && found === null; round++) {
      for (let more = true; more;) {
        try {
          held.push(openSync("/dev/null", "r"));
        } catch {
          more = false;
        }
      }
      found = await health.look();
    }
    expect(found).toMatchObject({ code: "EMFILE", told: expect.stringContaining("no file descriptors") });
    for (const descriptor of held.splice(0)) closeSync(descriptor);
    await expect.poll(() => health.problem).toBeNull();
  } finally {
    for (const descriptor of held) closeSync(descriptor);
    limit(before);
  }
});

function limit(soft: string): void {
  execFileSync("prlimit", ["--pid", String(process.pid), `--nofile=${soft}:`], { stdio: "pipe" });
}

/** The soft limit of open files; skips the test where it cannot be changed. */
function limitHere(context: TestContext): string {
  try {
    const text = execFileSync("prlimit", [
      "--pid",
      String(process.pid),
      "--nofile",
      "--raw",
      "--noheadings",
      "-o",
      "SOFT",
    ]);
    return new TextDecoder().decode(text).trim();
  } catch {
    return skipBecause(context, "prlimit is missing");
  }
}

test("a read-only disk and a folder without permission are named, by a journal that is opened too", async (context) => {
  watch(root);
  const folder = join(root, "closed");
  mkdirSync(folder);
  if (process.getuid?.() !== 0) {
    chmodSync(folder, 0o500);
    expect(await whyUnwritable(folder)).toMatchObject({ code: "EACCES" });
    chmodSync(folder, 0o700);
  }
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", folder], { stdio: "pipe" });
  } catch {
    return skipBecause(context, "this user may not mount a file system");
  }
  try {
    expect(await whyUnwritable(folder)).toMatchObject({ code: "EROFS", state: `the disk of "${folder}" is read-only` });
    expect(await errorOf(openJournal(join(folder, "journal.db")))).toMatchObject({
      code: "journal_error",
      message: expect.stringContaining("is read-only"),
      details: { cause_code: "EROFS" },
    });
  } finally {
    execFileSync("umount", ["-l", folder]);
  }
});

test("what another folder refuses, and what an agent's folder below refuses, says nothing of the state", async () => {
  watch(root);
  await expect(replaceFile(join(root, "missing", "a"), "a")).rejects.toMatchObject({ code: "ENOENT" });
  health.report(Object.assign(new Error("damaged"), { code: "SQLITE_CORRUPT" }), "journal.db");
  expect(await health.look()).toBeNull();
  expect(told).toEqual([]);
});

test("a state counts as writable once all that was added works, too", async () => {
  watch(root);
  let works = false;
  health.addCheck(() => works ? Promise.resolve() : Promise.reject(new Error("not yet")));
  health.report(Object.assign(new Error("full"), { code: "SQLITE_FULL" }), "journal.db");
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(health.problem).toMatchObject({ code: "ENOSPC", file: "journal.db" });
  works = true;
  await expect.poll(() => health.problem).toBeNull();
});
