import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parseLdd } from "../../../../core/ground/platform/os-walls/bubblewrap.ts";
import { confine } from "../../../../core/ground/platform/os-walls/confine.ts";
import { defaultOsWallUses } from "../../../../core/ground/platform/os-walls/os-wall.ts";
import { needsWall } from "./needs-wall.ts";
import { runConfined } from "./run-confined.ts";

const programs = fileURLToPath(new URL("./programs/", import.meta.url));
let root: string;
let servers: Server[];
let targets: string[];

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-bwrap-")));
  const secret = join(root, "secret.txt");
  await writeFile(secret, "of the host");
  const socket = join(root, "socket");
  servers = [await listen(0), await listen(socket)];
  const address = servers[0]!.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  targets = [secret, String(port), String(process.pid), socket];
});

afterAll(async () => {
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
  for (const folder of ["/", "/tmp", "/dev", "/dev/shm", programs]) {
    const left = existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith("bulkhead-escaped-")) : [];
    for (const name of left) await rm(join(folder, name));
  }
  await rm(root, { recursive: true, force: true });
});

function listen(where: number | string): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve) => {
    if (typeof where === "number") server.listen(where, "127.0.0.1", () => resolve(server));
    else server.listen(where, () => resolve(server));
  });
}

describe("bubblewrap around what may read the disk", () => {
  test("hides the keys that the person has now: those that came and went meanwhile are no reason to fail", async (context) => {
    await needsWall(context, "bubblewrap");
    const home = join(root, "home");
    vi.stubEnv("HOME", home);
    const look = async () => {
      const code = await readAsFound([join(home, ".aws/credentials"), join(home, ".kube/config")]);
      return code.map((text) => text.trim());
    };
    await mkdir(join(home, ".aws"), { recursive: true });
    await writeFile(join(home, ".aws/credentials"), "a key");
    expect(await look()).toEqual(["", ""]);
    await rm(join(home, ".aws"), { recursive: true });
    await mkdir(join(home, ".kube"));
    await writeFile(join(home, ".kube/config"), "a key");
    expect(await look()).toEqual(["", ""]);
    await writeFile(join(home, "plain"), "seen");
    expect(await readAsFound([join(home, "plain")])).toEqual(["seen"]);
    vi.unstubAllEnvs();
  });
});

/** What a program that may read the disk reads of each file; empty for what it does not find. */
async function readAsFound(files: readonly string[]): Promise<string[]> {
  const uses = { ...defaultOsWallUses, bubblewrap: "required" as const };
  return await Promise.all(files.map(async (file) => {
    const { command, release } = await confine(
      { file: "/bin/sh", args: ["-c", 'cat "$1" 2>/dev/null; echo .', "sh", file], env: {}, cwd: "/" },
      { rssMb: 256, openFiles: 64, workers: 0, readable: "all" },
      { uses },
    );
    try {
      const output = execFileSync(command.file, command.args, { env: command.env, encoding: "utf8" });
      expect(output).toMatch(/\.\n$/);
      return output.slice(0, -2);
    } finally {
      await release();
    }
  }));
}

describe("bubblewrap", () => {
  test("leaves code that broke out of all else no file, no network, no process and nothing to write", async (context) => {
    await needsWall(context, "bubblewrap");
    const { report, output } = await runConfined("look-around.mjs", { walls: ["bubblewrap"], args: targets });
    expect(report, output).toMatchObject({
      file: "refused: ENOENT",
      passwords: "refused: ENOENT",
      home: [],
      environment: [],
      signal: "refused: ESRCH",
      tcp: false,
      unix: false,
      writes: [],
    });
    // The runtime, and what bubblewrap runs as the first process.
    expect(report["processes"]).toBe(2);
    expect(report["roots"]).not.toContain("etc");
    // The checkout may lie below it.
    if (!import.meta.dirname.startsWith("/root/")) expect(report["roots"]).not.toContain("root");
  });

  test("is what stops it: without it the same code reaches all of that", async (context) => {
    await needsWall(context, "bubblewrap");
    const { report } = await runConfined("look-around.mjs", { walls: [], args: targets });
    expect(report).toMatchObject({ file: "of the host", passwords: true, signal: true, tcp: true, unix: true });
    expect(report["processes"]).toBeGreaterThan(2);
    expect(report["writes"]).toContain(programs.replace(/$/, ""));
    expect(report["roots"]).toContain("etc");
  });

  test("works together with every other wall that is there", async (context) => {
    await needsWall(context, "bubblewrap");
    await needsWall(context, "prlimit");
    await needsWall(context, "priority");
    const { report } = await runConfined("look-around.mjs", {
      walls: ["priority", "prlimit", "bubblewrap"],
      args: targets,
    });
    expect(report).toMatchObject({ file: "refused: ENOENT", tcp: false, writes: [] });
  });
});

test("parseLdd finds every absolute path and nothing else", () => {
  const text = `\tlinux-vdso.so.1 (0x00007ffc)
\tlibdl.so.2 => /lib/x86_64-linux-gnu/libdl.so.2 (0x00007f01)
\tlibgone.so => not found
\t/lib64/ld-linux-x86-64.so.2 (0x00007f02)
`;
  expect(parseLdd(text)).toEqual(["/lib/x86_64-linux-gnu/libdl.so.2", "/lib64/ld-linux-x86-64.so.2"]);
  expect(parseLdd("\tstatically linked\n")).toEqual([]);
});
