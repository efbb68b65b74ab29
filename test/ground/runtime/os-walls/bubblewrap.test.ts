import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseLdd } from "../../../../core/ground/runtime/os-walls/bubblewrap.ts";
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
