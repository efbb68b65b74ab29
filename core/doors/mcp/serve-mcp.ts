import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { parseJSONRPCMessage } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import {
  type ByteWire,
  type JsonObject,
  type MessageBounds,
  readMessages,
  writeMessage,
} from "../../ground/checks/json-wire.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { bulkheadSurface, type SurfaceDeps } from "./bulkhead-surface.ts";
import { Listeners } from "./listening.ts";
import { createServer, type McpSurface } from "./surface.ts";

/** Options of {@link serveMcp}. */
export interface ServeMcpOptions extends Omit<SurfaceDeps, "client"> {
  wire: ByteWire;
  /** Default: everything that Bulkhead offers. */
  surface?: McpSurface;
  bounds?: MessageBounds;
  /** Ends the service. */
  signal?: AbortSignal;
}

/** Serves one client until it goes away or the signal aborts; then cancels the running calls. */
export async function serveMcp(options: ServeMcpOptions): Promise<void> {
  const { wire, surface = bulkheadSurface(options), bounds = defaultLimits, signal } = options;
  const transport = new WireTransport(wire, { bounds, surface });
  const service = serveStdio(({ era }) => createServer(surface, era), { transport });
  const end = () => void service.close();
  signal?.addEventListener("abort", end, { once: true });
  if (signal?.aborted) end();
  await transport.closed;
  signal?.removeEventListener("abort", end);
  await service.close();
}

class WireTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly closed: Promise<void>;
  readonly #wire: ByteWire;
  readonly #bounds: MessageBounds;
  readonly #surface: McpSurface;
  readonly #listeners = new Listeners();
  #close!: () => void;
  #open = true;

  constructor(wire: ByteWire, { bounds, surface }: { bounds: MessageBounds; surface: McpSurface }) {
    this.#wire = wire;
    this.#bounds = bounds;
    this.#surface = surface;
    this.closed = new Promise((resolve) => (this.#close = resolve));
  }

  async start(): Promise<void> {
    void this.#read();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#open) return;
    const begun = this.#listeners.acknowledgedBy(message);
    await writeMessage(this.#wire, begun?.listening.acknowledged(begun.notification) ?? message);
    begun?.listening.start((news) => this.send(news));
  }

  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#listeners.close();
    this.onclose?.();
    this.#close();
  }

  async #read(): Promise<void> {
    try {
      for await (const message of readMessages(this.#wire, this.#bounds)) {
        if (!this.#open) return;
        await this.#take(message);
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
    await this.close();
  }

  async #take(message: JsonObject): Promise<void> {
    let parsed: JSONRPCMessage;
    try {
      parsed = parseJSONRPCMessage(message);
    } catch {
      const id = typeof message["id"] === "string" || typeof message["id"] === "number" ? message["id"] : null;
      const error = { code: -32600, message: "Cannot take the message: it is no JSON-RPC 2.0 message." };
      return await writeMessage(this.#wire, { jsonrpc: "2.0", id, error });
    }
    const taken = await this.#listeners.take(parsed, this.#surface);
    if ("answer" in taken) return await writeMessage(this.#wire, taken.answer);
    this.onmessage?.(taken.pass);
  }
}
