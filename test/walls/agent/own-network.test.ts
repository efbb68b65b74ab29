import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openOwnNetwork, type OwnNetwork } from "../../../core/walls/agent/own-network.ts";
import { commandChain } from "../../../core/ground/platform/os-walls/command-chain.ts";
import { afterEveryTest } from "../../clean-up.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";

const folders: string[] = [];
const networks: OwnNetwork[] = [];

afterEveryTest(async () => {
  for (const network of networks.splice(0)) await network.close();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function openNetwork(ports: readonly number[], { light = true } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-network-"));
  folders.push(folder);
  const network = await openOwnNetwork({ ports, folder: join(folder, "sockets"), light });
  networks.push(network);
  return { network, folder };
}

/** What a shell says in the network. */
async function said(network: OwnNetwork, script: string): Promise<string> {
  const entered = network.enter({ file: "/bin/bash", args: ["-c", script], env: {}, cwd: "/" });
  const { file, args } = await commandChain(entered);
  return (await promisify(execFile)(file, args)).stdout;
}

const read = (port: number) => `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`;

test("programs in a network reach the host through its ports, and no other network", async (context) => {
  await needsWall(context, "bubblewrap");
  const { network } = await openNetwork([3128, 4000]);
  network.onClient((client: Socket, port) => client.end(`the host, at ${port}\n`));
  expect(await said(network, read(3128))).toBe("the host, at 3128\n");
  expect(await said(network, read(4000))).toBe("the host, at 4000\n");
  expect(await said(network, "cat /proc/net/dev | grep -c :")).toBe("1\n");
  expect(await said(network, `(${read(4001)}) 2>/dev/null || echo refused`)).toBe("refused\n");
});

test("a closed network leaves no process, socket or open file", async (context) => {
  await needsWall(context, "bubblewrap");
  const files = async () => (await readdir(`/proc/${process.pid}/fd`)).length;
  await openNetwork([3128]).then(({ network }) => network.close());
  const before = await files();
  const { network, folder } = await openNetwork([3128]);
  await network.close();
  await expect.poll(files).toBeLessThanOrEqual(before);
  expect(existsSync(join(folder, "sockets"))).toBe(false);
  await expect.poll(async () => {
    const { stdout } = await promisify(execFile)("ps", ["-eo", "args"]);
    return stdout.split("\n").filter((row) => row.includes(folder)).length;
  }).toBe(0);
});

test("an opener that fails says why", async (context) => {
  await needsWall(context, "bubblewrap");
  // No opener can open this port, so the runtime's is tried last and says why.
  await expect(openOwnNetwork({ ports: [99_999], folder: "/nowhere" })).rejects
    .toMatchObject({ code: "unavailable", message: expect.stringMatching(/network\.js|99999/) });
});

test("the runtime opens a network where nothing lighter can", async (context) => {
  await needsWall(context, "bubblewrap");
  const { network } = await openNetwork([3128], { light: false });
  network.onClient((client: Socket) => client.end("the host\n"));
  expect(await said(network, read(3128))).toBe("the host\n");
});

// Root enters every network, so an ordinary user is needed to see that one can.
test("the runtime opens a network for a user who is not root", async (context) => {
  await needsWall(context, "bubblewrap");
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-network-"));
  folders.push(folder);
  const program = fileURLToPath(new URL("programs/open-network.mjs", import.meta.url));
  const run = "Deno" in globalThis ? ["run", "-A", "--no-lock"] : ["--no-warnings"];
  const { stdout } = await promisify(execFile)("bwrap", [
    ...["--unshare-user", "--uid", "1000", "--gid", "1000", "--dev-bind", "/", "/", "--"],
    ...[process.execPath, ...run, program, join(folder, "sockets")],
  ]);
  expect(stdout).toBe("the host of user 1000\n");
});
