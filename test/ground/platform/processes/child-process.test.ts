import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test } from "vitest";
import {
  type ChildProcess,
  spawnChild,
  type SpawnChildOptions,
} from "../../../../core/ground/platform/processes/child-process.ts";
import type { ByteReader } from "../../../../core/ground/platform/files/byte-reader.ts";
import { processIsAlive } from "../../../../core/ground/platform/processes/process-alive.ts";
import { killTree } from "../marked-tree.ts";

const sleeper = new Int32Array(new SharedArrayBuffer(4));
const children: ChildProcess[] = [];
const mark = `test-${crypto.randomUUID()}`;

afterEach(async () => {
  for (const { pid, startTime } of children.splice(0)) await killTree({ pid, startTime, mark, graceMs: 0 });
});

async function shell(script: string, options: Partial<SpawnChildOptions> = {}): Promise<ChildProcess> {
  const env = { PATH: "/usr/bin:/bin" };
  const child = await spawnChild("/bin/sh", ["-c", script], { cwd: "/", env, stdin: "closed", mark, ...options });
  children.push(child);
  return child;
}

async function text(reader: ByteReader): Promise<string> {
  const decoder = new TextDecoder();
  let all = "";
  for (let chunk = await reader.read(); chunk !== null; chunk = await reader.read()) {
    all += decoder.decode(chunk, { stream: true });
  }
  return all;
}

