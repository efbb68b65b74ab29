import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { constants } from "node:os";
import process from "node:process";
import { type RelayOptions, relayVariable } from "./relay-options.ts";

/**
 * Joins a port of this loopback to the one socket of the host's proxy, starts the program of the command line and ends as
 * it ends. Runs inside an agent's walls, where there is no other network.
 */
export async function relay(): Promise<void> {
  const options = JSON.parse(process.env[relayVariable] ?? "{}") as RelayOptions;
  delete process.env[relayVariable];
  await Promise.all([
    listen(options.proxy_port, (client) => join(client, connect(options.socket))),
    // For programs that use no proxy for the machine itself.
    ...options.local_ports.map((port) => listen(port, (client) => void tunnel(client, { port, options }))),
  ]);
  const [program = "", ...args] = process.argv.slice(2);
  const child = spawn(program, args, { stdio: "inherit" });
  // The agent is asked to end by itself; this process ends when it has.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  child.once("error", (error) => {
    process.stderr.write(`Cannot start ${program}: ${error.message}\n`);
    process.exit(127);
  });
  child.once(
    "exit",
    (code, signal) => process.exit(signal === null ? code ?? 1 : 128 + (constants.signals[signal] ?? 15)),
  );
}

async function listen(port: number, take: (client: Socket) => void): Promise<void> {
  const server = createServer({ allowHalfOpen: true }, take);
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
}

function join(client: Socket, far: Socket): void {
  far.allowHalfOpen = true;
  client.pipe(far).pipe(client);
  for (const [one, other] of [[client, far], [far, client]] as const) {
    one.on("error", () => other.destroy());
    one.once("close", () => other.destroySoon());
  }
}

async function tunnel(client: Socket, { port, options }: { port: number; options: RelayOptions }): Promise<void> {
  const far = connect(options.socket);
  client.pause();
  client.on("error", () => far.destroy());
  far.on("error", () => client.destroy());
  const login = Buffer.from(`session:${options.token}`).toString("base64");
  far.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nProxy-Authorization: Basic ${login}\r\n\r\n`);
  let head = Buffer.alloc(0);
  for (;;) {
    const [piece] = await once(far, "data") as [Buffer];
    head = Buffer.concat([head, piece]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) continue;
    if (!head.toString("latin1", 0, 13).endsWith(" 200 ")) return void client.destroy();
    client.write(head.subarray(end + 4));
    return join(client, far);
  }
}
