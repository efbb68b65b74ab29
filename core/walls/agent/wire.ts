import type { Buffer } from "node:buffer";
import type { HttpFields } from "./http-head.ts";

/** Follows the calls of a session's programs to their models, and may answer them. */
export interface Wire {
  /**
   * Called for each request before a connection to the model opens. All calls are synchronous.
   * @returns what follows the exchange, or what answers it: then no model is asked, nor a later wire of the same list
   */
  begin(request: WireRequest): WireFollower | WireAnswer | null;
}

/** A request as the program sent it: with stand-ins instead of keys. */
export interface WireRequest {
  method: string;
  /** Path and query below the model's address. */
  path: string;
  headers: HttpFields;
  /** The model's address. */
  base: string;
}

/** Head of an answer, with its keys covered. */
export interface WireHead {
  status: number;
  headers: HttpFields;
}

/** Follows one exchange as its bytes pass. It must not keep a piece, whose memory is used again. */
export interface WireFollower {
  /** Returns why no more of the request may go out; null while it may. Asked before each part of the body. */
  refused?(): string | null;
  /** The next bytes of the request's body, without the marks of its chunks. */
  sent?(piece: Buffer): void;
  /** The same of a request that reached no model. */
  unsent?(piece: Buffer): void;
  answered?(head: WireHead): void;
  /** The next bytes of the answer's body, without the marks of its chunks, and with its keys covered. */
  received?(piece: Buffer): void;
  /** Whether the answer has told all that is read of it: little more will come. */
  isComplete?(): boolean;
  /** Called once, last. @param isWhole whether the answer came to its end and was passed on */
  ended?(isWhole: boolean): void;
}

/** Answers in the model's stead. */
export interface WireAnswer {
  /** Bytes of the request's body that the answer depends on. */
  mostSent: number;
  /** @param sent the request's body; null when it was longer than that */
  answer(sent: Buffer | null): GivenAnswer | Promise<GivenAnswer>;
}

/** An answer that no model gave. Its pieces are sent as they come. */
export interface GivenAnswer extends WireHead {
  body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}
