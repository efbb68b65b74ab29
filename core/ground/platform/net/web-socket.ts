import type { ClientRequestArgs } from "node:http";
import { type ClientOptions, WebSocket } from "ws";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { cleanLine } from "../../log/terminal-text.ts";
import { describeFailure, pinnedLookup } from "./network.ts";

/** Options of {@link openWebSocket}. */
export interface OpenWebSocketOptions extends MessageBounds {
  headers: Record<string, string>;
  /** The addresses to connect to; the name in the URL is not looked up again. */
  addresses: readonly string[];
  /** Aborts while there is no connection yet. */
  signal: AbortSignal;
}

interface MessageBounds {
  /** Bytes of one message, either way. */
  maxMessage: number;
  /** Bytes of messages that wait for the reader before reading pauses, or for the far end before sends are refused. */
  maxWaiting: number;
}

/** Time that the far end has to close its side, before the connection is cut. Milliseconds. */
const closeWaitMs = 2000;
/** The same for a far end that broke a rule; its further messages are discarded. Milliseconds. */
const refusedWaitMs = 100;
/** Pings and pongs within a second. They wait for no reader, so nothing else limits them. */
const maxControlFrames = 100;
/** Bytes of messages in one read, unless a single one is larger. */
const maxBatch = 64 * 1024;
/** Overhead of a message in bytes. */
const messageOverhead = 64;
/** Keeps a byte order mark: the adapter gets the text as it came. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Opens a WebSocket. Follows no redirects and compresses nothing; keeps and shares no connection.
 * @throws {BulkheadError} `network_error`, with the `status` of a server that answers with anything else in its details
 */
export function openWebSocket(url: URL, options: OpenWebSocketOptions): Promise<MessageSocket> {
  const { host } = url;
  return new Promise((resolve, reject) => {
    if (options.signal.aborted) return reject(options.signal.reason);
    const socket = new WebSocket(url, settings(options));
    const abort = () => {
      reject(options.signal.reason);
      socket.terminate();
    };
    options.signal.addEventListener("abort", abort, { once: true });
    const settled = () => options.signal.removeEventListener("abort", abort);
    // Keep this listener: without one an error would be thrown at the process.
    socket.on("error", (cause) => {
      settled();
      // The library's own errors concern the server's answer.
      const why = "code" in cause ? describeFailure(cause) : "its answer breaks the rules of WebSockets";
      reject(new BulkheadError("network_error", `Cannot connect to "${host}": ${why}.`, { cause }));
    });
    socket.once("unexpected-response", (_request, { statusCode: status = 0 }) => {
      settled();
      const message = `Cannot connect to "${host}": it answered with status ${status} instead of a WebSocket.`;
      reject(new BulkheadError("network_error", message, { details: { status } }));
      socket.terminate();
    });
    socket.once("open", () => {
      settled();
      resolve(new MessageSocket(socket, { ...options, host }));
    });
  });
}

interface Message {
  text: string;
  cost: number;
}

/** One open WebSocket. Incoming messages wait in a bounded buffer; a full one pauses reading from the network. */
export class MessageSocket {
  /** Settles when the connection is gone. */
  readonly closed: Promise<void>;
  readonly #socket: WebSocket;
  readonly #host: string;
  readonly #bounds: MessageBounds;
  #messages: Message[] = [];
  #waiting = 0;
  #end: { error: BulkheadError | null } | null = null;
  #wake: (() => void) | null = null;
  #second = -Infinity;
  #controls = 0;

