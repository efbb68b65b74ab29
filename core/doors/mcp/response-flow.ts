import type { ServerContext } from "@modelcontextprotocol/server";
import { weightOf } from "../../walls/channel/weight.ts";
import { nextTurn } from "../../ground/platform/engine/next-turn.ts";

/** Approximate bytes that may wait for a client before its senders must wait. */
const mostUnread = 256 * 1024;

/** The streamed answers of one connection. The protocol's library would queue without limit for a slow client. */
export class ResponseFlow {
  readonly #open = new Set<{ isWaiting: boolean }>();
  #told = 0;
  #wake: (() => void)[] = [];

  /** Returns the same answer; watches a stream of events from now on. */
  watch(response: Response): Response {
    const { body } = response;
    if (body === null || !response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
    const reader = body.getReader();
    const one = { isWaiting: false };
    this.#open.add(one);
    const end = () => {
      this.#open.delete(one);
      this.#moved();
    };
    const watched = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        one.isWaiting = true;
        this.#moved();
        const next = await reader.read().catch((error: unknown) => {
          end();
          throw error;
        });
        one.isWaiting = false;
        if (!next.done) return controller.enqueue(next.value);
        end();
        controller.close();
      },
      cancel: (reason) => {
        end();
        return reader.cancel(reason);
      },
    }, { highWaterMark: 0 });
    return new Response(watched, response);
  }

  /** Counts a sent message. Returns a promise where its client must first read the queued messages. */
  told(message: unknown): Promise<void> | null {
    this.#told += weightOf(message);
    if (this.#told <= mostUnread) return null;
    this.#told = 0;
    return this.#taken();
  }

  async #taken(): Promise<void> {
    for (;;) {
      // A stream that still has data delivers it within this turn.
      await nextTurn();
      if ([...this.#open].every(({ isWaiting }) => isWaiting)) return;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  #moved(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** Returns the flow of a call's client; undefined where the transport itself applies backpressure. */
export function flowOf({ http }: ServerContext): ResponseFlow | undefined {
  const flow = http?.authInfo?.extra?.["flow"];
  return flow instanceof ResponseFlow ? flow : undefined;
}
