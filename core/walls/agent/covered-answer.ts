import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { AnswerParser } from "./answer-parser.ts";
import type { Cover } from "./cover-bytes.ts";
import type { AnswerHead, RequestHead } from "./http-head.ts";

/** Fields between two neighbours, and those that this proxy sets itself. */
const dropped = /^(?:alt-svc|connection|content-length|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;

interface CoveredOptions {
  request: RequestHead;
  /** Covers the keys that the request was given. */
  cover: Cover;
  /** Tells the client why it gets no answer, where none has begun. */
  refuse(error: unknown): void;
}

/** Passes the rest of a request on, and the answer back with every key covered in head and body. */
export function joinCovered(client: Socket, far: Socket, { request, cover, refuse }: CoveredOptions): void {
  const answer = new CoveredAnswer(client, { request, cover });
  const parser = new AnswerParser(request.method, answer);
  const fail = (error: unknown) => {
    far.off("data", take).destroy();
    if (answer.hasBegun) client.destroySoon();
    else refuse(error);
  };
  const take = (piece: Buffer) => {
    try {
      parser.push(piece);
      answer.flush();
      // The client makes room: until then the far end waits.
      if (client.writableNeedDrain && !client.destroyed) far.pause();
    } catch (error) {
      fail(error);
    }
  };
  for (const socket of [client, far]) socket.setNoDelay(true);
  client.on("drain", () => far.resume());
  client.once("close", () => far.destroy());
  far.once("close", () => client.destroySoon());
  far.once("end", () => {
    if (!parser.close()) fail(new Error("The model's answer ended early."));
  });
  client.pipe(far);
  far.on("data", take);
}

class CoveredAnswer {
  readonly #client: Socket;
  readonly #request: RequestHead;
  readonly #cover: Cover;
  readonly #body;
  #pieces: Buffer[] = [];
  #isChunked = false;
  hasBegun = false;

  constructor(client: Socket, { request, cover }: Pick<CoveredOptions, "request" | "cover">) {
    this.#client = client;
    this.#request = request;
    this.#cover = cover;
    this.#body = cover.stream();
  }

  head({ status, reason, headers }: AnswerHead, length: number | null): void {
    this.hasBegun = true;
    const told = headers.find(([name]) => name.toLowerCase() === "content-length");
    this.#isChunked = length === null && this.#request.version === "1.1";
    const fields = [
      ...headers.filter(([name]) => !dropped.test(name.toLowerCase())),
      // An answer without a body may tell the length of the one that it stands for.
      ...(told === undefined ? [] : [told]),
      ...(this.#isChunked ? [["Transfer-Encoding", "chunked"] as const] : []),
      ["Connection", "close"] as const,
    ];
    const lines = [`HTTP/1.1 ${status} ${reason}`, ...fields.map(([name, value]) => `${name}: ${value}`)];
    this.#client.write(lines.map((line) => `${this.#cover.text(line)}\r\n`).join("") + "\r\n", "latin1");
  }

  body(piece: Buffer): void {
    this.#pieces.push(piece);
  }

  /** Writes what has come: many small chunks as one. */
  flush(): void {
    const [first, second] = this.#pieces;
    if (first === undefined) return;
    const bytes = second === undefined ? first : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#write(this.#body.push(bytes));
  }

  end(): void {
    this.flush();
    this.#write([this.#body.end()]);
    if (this.#isChunked) this.#client.end("0\r\n\r\n");
    else this.#client.end();
  }

  #write(settled: readonly Buffer[]): void {
    const length = settled.reduce((sum, { length }) => sum + length, 0);
    if (length === 0) return;
    this.#client.cork();
    if (this.#isChunked) this.#client.write(`${length.toString(16)}\r\n`, "latin1");
    for (const bytes of settled) this.#client.write(bytes);
    if (this.#isChunked) this.#client.write("\r\n", "latin1");
    this.#client.uncork();
  }
}
