import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEveryTest } from "../../clean-up.ts";

/** A server on loopback that is closed after the test. */
export interface LoopbackServer {
  port: number;
  /** What was asked of it. */
  requests: IncomingMessage[];
  close(): Promise<void>;
}

const open: LoopbackServer[] = [];

afterEveryTest(async () => {
  for (const server of open.splice(0)) await server.close();
});

/** Starts a server on any free port. */
export async function serve(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<LoopbackServer> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const loopback = {
    port,
    requests,
    close: () => {
      server.closeAllConnections();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  open.push(loopback);
  return loopback;
}
