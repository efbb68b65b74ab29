import type { Meters } from "./meters.ts";
import type { Caller } from "./scopes.ts";
import type { StreamTokens } from "./stream-tokens.ts";

/** Options of {@link mountedStream}. */
interface MountedStreamOptions {
  caller: Caller;
  meters: Meters;
  streamTokens: StreamTokens;
  /** Whether it counts as a stream of events: one that only carries an answer does not. */
  counts: boolean;
}

/**
 * Applies the rules of the API's own streams to another protocol's answer: it ends when its token does, or when the
 * door closes.
 * @throws {BulkheadError} `limit_exceeded`, `host_closed`
 */
export function mountedStream(response: Response, options: MountedStreamOptions): Response {
  const { caller, meters, streamTokens, counts } = options;
  const { body } = response;
  if (body === null || !response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
  const reader = body.getReader();
  let closeStream = (): void => {};
  const end = (): void => {
    unwatch();
    closeStream();
    void reader.cancel().catch(() => {});
  };
  const unwatch = streamTokens.watch(caller, end);
  try {
    if (counts) closeStream = meters.openStream(caller, end);
  } catch (error) {
    end();
    throw error;
  }
  const held = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await reader.read().catch((error: unknown) => {
        end();
        throw error;
      });
      if (!next.done) return controller.enqueue(next.value);
      end();
      controller.close();
    },
    cancel: end,
  }, { highWaterMark: 0 });
  return new Response(held, response);
}
