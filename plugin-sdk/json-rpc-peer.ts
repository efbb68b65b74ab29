import { fieldsOf, fieldsOrNone, type JsonFields, stringOf } from "./json-fields.ts";

/** An error answer, the peer's or ours (JSON-RPC 2.0). */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Codes of error answers. */
export const rpcCodes = {
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  notFound: -32002,
  cancelled: -32800,
} as const;

/** A request of the peer. */
interface PeerRequest {
  id: string | number;
  params: JsonFields;
}

/** Answers a method of the peer's requests. */
type AnswerRequest = (request: PeerRequest) => unknown;

type Id = string | number;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * Requests to an agent and from it, as JSON-RPC. The protocol's own library would bring a schema library of half a
 * megabyte into the compartment of every session, and each session's start and memory would pay for it; what is used of
 * an agent's messages is checked where it is read.
 */
export class JsonRpcPeer {
  readonly #send: (message: object) => Promise<void>;
  readonly #answers = new Map<string, AnswerRequest>();
  readonly #waiting = new Map<Id, Waiting>();
  #lastId = -1;
  /** The last message under way: a long one is written in pieces, and none may come between them. */
  #sending: Promise<void> = Promise.resolve();
  #ended = false;

  /** @param send Resolves when the agent's side took the message. */
  constructor(send: (message: object) => Promise<void>) {
    this.#send = send;
  }

  /** Answers the agent's requests of a method from now on. */
  onRequest(method: string, answer: AnswerRequest): void {
    this.#answers.set(method, answer);
  }

  /**
   * Asks the agent.
   * @throws {RpcError} the agent's error answer; another error when it is gone
   */
  async request(method: string, params: object): Promise<unknown> {
    if (this.#ended) throw closed();
    const id = ++this.#lastId;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    // A message that could not be sent ends the conversation, and with it what waits here.
    this.#post({ id, method, params }).catch(() => {});
    return await answer;
  }

  /** Tells the agent something. */
  async notify(method: string, params: object): Promise<void> {
    if (this.#ended) throw closed();
    await this.#post({ method, params });
  }

  /** Takes a message of the agent that has an id: a request, or the answer to one of ours. */
  receive(message: JsonFields): void {
    if (this.#ended) return;
    const { id } = message;
    const method = stringOf(message["method"]);
    if (method === null) this.#settle(message);
    else if (typeof id === "string" || typeof id === "number") void this.#answer(method, { id, message });
  }

  /** The agent says no more: fails what still waits for an answer. */
  end(): void {
    this.#ended = true;
    for (const { reject } of this.#waiting.values()) reject(closed());
    this.#waiting.clear();
  }

  #post(message: object): Promise<void> {
    const sent = this.#sending.then(() => this.#send({ jsonrpc: "2.0", ...message }));
    this.#sending = sent.catch(() => {});
    return sent;
  }

  #settle({ id: said, result, error }: JsonFields): void {
    // Some agents give the number of a request back as a text.
    const id = typeof said === "string" && /^\d{1,15}$/.test(said) ? Number(said) : said as Id;
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    const failure = fieldsOf(error);
    if (failure === null) return waiting.resolve(result);
    const code = typeof failure["code"] === "number" ? failure["code"] : rpcCodes.internal;
    waiting.reject(new RpcError(code, stringOf(failure["message"]) ?? "", failure["data"]));
  }

  async #answer(method: string, { id, message }: { id: Id; message: JsonFields }): Promise<void> {
    const answer = this.#answers.get(method);
    let said: { result: unknown } | { error: object };
    try {
      if (answer === undefined) throw new RpcError(rpcCodes.methodNotFound, `"Method not found": ${method}`);
      said = { result: await answer({ id, params: fieldsOrNone(message["params"]) }) };
    } catch (thrown) {
      said = { error: errorAnswer(thrown) };
    }
    if (!this.#ended) await this.#post({ id, ...said }).catch(() => {});
  }
}

function errorAnswer(thrown: unknown): object {
  if (!(thrown instanceof RpcError)) return { code: rpcCodes.internal, message: "Internal error" };
  const { code, message, data } = thrown;
  return data === undefined ? { code, message } : { code, message, data };
}

function closed(): Error {
  return new Error("The connection is closed.");
}