  /** @param socket a socket that was just opened */
  constructor(socket: WebSocket, { host, maxMessage, maxWaiting }: MessageBounds & { host: string }) {
    this.#socket = socket;
    this.#host = host;
    this.#bounds = { maxMessage, maxWaiting };
    socket.on("message", (data: Uint8Array, isBinary: boolean) => this.#take(data, isBinary));
    socket.on("ping", () => this.#countControl());
    socket.on("pong", () => this.#countControl());
    // The library has already reported the fault to the far end.
    socket.on("error", (error) => this.#refuse(this.#failure(error)));
    this.closed = new Promise((resolve) => {
      socket.once("close", (code, reason) => {
        this.#finish(this.#meaningOf(code, reason.toString()));
        resolve();
      });
    });
  }

  /**
   * The waiting messages, at least one; null once the connection was closed in order, or by this side.
   * @throws {BulkheadError} `network_error`, `too_large`, `unsupported`
   */
  async read(): Promise<string[] | null> {
    while (this.#messages.length === 0) {
      if (this.#end?.error) throw this.#end.error;
      if (this.#end) return null;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return this.#batch();
  }

  /**
   * Resolves when the system took the message.
   * @throws {BulkheadError} `network_error`, `too_large`, `limit_exceeded`
   */
  async send(text: string): Promise<void> {
    const { maxMessage, maxWaiting } = this.#bounds;
    const bytes = new TextEncoder().encode(text);
    const to = `Cannot send a message to "${this.#host}"`;
    if (bytes.byteLength > maxMessage) {
      const message = `${to}: it is larger than ${maxMessage} bytes.`;
      throw new BulkheadError("too_large", message, { details: { socket_message_bytes: maxMessage } });
    }
    const waiting = this.#socket.bufferedAmount;
    if (waiting > 0 && waiting + bytes.byteLength > maxWaiting) {
      const message = `${to}: it has not read ${waiting} bytes of earlier ones.`;
      throw new BulkheadError("limit_exceeded", message, { details: { socket_waiting_bytes: maxWaiting } });
    }
    await new Promise<void>((resolve, reject) => {
      const closed = (cause: unknown) =>
        reject(new BulkheadError("network_error", `${to}: the connection is closed.`, { cause }));
      if (this.#end) return closed(undefined);
      this.#socket.send(bytes, { binary: false }, (error) => error ? closed(error) : resolve());
    });
  }

  /** Closes the connection and discards unread messages. Resolves when it is gone, which takes at most two seconds. */
  close(code = 1000, reason = ""): Promise<void> {
    this.#leave();
    this.#socket.close(code, reason);
    return this.closed;
  }

  /** Cuts the connection at once. */
  destroy(): void {
    this.#leave();
    this.#socket.terminate();
  }

  #leave(): void {
    this.#finish(null);
    this.#messages = [];
    // A paused socket would not see the far end's close.
    this.#socket.resume();
  }

  #take(data: Uint8Array, isBinary: boolean): void {
    if (this.#end) return;
    if (isBinary) {
      const message = `"${this.#host}" sent a binary message, and only text is taken.`;
      this.#socket.close(1003);
      return this.#refuse(new BulkheadError("unsupported", message));
    }
    const cost = data.byteLength + messageOverhead;
    this.#messages.push({ text: decoder.decode(data), cost });
    this.#waiting += cost;
    if (this.#waiting >= this.#bounds.maxWaiting) this.#socket.pause();
    this.#wakeReader();
  }

  #batch(): string[] {
    let [count, cost] = [0, 0];
    for (const message of this.#messages) {
      if (count > 0 && cost + message.cost > maxBatch) break;
      count += 1;
      cost += message.cost;
    }
    this.#waiting -= cost;
    if (this.#waiting < this.#bounds.maxWaiting / 2) this.#socket.resume();
    return this.#messages.splice(0, count).map(({ text }) => text);
  }

  #countControl(): void {
    const now = Date.now();
    if (now - this.#second >= 1000) {
      this.#second = now;
      this.#controls = 0;
    }
    this.#controls += 1;
    if (this.#controls <= maxControlFrames) return;
    const message = `"${this.#host}" sent more than ${maxControlFrames} pings a second.`;
    this.#socket.close(1008);
    this.#refuse(new BulkheadError("network_error", message));
  }

  /** Closes a connection because of a bad message. */
  #refuse(error: BulkheadError): void {
    if (this.#end) return;
    this.#finish(error);
    const cut = setTimeout(() => this.#socket.terminate(), refusedWaitMs);
    void this.closed.then(() => clearTimeout(cut));
  }

  #finish(error: BulkheadError | null): void {
    this.#end ??= { error };
    this.#wakeReader();
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = null;
  }

  #failure(cause: Error): BulkheadError {
    const code = "code" in cause ? String(cause.code) : "";
    const { maxMessage } = this.#bounds;
    if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH" || code === "WS_ERR_TOO_MANY_BUFFERED_PARTS") {
      const what = code.endsWith("PARTS") ? "comes in too many pieces" : `is larger than ${maxMessage} bytes`;
      return new BulkheadError("too_large", `A message of "${this.#host}" ${what}.`, {
        details: { socket_message_bytes: maxMessage },
        cause,
      });
    }
    const why = code.startsWith("WS_ERR") ? "it broke the rules of WebSockets" : describeFailure(cause);
    return new BulkheadError("network_error", `The connection to "${this.#host}" failed: ${why}.`, { cause });
  }

  /** Null for a normal end: normal, going away, or without a code. */
  #meaningOf(code: number, reason: string): BulkheadError | null {
    if (code === 1000 || code === 1001 || code === 1005) return null;
    if (code === 1006) {
      return new BulkheadError("network_error", `The connection to "${this.#host}" broke off.`);
    }
    const said = cleanLine(reason, 123);
    const message = `"${this.#host}" closed the connection with code ${code}${said === "" ? "" : `: ${said}`}.`;
    return new BulkheadError("network_error", message, { details: { close_code: code } });
  }
}

function settings({ headers, addresses, maxMessage }: OpenWebSocketOptions): ClientOptions & ClientRequestArgs {
  const bounds = {
    maxPayload: maxMessage,
    // Each fragment of a message costs more than its bytes.
    maxFragments: 4096,
    maxBufferedChunks: 16 * 1024,
    maxPendingAutoPongs: maxControlFrames,
    closeTimeout: closeWaitMs,
  };
  return {
    ...bounds,
    headers,
    lookup: pinnedLookup(addresses),
    followRedirects: false,
    perMessageDeflate: false,
    // Explicit, so that no environment variable of the host can switch the check off.
    rejectUnauthorized: true,
  };
}
