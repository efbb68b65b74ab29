import type { JSONRPCNotification } from "@modelcontextprotocol/server";
import type { NewsSubscription } from "./listening.ts";

/** Adds the news of a client that listens to the stream with which the library answers it. */
export function listenStream(listening: NewsSubscription, response: Response): Response {
  const { body } = response;
  if (body === null || !response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
  const reader = body.getReader();
  const wake: (() => void)[] = [];
  let hasBegun = false;
  const end = () => {
    listening.end();
    for (const one of wake.splice(0)) one();
  };
  const pump = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const { value } = next;
      if (hasBegun) controller.enqueue(value);
      else controller.enqueue(frameOf(listening.acknowledged(messageIn(value))));
      if (!hasBegun) {
        listening.start(async (message) => {
          controller.enqueue(frameOf(message));
          if ((controller.desiredSize ?? 0) <= 0) await new Promise<void>((resolve) => wake.push(resolve));
        });
      }
      hasBegun = true;
    }
  };
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      const ended = pump(controller).then(() => controller.close(), (error: unknown) => controller.error(error));
      // A client that is gone has closed it already.
      void ended.catch(() => {}).finally(end);
    },
    pull() {
      for (const one of wake.splice(0)) one();
    },
    async cancel(reason) {
      end();
      await reader.cancel(reason);
    },
  });
  return new Response(stream, response);
}

/** The library writes each message as one piece; the first one is its acknowledgement. */
function messageIn(frame: Uint8Array): JSONRPCNotification {
  const data = /^data: (.*)$/m.exec(new TextDecoder().decode(frame));
  return JSON.parse(data?.[1] ?? "{}") as JSONRPCNotification;
}

function frameOf(message: JSONRPCNotification): Uint8Array {
  return new TextEncoder().encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}
