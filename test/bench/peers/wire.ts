import { Agent, type IncomingMessage, request } from "node:http";

/** One client of a server's API, as plain as can be, so that what is measured is the server. */
export class Wire {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  readonly #port: number;
  readonly #headers: Record<string, string>;

  constructor(port: number, headers: Record<string, string> = {}) {
    this.#port = port;
    this.#headers = headers;
  }

  /** Sends a body and returns the answer's. */
  async post(path: string, body: unknown): Promise<unknown> {
    const answer = await this.#send("POST", path, { accept: "application/json", body: JSON.stringify(body) });
    let text = "";
    for await (const piece of answer.setEncoding("utf8") as AsyncIterable<string>) text += piece;
    if ((answer.statusCode ?? 500) >= 300) throw new Error(`${path} answered ${answer.statusCode}: ${text}`);
    return text === "" ? null : JSON.parse(text);
  }

  /** Opens a stream of server-sent events; resolves once the server has begun its answer. */
  async events(path: string): Promise<AsyncGenerator<string[], void, void>> {
    const answer = await this.#send("GET", path, { accept: "text/event-stream" });
    if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}.`);
    return dataOf(answer);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #send(
    method: string,
    path: string,
    { accept, body }: { accept: string; body?: string },
  ): Promise<IncomingMessage> {
    const headers = { accept, ...this.#headers, ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const options = { host: "127.0.0.1", port: this.#port, method, path, headers, agent: this.#agent };
    return await new Promise((resolve, reject) => request(options, resolve).once("error", reject).end(body));
  }
}

/** The data of events, all that a piece of the answer completes at a time. Leaving the loop closes the connection. */
async function* dataOf(answer: IncomingMessage): AsyncGenerator<string[], void, void> {
  let rest = "";
  for await (const piece of answer.setEncoding("utf8") as AsyncIterable<string>) {
    const blocks = (rest + piece).split("\n\n");
    rest = blocks.pop() ?? "";
    const data = blocks.flatMap((block) => block.split("\n").filter((line) => line.startsWith("data:")));
    if (data.length > 0) yield data.map((line) => line.slice(5));
  }
}
