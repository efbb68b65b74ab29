import type { AdapterContext } from "bulkhead/plugin-sdk";
import type { Transport } from "./transport.ts";
import { HttpTransport } from "./http-transport.ts";
import type { RemoteAgent } from "./remote-agent.ts";
import { SocketTransport } from "./socket-transport.ts";

/** The way to an agent that its address names. */
export function remoteTransport(agent: RemoteAgent, ctx: AdapterContext): Transport {
  return /^wss?:/i.test(agent.url) ? new SocketTransport(agent, ctx) : new HttpTransport(agent, ctx);
}
