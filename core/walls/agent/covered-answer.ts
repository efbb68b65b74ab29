import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { asBuffer } from "../../ground/platform/files/as-buffer.ts";
import { GrownBytes } from "../../ground/platform/files/grown-bytes.ts";
import { AnswerParser, unreadable } from "./answer-parser.ts";
import { BodyParser, endOfBody } from "./body-parser.ts";
import type { Cover } from "./cover-bytes.ts";
import type { AnswerHead, RequestHead } from "./http-head.ts";
import type { WireFollowers } from "./wire-followers.ts";
import type { WireAnswer } from "./wire.ts";

/** Fields between two neighbours, and those that this proxy sets itself. */
const dropped = /^(?:alt-svc|connection|content-length|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;

interface CoveredOptions {
  request: RequestHead;
  /** Bytes that came after the request's head. */
  rest: Buffer;
  /** Covers the keys that the request was given. */
  cover: Cover;
  followers: WireFollowers;
  /** Tells the client why it gets no answer, where none has begun. */
  refuse(error: unknown): void;
}

/** Passes the body of a request on, and the answer back with every key covered in head and body. */
export function joinCovered(client: Socket, far: Socket, options: CoveredOptions): void {
  const { request, followers, refuse } = options;
  const answer = new CoveredAnswer(client, options);
  const parser = new AnswerParser(request.method, answer);
  const fail = (error: unknown) => {
    far.off("data", take).destroy();
    followers.ended(false);
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
    if (!parser.close()) fail(unreadable("it ended early"));
  });
  sendBody(client, far, { ...options, refuse: fail });
  far.on("data", take);
}

/** Answers a request for its model. */
export async function answerInstead(
  client: Socket,
  { mostSent, answer }: WireAnswer,
  options: CoveredOptions,
): Promise<void> {
  const { followers } = options;
  const { status, headers, body } = await answer(
    await readBody(client, { ...options, most: mostSent, told: (piece) => followers.sent(piece) }),
  );
  const told = new CoveredAnswer(client, options);
  const hasNone = options.request.method === "HEAD" || status === 204 || status === 304;
  told.head({ version: "1.1", status, reason: "", headers }, { hasLength: hasNone });
  try {
    for await (const piece of hasNone ? [] : body) {
      if (client.destroyed) return;
      told.body(Buffer.from(piece));
      told.flush();
      if (client.writableNeedDrain && !client.destroyed) await room(client);
    }
    told.end();
  } catch {
    client.destroySoon();
  }
}

/** Resolves once the client has made room, or is gone. */
function room(client: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      client.off("drain", done).off("close", done);
      resolve();
    };
    client.on("drain", done).on("close", done);
  });
}

/** Lets the followers of a request that reaches no model see what it would have sent, for a few seconds. Never rejects. */
export async function showUnsent(client: Socket, options: CoveredOptions): Promise<void> {
  const { followers } = options;
  const isRead = readBody(client, { ...options, most: 0, told: (piece) => followers.unsent(piece) });
  await Promise.race([isRead.catch(() => {}), pause(unsentMs, undefined, { ref: false })]);
}

const unsentMs = 5000;

/** Passes the body of a request on, in chunks of its own, and nothing that comes after it. */
function sendBody(client: Socket, far: Socket, { request, rest, followers, refuse }: CoveredOptions): void {
  const end = endOfRequest(request);
  const isChunked = end === "chunks";
  const parser = new BodyParser(end, {
    refused: unframed,
    taker: {
      body(piece) {
        const why = followers.refused();
        if (why !== null) throw unsent(why);
        followers.sent(piece);
        if (!isChunked) return void far.write(piece);
        far.cork();
        far.write(`${piece.length.toString(16)}\r\n`, "latin1");
        far.write(piece);
        far.write("\r\n", "latin1");
        far.uncork();
      },
      end() {
        if (isChunked) far.write("0\r\n\r\n", "latin1");
      },
    },
  });
  const take = (piece: Buffer) => {
    try {
      parser.push(piece);
    } catch (error) {
      client.off("data", take);
      refuse(error);
    }
    if (far.writableNeedDrain && !far.destroyed) client.pause();
  };
  take(rest);
  far.on("drain", () => client.resume());
  onEnd(client, () => {
    if (parser.close()) far.end();
    else refuse(unframed("it ended early"));
  });
  client.on("data", take).resume();
}

