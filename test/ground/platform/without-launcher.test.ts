import process from "node:process";
import { afterAll, describe, expect, test, vi } from "vitest";
import { dropPrograms, spawnChild } from "../../../core/ground/platform/processes/child-process.ts";
import { processIsAlive } from "../../../core/ground/platform/processes/process-alive.ts";

// As on a machine without Perl: this process starts the programs itself.
vi.mock(
  "../../../core/ground/platform/processes/launcher.ts",
  () => ({ launch: async () => null, dropLauncher: async () => {} }),
);

afterAll(dropPrograms);

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** What a shell prints to its standard output. */
async function printed(script: string, streams: "pipes" | "sockets"): Promise<string> {
  const env = { PATH: "/usr/bin:/bin" };
  const mark = `test-${crypto.randomUUID()}`;
  const child = await spawnChild("/bin/sh", ["-c", script], { cwd: "/", env, stdin: "closed", mark, streams });
  // Nothing is read meanwhile, as by a host that is busy.
  while (processIsAlive(child.pid)) Atomics.wait(sleeper, 0, 0, 5);
  const decoder = new TextDecoder();
  let all = "";
  for (let piece = await child.stdout.read(); piece !== null; piece = await child.stdout.read()) {
    all += decoder.decode(piece, { stream: true });
  }
  return all;
}

describe("programs that the launcher does not start", () => {
  test("print all of it, and where the runtime has pipes they can open their streams by name", async () => {
    const isNode = !("Deno" in globalThis);
    expect(await printed("echo first; echo second", "sockets")).toBe("first\nsecond\n");
    if (isNode) expect(await printed("echo first; echo second >/dev/stdout", "pipes")).toBe("first\nsecond\n");
  });

  // The program is Node itself, which leaves to the system what fits: 64 KiB of a pipe, and more of a socket.
  if (process.platform === "linux" && !("Deno" in globalThis)) {
    test("keep in sockets what they print before they exit at once", async () => {
      const script = `exec "${process.execPath}" -e 'process.stdout.write("x".repeat(100_000)); process.exit()'`;
      expect((await printed(script, "sockets")).length).toBe(100_000);
    });
  }
});
