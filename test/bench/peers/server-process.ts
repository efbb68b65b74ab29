import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

/** Starts a server; what it says goes to where a bench's own errors go, but for its standard output. */
export function startServer(
  command: readonly string[],
  { cwd, env }: { cwd: string; env?: Record<string, string | undefined> },
): ChildProcess {
  const [program = "", ...args] = command;
  return spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "ignore"] });
}

/** Ends a server politely and waits for it. */
export async function endServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  await gone;
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
