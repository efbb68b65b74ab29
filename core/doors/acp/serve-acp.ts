import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { type ByteWire, type MessageBounds, readMessages, writeMessage } from "../../ground/checks/json-wire.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { type AcpAgentOptions, createAcpAgent } from "./agent.ts";

/** Options of {@link serveAcp}. */
export interface ServeAcpOptions extends AcpAgentOptions {
  wire: ByteWire;
  bounds?: MessageBounds;
  signal?: AbortSignal;
}

/** Serves one client until it goes away or the signal aborts; then ends the sessions that it started. */
export async function serveAcp({ wire, bounds = defaultLimits, signal, ...options }: ServeAcpOptions): Promise<void> {
  const { app, close } = createAcpAgent(options);
  const connection = app.connect(messageStream(wire, bounds));
  const end = () => connection.close();
  signal?.addEventListener("abort", end, { once: true });
  if (signal?.aborted) end();
  await connection.closed;
  signal?.removeEventListener("abort", end);
  await close();
}

function messageStream(wire: ByteWire, bounds: MessageBounds): Stream {
  const messages = readMessages(wire, bounds);
  return {
    readable: new ReadableStream<AnyMessage>({
      async pull(controller) {
        const step = await messages.next().catch(() => ({ done: true as const, value: undefined }));
        // The library itself answers objects that are not messages of the protocol.
        if (step.done) controller.close();
        else controller.enqueue(step.value as unknown as AnyMessage);
      },
    }),
    writable: new WritableStream<AnyMessage>({ write: (message) => writeMessage(wire, message) }),
  };
}
