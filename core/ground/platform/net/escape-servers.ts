import { listening, portOf } from "./listening.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";

/** Servers that an agent's program tries to reach from inside its walls; all answer with the same word. */
export interface EscapeServers {
  port: number;
  /** A second server, which the program may reach. */
  allowedPort: number;
  udpPort: number;
  /** Pid of a process of this user, with the word in its environment. */
  victim: number;
  /** This machine's address in its network; of the machine itself where it has no other. */
  address: string;
  /** Whether the victim still runs. */
  victimLives(): boolean;
  close(): Promise<void>;
}

/**
 * Starts servers on this machine's loopback, on a unix socket and on one without a file, and a process beside them.
 * @param answer the word
 * @param folder working directory of the process, and the folder of the socket `neighbour`
 */
export async function startEscapeServers(answer: string, folder: string): Promise<EscapeServers> {
  const serve = () =>
    createServer((socket) => void socket.on("error", () => {}).end(`HTTP/1.0 200 OK\r\n\r\n${answer}\n`));
  const [tcp, allowed, unix, abstract] = [serve(), serve(), serve(), serve()];
  const udp = createSocket("udp4", (_, from) => udp.send(answer, from.port, from.address));
  const victim = spawn("sleep", ["600"], { cwd: folder, env: { WORD: answer }, stdio: "ignore", detached: true });
  await once(victim, "spawn");
  await Promise.all([
    listening(tcp, { port: 0, host: "::" }).catch(() => listening(tcp, { port: 0, host: "0.0.0.0" })),
    listening(allowed, { port: 0, host: "127.0.0.1" }),
    listening(unix, { path: `${folder}/neighbour` }),
    // Only Linux has sockets without a file.
    listening(abstract, { path: `\0bulkhead-escape-${victim.pid}` }).catch(() => {}),
    new Promise<void>((resolve) => udp.bind(0, "127.0.0.1", resolve)),
  ]);
  const own = Object.values(networkInterfaces()).flat().find((one) => one?.family === "IPv4" && !one.internal);
  return {
    port: portOf(tcp),
    allowedPort: portOf(allowed),
    udpPort: udp.address().port,
    victim: victim.pid ?? 0,
    address: own?.address ?? "127.0.0.1",
    victimLives: () => victim.exitCode === null && victim.signalCode === null,
    close: () => close([tcp, allowed, unix, abstract], udp, victim),
  };
}

async function close(servers: readonly Server[], udp: UdpSocket, victim: ChildProcess): Promise<void> {
  const gone = victim.exitCode === null && victim.signalCode === null ? once(victim, "exit") : null;
  victim.kill("SIGKILL");
  udp.close();
  await gone;
  // One runtime does not report the end of a server that had connections.
  for (const server of servers) server.close();
}
