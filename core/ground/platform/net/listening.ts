import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Lets a server listen; rejects with the system's error. */
export async function listening(
  server: Server,
  where: { port: number; host: string } | { path: string },
): Promise<void> {
  const ready = once(server, "listening");
  server.listen(where);
  await ready;
}

/** Port of a server that listens; 0 for one at a path. */
export function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** True when this process could listen at a port of 127.0.0.1. */
export function portIsFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
