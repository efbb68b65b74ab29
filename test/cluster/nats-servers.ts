import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { signalTo, watchEnd } from "./signal-to.ts";

/** Whether this machine has the servers' program. */
export const hasServers: boolean = spawnSync("nats-server", ["--version"]).status === 0;

/** One server process. */
export interface NatsServer {
  name: string;
  url: string;
  /** Undefined while it is down. */
  child: ChildProcess | undefined;
  start(): Promise<void>;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/** Servers that work together, on loopback. */
export interface NatsServers {
  servers: NatsServer[];
  urls: string[];
  folder: string;
  /** Removes what a server has stored; it must be down. */
  wipe(server: NatsServer): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts one server, or several that elect a leader.
 * @param more further arguments for each
 */
export async function startServers(count = 1, more: readonly string[] = []): Promise<NatsServers> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bh-nats-")));
  const ports = await freePorts(2 * count);
  // By name: certificates have no addresses.
  const routes = ports.slice(count).map((port) => `nats://localhost:${port}`);
  const servers = Array.from({ length: count }, (_, at) => {
    const [port = 0, route = 0] = [ports[at], ports[count + at]];
    const together = count === 1
      ? []
      : ["--cluster_name", "test", "--cluster", `nats://127.0.0.1:${route}`, "--routes", routes.join(",")];
    const args = [
      "-a",
      "127.0.0.1",
      "-p",
      `${port}`,
      "-n",
      `n${at}`,
      "-js",
      "-sd",
      join(folder, `n${at}`),
      ...together,
      ...more,
    ];
    return serverOf(`n${at}`, { args, port });
  });
  await Promise.all(servers.map((server) => server.start()));
  if (count > 1) await sleep(2500);
  return {
    servers,
    urls: servers.map(({ url }) => url),
    folder,
    wipe: ({ name }) => rm(join(folder, name), { recursive: true, force: true }),
    stop: async () => {
      await Promise.all(servers.map((server) => server.kill()));
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

function serverOf(name: string, { args, port }: { args: string[]; port: number }): NatsServer {
  const server: NatsServer = {
    name,
    url: `nats://127.0.0.1:${port}`,
    child: undefined,
    start: async () => {
      server.child = spawn("nats-server", args, { stdio: "ignore", env: { PATH: process.env["PATH"] ?? "" } });
      watchEnd(server.child);
      for (let tries = 0; !(await answers(port)); tries++) {
        if (tries > 200) throw new Error(`Server ${name} does not answer.`);
        await sleep(50);
      }
    },
    kill: async (signal = "SIGKILL") => {
      const { child } = server;
      server.child = undefined;
      if (child !== undefined) await signalTo(child, signal);
    },
  };
  return server;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    // A server greets.
    socket.once("data", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => resolve(false));
  });
}

async function freePorts(count: number): Promise<number[]> {
  const held = await Promise.all(
    Array.from({ length: count }, () =>
      new Promise<ReturnType<typeof createServer>>((resolve) => {
        const server = createServer().listen(0, "127.0.0.1", () => resolve(server));
      })),
  );
  const ports = held.map((server) => (server.address() as { port: number }).port);
  await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
