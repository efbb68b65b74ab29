import type { Connection } from "../../../plugin-sdk/context.ts";
import { freezeClosures } from "./lockdown.ts";
import type { ScopeCall } from "../channel/operations.ts";

/** A WebSocket that the broker has opened, as adapter code sees it. */
export function makeConnection({ socket_id }: { socket_id: number }, call: ScopeCall): Connection {
  let taken = false;
  const close = async (code = 1000, reason = "") => {
    await call("socket_close", { socket_id, code: Number(code), reason: String(reason) });
  };
  return freezeClosures({
    messages: {
      [Symbol.asyncIterator]() {
        if (taken) throw new TypeError("These messages have been read already.");
        taken = true;
        return readerOf({ socket_id, call, close });
      },
    },
    send: async (text: string) => {
      await call("socket_send", { socket_id, text: String(text) });
    },
    close,
  });
}

/** The next messages are asked for ahead, so that a busy connection costs no round trip. */
function readerOf(
  { socket_id, call, close }: { socket_id: number; call: ScopeCall; close(): Promise<void> },
): AsyncIterator<string> {
  let ahead: Promise<string[] | null> | null = null;
  let batch: string[] = [];
  let at = 0;
  let over = false;
  const read = () => {
    const reading = call("socket_read", { socket_id });
    reading.catch(() => {});
    return reading;
  };
  return freezeClosures({
    next: async () => {
      while (!over && at >= batch.length) {
        const messages = await (ahead ?? read());
        ahead = messages === null ? null : read();
        over = messages === null;
        batch = messages ?? [];
        at = 0;
      }
      if (over) return { done: true as const, value: undefined };
      return { done: false as const, value: batch[at++]! };
    },
    return: async () => {
      if (!over) {
        over = true;
        await close();
      }
      return { done: true as const, value: undefined };
    },
  });
}