describe("spawnChild", () => {
  test("streams both outputs and tells the exit code", async () => {
    const child = await shell("echo out; echo err >&2; exit 7");
    expect(await Promise.all([text(child.stdout), text(child.stderr)])).toEqual(["out\n", "err\n"]);
    expect(await child.exited).toEqual({ exit_code: 7, signal: null });
  });

  // The program is Node itself, which leaves to the system what fits: 64 KiB of most pipes, 256 of these.
  if (process.platform === "linux" && !("Deno" in globalThis)) {
    test("pipes keep what a program prints before it exits at once", async () => {
      const script = `exec "${process.execPath}" -e 'process.stdout.write("x".repeat(250_000)); process.exit()'`;
      const child = await shell(script);
      // Nothing is read meanwhile, as by a host that is busy.
      while (processIsAlive(child.pid)) Atomics.wait(sleeper, 0, 0, 5);
      expect((await text(child.stdout)).length).toBe(250_000);
    });
  }

  test("tells the signal that ended the program", async () => {
    const child = await shell("kill -9 $$");
    expect(await child.exited).toEqual({ exit_code: null, signal: "SIGKILL" });
  });

  test("gives the environment it was given and the mark, nothing else", async () => {
    const child = await spawnChild("/usr/bin/env", [], { cwd: "/", env: { ONLY: "this" }, stdin: "closed", mark });
    const lines = (await text(child.stdout)).trim().split("\n");
    // Where something was left open by who started us, Deno tells a program that it put something in its place.
    expect(lines.filter((line) => !line.startsWith("DENO_EXTRA_STDIO_FDS=")).sort()).toEqual([
      `BULKHEAD_SESSION_MARK=${mark}`,
      "ONLY=this",
    ]);
  });

  test("makes the child the leader of its own process group", async () => {
    const child = await shell("ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat");
    expect(Number(await text(child.stdout))).toBe(child.pid);
  });

  test("passes arguments as they are, without a shell", async () => {
    const odd = ["$(id)", "; rm -rf x", "a b", "*", '"', "-n", ""];
    const child = await spawnChild("/usr/bin/printf", ["%s|", ...odd], { cwd: "/", env: {}, stdin: "closed", mark });
    expect(await text(child.stdout)).toBe(odd.map((word) => `${word}|`).join(""));
  });

  test("runs in the given folder", async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-child-")));
    const child = await shell("pwd", { cwd: folder });
    expect((await text(child.stdout)).trim()).toBe(folder);
    await rm(folder, { recursive: true });
  });

  test("writes standard input until it is closed", async () => {
    const child = await shell("cat", { stdin: "open" });
    await child.writeStdin("one ");
    await child.writeStdin("two");
    child.closeStdin();
    expect(await text(child.stdout)).toBe("one two");
  });

  test("lets a program open its standard streams by their names", async () => {
    const script = "cat /dev/stdin; echo err > /dev/stderr; echo both | tee /dev/stderr; echo out > /dev/stdout";
    const child = await shell(script, { stdin: "open" });
    await child.writeStdin("in\n");
    child.closeStdin();
    expect(await Promise.all([text(child.stdout), text(child.stderr)])).toEqual(["in\nboth\nout\n", "err\nboth\n"]);
    expect(await child.exited).toEqual({ exit_code: 0, signal: null });
  });

  test("starts many programs at once, none of which gets the streams of another", async () => {
    const numbers = Array.from({ length: 20 }, (_, number) => String(number));
    const said = await Promise.all(numbers.map(async (number) => {
      const child = await shell("cat /dev/stdin; ls /proc/self/fd | wc -l >&2", { stdin: "open" });
      await child.writeStdin(number);
      child.closeStdin();
      return await Promise.all([text(child.stdout), text(child.stderr)]);
    }));
    expect(said.map(([out]) => out)).toEqual(numbers);
    expect(new Set(said.map(([, open]) => open)).size).toBe(1);
  });

  test("gives a closed standard input that ends at once", async () => {
    const child = await shell("cat; echo end", { name: "agent" });
    expect(await text(child.stdout)).toBe("end\n");
    const message = 'Cannot write to "agent": its standard input is closed.';
    await expect(child.writeStdin("x")).rejects.toMatchObject({ code: "io_error", message });
  });

  test("makes a write to a program that left an io_error and nothing unhandled", async () => {
    const child = await shell("exec 0<&-; echo ready; sleep 5", { stdin: "open" });
    await child.stdout.read();
    await expect(child.writeStdin("x".repeat(1_000_000))).rejects.toMatchObject({ code: "io_error" });
    await expect(child.writeStdin("again")).rejects.toMatchObject({ code: "io_error" });
  });

  test("settles a write that the program never takes when the program ends", async () => {
    const child = await shell("exec sleep 60", { stdin: "open" });
    const stuck = child.writeStdin("x".repeat(4_000_000)).catch((error: unknown) => error);
    await killTree({ pid: child.pid, startTime: child.startTime, mark, graceMs: 0 });
    expect(await stuck).toMatchObject({ code: "io_error" });
  });

  test("names a missing program", async () => {
    const missing = spawnChild("/no/such/program", [], { cwd: "/", env: {}, stdin: "open", mark });
    await expect(missing).rejects.toMatchObject({ code: "binary_missing" });
  });

  test("names a missing folder, not the program", async () => {
    await expect(shell("true", { cwd: "/no/such/folder" })).rejects.toMatchObject({ code: "not_found" });
    await expect(shell("true", { cwd: "/etc/passwd" })).rejects.toMatchObject({ code: "not_found" });
  });

  test("refuses a file that is not a program", async () => {
    const refused = spawnChild("/etc", [], { cwd: "/", env: {}, stdin: "closed", mark });
    await expect(refused).rejects.toMatchObject({ code: "io_error" });
  });

  test("lets the pipe block a program whose output nobody reads, and loses nothing", async () => {
    const bytes = 3_000_000;
    const child = await shell(`head -c ${bytes} /dev/zero; echo written >&2`);
    const first = await Promise.race([
      child.stderr.read(),
      new Promise((resolve) => setTimeout(resolve, 300, "blocked")),
    ]);
    expect(first).toBe("blocked");
    expect((await text(child.stdout)).length).toBe(bytes);
    expect(await child.exited).toEqual({ exit_code: 0, signal: null });
  });

  test("throws away what comes after the reader has left, so that the program can end", async () => {
    const child = await shell("head -c 3000000 /dev/zero; exit 3");
    child.stdout.cancel();
    expect(await child.exited).toEqual({ exit_code: 3, signal: null });
    expect(await child.stdout.read()).toBe(null);
  });

  test("ends the output when the program is gone, although a left-behind process holds the pipe", async () => {
    const child = await shell("echo hello; sleep 60 & exit 0");
    expect(await text(child.stdout)).toBe("hello\n");
  });
});
