import type { Socket } from "node:net";

/**
 * Bounds the open connections of a server. Anyone may open many and say nothing, so when the server is full the
 * connection that has owed the headers of a request the longest makes room: a client that asks at once gets in.
 */
export class ConnectionRoom {
  readonly #most: number;
  readonly #open = new Set<Socket>();
  /** Those that owe the headers of a request, the longest first. */
  readonly #silent = new Set<Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a new connection; closes another one, or this one where every other is being served. */
  admit(socket: Socket): void {
    if (this.#open.size >= this.#most) {
      const [longest = socket] = this.#silent;
      this.#forget(longest);
      longest.destroy();
      if (longest === socket) return;
    }
    this.#open.add(socket);
    this.#silent.add(socket);
    socket.once("close", () => this.#forget(socket));
  }

  /** The headers of a request are there. */
  serving(socket: Socket): void {
    this.#silent.delete(socket);
  }

  /** It was answered, and the connection is kept for the next request. */
  served(socket: Socket): void {
    if (this.#open.has(socket)) this.#silent.add(socket);
  }

  #forget(socket: Socket): void {
    this.#open.delete(socket);
    this.#silent.delete(socket);
  }
}
