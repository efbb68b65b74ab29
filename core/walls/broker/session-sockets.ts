import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { MessageSocket } from "../../ground/platform/net/web-socket.ts";
import { within } from "../../ground/platform/engine/within.ts";

interface Entry {
  socket: MessageSocket;
  reading: boolean;
}

/** How long far ends have for their part of a close at the end of a session. Milliseconds. */
const farewellMs = 500;

/** The WebSockets of one session. */
export class SessionSockets {
  readonly #most: number;
  /** Those that the adapter may still read; one that is closed and not read out holds what waits in it. */
  readonly #entries = new Map<number, Entry>();
  /** Those that the adapter is done with and that are not gone yet. */
  readonly #left = new Set<MessageSocket>();
  #lastId = 0;
  #opening = 0;
  #over = false;

  /** @param options `most`: how many there may be at once; also one that is being opened, closed or not read out counts */
  constructor({ most }: { most: number }) {
    this.#most = most;
  }

  /**
   * Opens one and gives its id.
   * @throws {BulkheadError} `limit_exceeded`, `interrupted`, and what `open` throws
   */
  async add(open: () => Promise<MessageSocket>): Promise<number> {
    if (this.#entries.size + this.#left.size + this.#opening >= this.#most) {
      const message = `Cannot open another WebSocket: ${this.#most} of the session are open or not read out.`;
      throw new BulkheadError("limit_exceeded", message, { details: { sockets: this.#most } });
    }
    this.#opening += 1;
    try {
      const socket = await open();
      if (this.#over) {
        socket.destroy();
        throw new BulkheadError("interrupted", "Cannot open a WebSocket: the session is over.");
      }
      this.#entries.set(++this.#lastId, { socket, reading: false });
      return this.#lastId;
    } finally {
      this.#opening -= 1;
    }
  }

  /** The messages that wait, at least one; null at the end and ever after. */
  async read(id: number): Promise<string[] | null> {
    const entry = this.#find(id);
    if (entry === null) return null;
    if (entry.reading) {
      throw new BulkheadError("invalid_request", "Cannot read a WebSocket twice at once: the first read still waits.");
    }
    entry.reading = true;
    try {
      const messages = await entry.socket.read();
      if (messages === null) this.#drop(id);
      return messages;
    } catch (error) {
      this.#drop(id);
      throw error;
    } finally {
      entry.reading = false;
    }
  }

  /** @throws {BulkheadError} `network_error`, `too_large`, `limit_exceeded`, `not_found` */
  async send(id: number, text: string): Promise<void> {
    const entry = this.#find(id);
    if (entry !== null) return await entry.socket.send(text);
    throw new BulkheadError("network_error", "Cannot send a message: the connection is closed.");
  }

  /** Resolves when it is gone. */
  async close(id: number, { code, reason }: { code: number; reason: string }): Promise<void> {
    const entry = this.#find(id);
    this.#drop(id);
    await entry?.socket.close(code, reason);
  }

  /** Tells each far end that it is over, and cuts those that take too long to answer. */
  async closeAll(): Promise<void> {
    this.#over = true;
    for (const id of [...this.#entries.keys()]) this.#drop(id);
    const closing = Promise.all([...this.#left].map((socket) => socket.close(1001)));
    if (await within(closing, farewellMs)) return;
    for (const socket of this.#left) socket.destroy();
    await closing;
  }

  #drop(id: number): void {
    const socket = this.#entries.get(id)?.socket;
    this.#entries.delete(id);
    if (socket === undefined) return;
    this.#left.add(socket);
    void socket.closed.then(() => this.#left.delete(socket));
  }

  /** Null for one that is closed. */
  #find(id: number): Entry | null {
    const entry = this.#entries.get(id);
    if (entry !== undefined) return entry;
    if (id <= this.#lastId) return null;
    throw new BulkheadError("not_found", `Cannot find WebSocket ${id}: the session has not opened it.`);
  }
}
