import {
  type AdapterContext,
  BatchQueue,
  BulkheadError,
  type FetchResponse,
  fieldsOrNone,
  type JsonFields,
  parseJson,
  SseReader,
  textOf,
} from "bulkhead/plugin-sdk";
import type { Transport } from "./transport.ts";
import { hostOf, type RemoteAgent } from "./remote-agent.ts";

/**
 * Messages by HTTP, as the protocol's draft has it: each message to the agent is a POST, and what it says comes as
 * server-sent events, on one stream for the connection and one for the session.
 */
export class HttpTransport implements Transport {
  readonly messages: AsyncIterable<readonly string[]>;
  readonly #ctx: AdapterContext;
  readonly #agent: RemoteAgent;
  readonly #queue = new BatchQueue<string>();
  readonly #open = new Set<AsyncIterator<string>>();
  #connection: string | null = null;
  #session: string | null = null;
  #closed = false;
  #closing: Promise<void> | null = null;

  constructor(agent: RemoteAgent, ctx: AdapterContext) {
    this.#agent = agent;
    this.#ctx = ctx;
    this.messages = this.#queue.batches();
  }

  /**
   * Sends a message; the first one opens the connection.
   * @throws {BulkheadError} `permission_denied`, `network_error`, `unavailable`, `rate_limit`
   */
  async send(text: string): Promise<void> {
    if (this.#connection === null) return await this.#connect(text);
    const { params, method } = fieldsOrNone(parseJson(text));
    const session = textOf(fieldsOrNone(params)["sessionId"]);
    // Its stream is there before anything is asked in it.
    if (session !== undefined && this.#session === null) await this.#listenIn(session);
    const inSession = session ?? (method === undefined ? this.#session ?? undefined : undefined);
    const response = await this.#fetch("POST", { session: inSession, body: text });
    await leave(response);
  }

  /** All callers wait for the same end: a session that ended earlier would abort the closing request. */
  close(): Promise<void> {
    return this.#closing ??= this.#leave();
  }

  async #leave(): Promise<void> {
    this.#closed = true;
    this.#queue.end();
    if (this.#connection !== null) await this.#fetch("DELETE", {}).then(leave).catch(() => {});
    await Promise.allSettled([...this.#open].map((reading) => reading.return?.()));
  }

  /** The answer to the first message comes as the answer to its POST. */
  async #connect(text: string): Promise<void> {
    const response = await this.#fetch("POST", { body: text });
    const connection = response.headers["acp-connection-id"];
    const answer = await response.text();
    if (connection === undefined) {
      throw new BulkheadError(
        "unavailable",
        `What answers at ${hostOf(this.#agent)} does not speak the Agent Client Protocol.`,
      );
    }
    this.#connection = connection;
    await this.#listen(undefined);
    this.#queue.push([answer]);
  }

  async #listenIn(session: string): Promise<void> {
    this.#session = session;
    await this.#listen(session);
  }

  /** Opens a stream of the agent's messages, and reads it in the background. */
  async #listen(session: string | undefined): Promise<void> {
    const response = await this.#fetch("GET", { session });
    void this.#read(response).then(() => this.#queue.end(), (thrown) => this.#queue.end({ thrown }));
  }

  async #read({ body }: FetchResponse): Promise<void> {
    const events = new SseReader();
    const reading = body[Symbol.asyncIterator]();
    this.#open.add(reading);
    for (let next = await reading.next(); !next.done && !this.#closed; next = await reading.next()) {
      this.#queue.push(events.take(next.value));
      await this.#queue.drained();
    }
    this.#queue.push(events.end());
  }

  async #fetch(
    method: "GET" | "POST" | "DELETE",
    { session, body }: { session?: string | undefined; body?: string },
  ): Promise<FetchResponse> {
    const { url, secret } = this.#agent;
    const response = await this.#ctx.fetch(url, {
      method,
      headers: {
        ...(method === "POST" ? { "content-type": "application/json" } : {}),
        ...(method === "GET" ? { accept: "text/event-stream" } : {}),
        ...(this.#connection === null ? {} : { "acp-connection-id": this.#connection }),
        ...(session === undefined ? {} : { "acp-session-id": session }),
        ...(secret === undefined ? {} : { authorization: `Bearer ${await this.#ctx.secrets.use(secret)}` }),
      },
      ...(body === undefined ? {} : { body }),
    });
    if (response.ok) return response;
    const said = (await response.text().catch(() => "")).trim().slice(0, 512);
    const code = response.status === 429 ? "rate_limit" : "unavailable";
    const why = said === "" ? "" : `: ${messageOf(said)}`;
    throw new BulkheadError(code, `The agent at ${hostOf(this.#agent)} answered with status ${response.status}${why}.`);
  }
}

/** Returns the message of an error's body, JSON or plain text. */
function messageOf(said: string): string {
  const fields: JsonFields = fieldsOrNone(parseJson(said));
  return textOf(fieldsOrNone(fields["error"])["message"]) ?? textOf(fields["message"]) ?? said;
}

/** Discards a body: an unread one holds its connection open. */
async function leave({ body }: FetchResponse): Promise<void> {
  await body[Symbol.asyncIterator]().return?.();
}
