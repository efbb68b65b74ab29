import type { Meters } from "./meters.ts";
import type { Caller } from "./scopes.ts";
import type { TokenStore } from "./tokens.ts";

/** Options of {@link mountedStream}. */
interface MountedStreamOptions {
  caller: Caller;
  meters: Meters;
  tokens: Pick<TokenStore, "holds">;
  /** How often to check the token. Milliseconds. */
  everyMs: number;
  /** Whether it counts as a stream of events: one that only carries an answer does not. */
  counts: boolean;
}

/**
 * Applies the rules of the API's own streams to another protocol's answer: it ends when its token does, or when the
 * door closes.
 * @throws {BulkheadError} `limit_exceeded`, `host_closed`
 */
export function mountedStream(response: Response, options: MountedStreamOptions): Response {
  const { caller, meters, tokens, everyMs, counts } = options;
  const { body } = response;
  if (body === null || !response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
  const reader = body.getReader();
  let closeStream = (): void => {};
  const timer = setInterval(() => {
    void tokens.holds(caller).catch(() => false).then((holds) => holds || end());
  }, everyMs);
  const end = (): void => {
    clearInterval(timer);
    closeStream();
    void reader.cancel().catch(() => {});
  };
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
