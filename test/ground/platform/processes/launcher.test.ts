import { execFileSync } from "node:child_process";
import { mkdtemp, open as openFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Readable } from "node:stream";
import { setImmediate, setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  dropLauncher,
  launch,
  type LaunchedProgram,
  openPorts,
  prepareLauncher,
} from "../../../../core/ground/platform/processes/launcher.ts";
import { processIsAlive } from "../../../../core/ground/platform/processes/process-alive.ts";
import { afterEveryTest } from "../../../clean-up.ts";

const launched: LaunchedProgram[] = [];
const folders: string[] = [];

afterEveryTest(async () => {
  for (const { pid } of launched.splice(0)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
  await dropLauncher();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

const env = { PATH: "/usr/bin:/bin", ONLY: "this=that" };

async function shell(script: string, options: { endsWithHost?: boolean } = {}): Promise<LaunchedProgram> {
  const command = { file: "sh", args: ["-c", script, "", "", "ünï"], env, cwd: "/" };
  const program = await launch(command, { stdin: "open", ...options });
  launched.push(program!);
  return program!;
}

async function text(stream: Readable): Promise<string> {
  let all = "";
  for await (const piece of stream.setEncoding("utf8") as AsyncIterable<string>) all += piece;
  return all;
}

if (process.platform !== "linux" || "Deno" in globalThis) {
  test("there is no launcher where the runtime cannot be handed open files", async () => {
    expect(await launch({ file: "/bin/sh", args: [], env, cwd: "/" }, { stdin: "closed" })).toBeNull();
    expect(await openPorts([3128])).toBeNull();
  });
} else {
  describe("launch", () => {
    test("starts a program with its arguments, its environment and three open files", async () => {
      const program = await shell(
        'cat; echo "$1|$2|$ONLY|$(env | wc -l)"; ls /proc/$$/fd | head -3 | xargs; pwd >&2; exit 7',
      );
      program.stdin!.end("said\n");
      expect(await text(program.stdout)).toMatch(/^said\n\|ünï\|this=that\|[3-6]\n0 1 2\n$/);
      expect(await text(program.stderr)).toBe("/\n");
      expect(await program.exited).toEqual({ exit_code: 7, signal: null });
    });

    test("makes it the leader of a session, with pipes that can be opened by their names", async () => {
      const program = await shell("echo ok > /dev/stdout; cut -d' ' -f5,6 /proc/$$/stat; kill -TERM $$");
      expect(await text(program.stdout)).toBe(`ok\n${program.pid} ${program.pid}\n`);
      expect(await program.exited).toEqual({ exit_code: null, signal: "SIGTERM" });
    });

    test("throws what the system says, and starts the next one", async () => {
      const command = { file: "/no/such/program", args: [], env, cwd: "/" };
      await expect(launch(command, { stdin: "closed" })).rejects.toMatchObject({ code: "ENOENT" });
      const large = { ...command, file: "/bin/sh", args: ["x".repeat(3_000_000)] };
      await expect(launch(large, { stdin: "closed" })).rejects.toMatchObject({ code: "E2BIG" });
      await expect(launch({ ...command, file: "sh", cwd: "/nowhere" }, { stdin: "closed" })).rejects
        .toMatchObject({ code: "ENOENT" });
      const second = { ...command, file: "/usr/bin/env", env: { ONE: "1\0LD_PRELOAD=/evil.so" } };
      await expect(launch(second, { stdin: "closed" })).rejects.toMatchObject({ code: "EINVAL" });
      expect(await text((await shell("echo next")).stdout)).toBe("next\n");
    });

    test("hands many programs their own pipes", async () => {
      const programs = await Promise.all(Array.from({ length: 40 }, () => shell("cat; echo $$")));
      const said = await Promise.all(programs.map(async ({ stdin, stdout }, index) => {
        stdin!.end(`${index} `);
        return await text(stdout);
      }));
      expect(said).toEqual(programs.map(({ pid }, index) => `${index} ${pid}\n`));
    });

    test("starts a program while another one's start waits", async () => {
      const folder = await mkdtemp(join(tmpdir(), "bulkhead-launcher-"));
      const filter = join(folder, "pipe");
      try {
        execFileSync("mkfifo", [filter]);
        // It waits until the filter can be opened, and then gets it before its own arguments.
        const command = { file: "/bin/echo", args: ["begun"], env, cwd: "/", filter };
        const waiting = launch(command, { stdin: "closed" });
        expect(await text((await shell("echo first")).stdout)).toBe("first\n");
        await (await openFile(filter, "w")).close();
        expect(await text((await waiting)!.stdout)).toMatch(/^--seccomp \d+ begun\n$/);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });

    test("counts programs as killed when the launcher is, and starts another launcher", async () => {
      const program = await shell("echo $PPID; exec sleep 60");
      const bound = await shell("echo $PPID; exec sleep 60", { endsWithHost: true });
      const [parent] = await Promise.all([firstLine(program.stdout), firstLine(bound.stdout)]);
      process.kill(parent, "SIGKILL");
      expect(await program.exited).toEqual({ exit_code: null, signal: "SIGKILL" });
      await expect.poll(() => processIsAlive(bound.pid)).toBe(false);
      expect(processIsAlive(program.pid)).toBe(true);
      expect(await firstLine((await shell("echo $PPID")).stdout)).not.toBe(parent);
    });

    describe("with a program that may not run yet", () => {
      /** Says so and waits for its gate, as bwrap does. */
      const waiter = '#!/bin/sh\necho "$1"; exec head -c 1 "/proc/$$/fd/$2"\n';
      const command = { args: [], env, cwd: "/" };

      async function launchWaiter(mayRun: Promise<void>): Promise<LaunchedProgram> {
        const folder = await mkdtemp(join(tmpdir(), "bulkhead-launcher-"));
        folders.push(folder);
        const file = join(folder, "waiter");
        await writeFile(file, waiter, { mode: 0o755 });
        const program = await launch({ ...command, file }, { stdin: "closed", mayRun });
        launched.push(program!);
        return program!;
      }

      test("starts it and lets it go on when it may", async () => {
        let open = () => {};
        const program = await launchWaiter(new Promise((resolve) => (open = resolve)));
        const said = text(program.stdout);
        expect(await Promise.race([program.exited, setTimeout(100, "waits")])).toBe("waits");
        open();
        expect(await said).toBe("--block-fd\n1");
        expect(await program.exited).toEqual({ exit_code: 0, signal: null });
      });

      test("never lets it go on when it may not, and ends it with the launcher", async () => {
        const mayRun = Promise.reject(new Error("no"));
        mayRun.catch(() => {});
        const program = await launchWaiter(mayRun);
        expect(await firstPiece(program.stdout)).toBe("--block-fd\n");
        const said = text(program.stdout);
        const parent = Number(execFileSync("ps", ["-o", "ppid=", "-p", String(program.pid)], { encoding: "utf8" }));
        process.kill(parent, "SIGKILL");
        await expect.poll(() => processIsAlive(program.pid)).toBe(false);
        expect(await said).toBe("");
      });

      test("lets one that is still in line run at once when its turn comes", async () => {
        const folder = await mkdtemp(join(tmpdir(), "bulkhead-launcher-"));
        folders.push(folder);
        const filter = join(folder, "pipe");
        execFileSync("mkfifo", [filter]);
        // One that is only starting would be asked after the filter is open.
        await prepareLauncher();
        // As many as start at the same time; each waits until the filter can be opened.
        const slow = { file: "/bin/echo", args: [], env, cwd: "/", filter };
        const starts = Array.from({ length: 8 }, () => launch(slow, { stdin: "closed" }));
        let open = () => {};
        const mayRun = new Promise<void>((resolve) => (open = resolve));
        const waiting = launch({ ...command, file: "/bin/echo", args: ["ran"] }, { stdin: "closed", mayRun });
        open();
        // It was let go before any of the others can end its start.
        await setImmediate();
        const pipe = await openFile(filter, "w");
        await Promise.all(starts);
        await pipe.close();
        expect(await text((await waiting)!.stdout)).toBe("ran\n");
      });
    });

    test("leaves no launcher once it is dropped, but while a program runs", async () => {
      const program = await shell("echo $PPID; read end");
      const parent = await firstLine(program.stdout);
      await dropLauncher();
      expect(processIsAlive(parent)).toBe(true);
      program.stdin!.end("end\n");
      await program.exited;
      await dropLauncher();
      await expect.poll(() => processIsAlive(parent)).toBe(false);
    });
  });
}

async function firstLine(stream: Readable): Promise<number> {
  return Number(await firstPiece(stream));
}

async function firstPiece(stream: Readable): Promise<string | null> {
  for await (const piece of stream.iterator({ destroyOnReturn: false })) return String(piece);
  return null;
}