/** Reads the body of a request to its end; null when it has more bytes than that. */
async function readBody(
  client: Socket,
  { request, rest, most, told }: Pick<CoveredOptions, "request" | "rest"> & { most: number; told(piece: Buffer): void },
): Promise<Buffer | null> {
  let body: GrownBytes | null = new GrownBytes();
  let isWhole = false;
  const parser = new BodyParser(endOfRequest(request), {
    refused: unframed,
    taker: {
      body(piece) {
        told(piece);
        if (body !== null && body.length + piece.length > most) body = null;
        body?.push(piece);
      },
      end: () => void (isWhole = true),
    },
  });
  parser.push(rest);
  if (!isWhole) {
    await new Promise<void>((resolve, reject) => {
      client.on("data", (piece: Buffer) => {
        try {
          parser.push(piece);
          if (isWhole) resolve();
        } catch (error) {
          reject(error);
        }
      });
      onEnd(client, () => reject(unframed("it ended early")));
      client.once("close", () => reject(unframed("it ended early")));
      client.resume();
    });
  }
  return body === null ? null : asBuffer(body.take());
}

/** Calls back once the client has sent its last byte; that may have come while nothing listened. */
function onEnd(client: Socket, call: () => void): void {
  if (client.readableEnded) call();
  else client.once("end", call);
}

function endOfRequest(request: RequestHead): number | "chunks" {
  const end = endOfBody(request);
  // Requests that say it badly were refused before.
  return end === "chunks" || typeof end === "number" ? end : 0;
}

/** Another call has spent the budget since this one's head came. */
function unsent(why: string): BulkheadError {
  return new BulkheadError("limit_exceeded", why);
}

function unframed(why: string): BulkheadError {
  return new BulkheadError("invalid_request", `Cannot send the request to the model: ${why}.`);
}

class CoveredAnswer {
  readonly #client: Socket;
  readonly #request: RequestHead;
  readonly #cover: Cover;
  readonly #followers: WireFollowers;
  readonly #body;
  #pieces: Buffer[] = [];
  #isChunked = false;
  hasBegun = false;

  constructor(client: Socket, { request, cover, followers }: CoveredOptions) {
    this.#client = client;
    this.#request = request;
    this.#cover = cover;
    this.#followers = followers;
    this.#body = cover.stream();
  }

  head({ status, reason, headers }: AnswerHead, { hasLength }: { hasLength: boolean }): void {
    this.hasBegun = true;
    const told = headers.find(([name]) => name.toLowerCase() === "content-length");
    this.#isChunked = !hasLength && this.#request.version === "1.1";
    const fields = [
      ...headers.filter(([name]) => !dropped.test(name.toLowerCase())),
      // An answer without a body may tell the length of the one that it stands for.
      ...(told === undefined || !hasLength ? [] : [told]),
      ...(this.#isChunked ? [["Transfer-Encoding", "chunked"] as const] : []),
      ["Connection", "close"] as const,
    ].map(([name, value]) => [this.#cover.text(name), this.#cover.text(value)] as const);
    this.#followers.answered({ status, headers: fields });
    const lines = [`HTTP/1.1 ${status} ${this.#cover.text(reason)}`, ...fields.map((field) => field.join(": "))];
    this.#client.write(lines.map((line) => `${line}\r\n`).join("") + "\r\n", "latin1");
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
    this.#followers.ended(true);
  }

  #write(settled: readonly Buffer[]): void {
    const length = settled.reduce((sum, { length }) => sum + length, 0);
    if (length === 0) return;
    for (const bytes of settled) this.#followers.received(bytes);
    this.#client.cork();
    if (this.#isChunked) this.#client.write(`${length.toString(16)}\r\n`, "latin1");
    for (const bytes of settled) this.#client.write(bytes);
    if (this.#isChunked) this.#client.write("\r\n", "latin1");
    this.#client.uncork();
  }
}
