import { type AdapterContext, BatchQueue, BulkheadError, type Connection, errorDataOf } from "bulkhead/plugin-sdk";
import type { Transport } from "./transport.ts";
import { hostOf, type RemoteAgent } from "./remote-agent.ts";

/** Messages over a WebSocket, as the protocol's draft has it: each is one text frame, either way. */
export class SocketTransport implements Transport {
  readonly messages: AsyncIterable<readonly string[]>;
  readonly #ctx: AdapterContext;
  readonly #agent: RemoteAgent;
  readonly #queue = new BatchQueue<string>();
  #opening: Promise<Connection> | null = null;
  #connection: Connection | null = null;
  #closed = false;
  #closing: Promise<void> | null = null;

  constructor(agent: RemoteAgent, ctx: AdapterContext) {
    this.#agent = agent;
    this.#ctx = ctx;
    this.messages = this.#queue.batches();
  }

  /**
   * Sends a message; the first one opens the connection.
   * @throws {BulkheadError} `permission_denied`, `network_error`, `unavailable`, `rate_limit`, `too_large`
   */
  async send(text: string): Promise<void> {
    const connection = await (this.#opening ??= this.#open());
    await connection.send(text);
  }

  /** Resolves when the agent has taken leave as well, or took too long for it. One that is being opened is not waited for. */
  close(): Promise<void> {
    return this.#closing ??= this.#leave();
  }

  async #leave(): Promise<void> {
    this.#closed = true;
    this.#queue.end();
    await this.#connection?.close();
  }

  async #open(): Promise<Connection> {
    const { url, secret } = this.#agent;
    const headers: Record<string, string> = {};
    if (secret !== undefined) headers["authorization"] = `Bearer ${await this.#ctx.secrets.use(secret)}`;
    const connection = await this.#ctx.connect(url, { headers }).catch((thrown) => {
      throw this.#answerOf(thrown);
    });
    if (this.#closed) await connection.close();
    this.#connection = connection;
    void this.#read(connection).then(() => this.#queue.end(), (thrown) => this.#queue.end({ thrown }));
    return connection;
  }

  async #read({ messages }: Connection): Promise<void> {
    for await (const text of messages) {
      this.#queue.push([text]);
      await this.#queue.drained();
    }
  }

  /** Turns a status that came instead of a WebSocket into an error with the reason. */
  #answerOf(thrown: unknown): unknown {
    const status = errorDataOf(thrown)?.details?.["status"];
    if (typeof status !== "number") return thrown;
    const message = `The agent at ${hostOf(this.#agent)} answered with status ${status} instead of a WebSocket.`;
    return new BulkheadError(status === 429 ? "rate_limit" : "unavailable", message);
  }
}
