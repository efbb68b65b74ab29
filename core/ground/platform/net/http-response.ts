import type { IncomingMessage, ServerResponse } from "node:http";

interface SendResponseOptions {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  /** How long the client may take to make room for more before its connection is closed. */
  stallMs: number;
  /** Called when the client took longer. */
  onStall(): void;
}

/**
 * Sends a web response. Reads the body no faster than the client takes it; cancels the body when the client disconnects
 * or takes nothing for too long.
 */
export async function sendResponse(
  response: Response,
  { incoming, outgoing, stallMs, onStall }: SendResponseOptions,
): Promise<void> {
  const { body } = response;
  if (outgoing.destroyed) return void await body?.cancel();
  outgoing.writeHead(response.status, [...response.headers].flat());
  if (body === null || incoming.method === "HEAD") {
    outgoing.end();
    await body?.cancel();
  } else {
    outgoing.flushHeaders();
    await pour(body, outgoing, { stallMs, onStall });
  }
  // Reads and drops the rest of an unread request body, within the request's own deadline.
  incoming.resume();
}

async function pour(
  body: ReadableStream<Uint8Array>,
  outgoing: ServerResponse,
  patience: Pick<SendResponseOptions, "stallMs" | "onStall">,
): Promise<void> {
  const reader = body.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  outgoing.once("close", cancel);
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (outgoing.destroyed) return;
      if (!outgoing.write(next.value) && !(await drained(outgoing, patience))) return;
    }
    outgoing.end();
  } catch {
    // The head is sent already: only a cut connection still signals the failure.
    outgoing.destroy();
  } finally {
    outgoing.off("close", cancel);
    cancel();
  }
}

/** Waits until the client takes more; false when it is gone or was too slow, and then the connection is closed. */
function drained(
  outgoing: ServerResponse,
  { stallMs, onStall }: Pick<SendResponseOptions, "stallMs" | "onStall">,
): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (open: boolean) => {
      clearTimeout(stalled);
      outgoing.off("drain", onDrain);
      outgoing.off("close", onClose);
      if (!open) outgoing.destroy();
      resolve(open);
    };
    const onDrain = () => settle(true);
    const onClose = () => settle(false);
    const stalled = setTimeout(() => {
      onStall();
      settle(false);
    }, stallMs);
    outgoing.on("drain", onDrain);
    outgoing.on("close", onClose);
  });
}
