import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { createMcpHttp } from "../../../core/doors/mcp/http.ts";
import { ScriptedHost } from "../../sessions/host/scripted-session-host.ts";
import { noWorkspaces } from "../../doors/mcp/mcp-client.ts";
import { conformanceSurface } from "./mcp-surface.ts";

/** A server of the door's HTTP endpoint on a free loopback port. */
export interface ConformanceServer extends AsyncDisposable {
  url: string;
}

/** Serves the endpoint with what the suite asks for. */
export async function startServer(): Promise<ConformanceServer> {
  const sessions = new ScriptedHost(async () => {});
  const door = createMcpHttp({
    surface: conformanceSurface,
    hostnames: ["localhost", "127.0.0.1", "[::1]"],
  });
  const server = createServer((incoming, outgoing) => {
    void door.handle(requestOf(incoming), { client: "conformance", sessions, workspaces: noWorkspaces }).then((
      response,
    ) => answer(response, outgoing));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      await door.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function requestOf(incoming: IncomingMessage): Request {
  const { method = "GET", headers, url = "/" } = incoming;
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]]
  );
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(new URL(url, `http://${headers.host}`), {
    method,
    headers: given,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: "half" as const } : {}),
  });
}

async function answer(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  const reader = response.body?.getReader();
  outgoing.on("close", () => void reader?.cancel().catch(() => {}));
  for (let step = await reader?.read(); step !== undefined && !step.done; step = await reader?.read()) {
    outgoing.write(step.value);
  }
  outgoing.end();
}
