import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { batchCharacters, hasMoreValues } from "../channel/count-values.ts";
import { joinBytes } from "../../ground/platform/files/join-bytes.ts";
import { EventPacker, type PieceJson } from "../../ground/checks/packed-events.ts";
import { sendText } from "../channel/messages.ts";
import type { GuestMessage } from "../channel/protocol.ts";
import { onNextTurn } from "../../ground/platform/engine/next-turn.ts";
import type { ByteChannel } from "../../ground/platform/engine/threads.ts";

const batchEvents = 256;
/** Batches up to this size travel together with the message that follows them. */
const joinedCharacters = 4096;
/** Characters of events after which a worker listens before it goes on: it waits while its pipe is full. */
const charactersInTurn = 1024 * 1024;

/** Collects events to batches of one session each; other messages go out at once, after the events before them. */
export class Outbox {
  readonly #port: ByteChannel;
  readonly #lane: number;
  readonly #frameBytes: number;
  readonly #maxValues: number;
  readonly #packer = new EventPacker();
  #sid = 0;
  #events: string[] = [];
  #characters = 0;
  #planned = false;
  /** Characters of all events since the turn began. */
  #inTurn = 0;

  /** `maxValues` are the JSON values of one call. */
  constructor(port: ByteChannel, options: { lane: number; frameBytes: number; maxValues?: number }) {
    this.#port = port;
    this.#lane = options.lane;
    this.#frameBytes = options.frameBytes;
    this.#maxValues = options.maxValues ?? Infinity;
  }

  /** True when so much was sent in this turn that messages to the worker should be read before more is. */
  get isFull(): boolean {
    return this.#inTurn >= charactersInTurn;
  }

  /** Adds one event, given as JSON text. */
  event(sid: number, text: string): void {
    this.#prepare(sid, text.length);
    // A string that an adapter yields is no event, and would be taken for the text of one: it begins a list.
    if (text.startsWith('"')) this.flush();
    this.#packer.restart();
    this.#push(text);
  }

  /** Adds a small piece of output. */
  piece(sid: number, piece: PieceJson): void {
    this.#prepare(sid, piece.head.length + piece.text.length + 1);
    this.#push(this.#packer.piece(piece));
  }

  /** Sends what one more event of that length has no room beside. */
  #prepare(sid: number, characters: number): void {
    this.#planFlush();
    this.#inTurn += characters;
    if (sid !== this.#sid) {
      this.flush();
      this.#sid = sid;
    }
    // A batch never outgrows a frame because of one more event, and a large event travels alone.
    const most = Math.min(batchCharacters, this.#frameBytes / 4);
    if (this.#characters > 0 && this.#characters + characters > most) this.flush();
  }

  #push(item: string): void {
    this.#events.push(item);
    this.#characters += item.length;
    if (this.#characters >= batchCharacters || this.#events.length >= batchEvents) this.flush();
  }

  #planFlush(): void {
    if (this.#planned) return;
    this.#planned = true;
    onNextTurn(() => {
      this.#planned = false;
      this.#inTurn = 0;
      this.flush();
    });
  }

  /** Sends what was collected. */
  flush(): void {
    if (this.#events.length > 0) this.#post(this.#takeBatch(), (frame) => this.#port.post(frame));
  }

  /**
   * Sends any other message, after the events before it.
   * @throws {BulkheadError} `too_large` for a call of more values than one may have
   */
  send(message: Exclude<GuestMessage, { type: "events" }>): void {
    const text = JSON.stringify(message);
    if (message.type === "call" && hasMoreValues(text, this.#maxValues)) {
      throw new BulkheadError("too_large", `Cannot make the call: it has more than ${this.#maxValues} values.`);
    }
    if (this.#characters > joinedCharacters) this.flush();
    const frames: Uint8Array<ArrayBuffer>[] = [];
    if (this.#events.length > 0) this.#post(this.#takeBatch(), (frame) => frames.push(frame));
    this.#post(text, (frame) => frames.push(frame));
    // Each post wakes another thread, which costs more than a short session's last events and its end do.
    const joined = frames.length === 2 ? joinBytes(frames) : null;
    if (joined) this.#port.post(joined);
    else for (const frame of frames) this.#port.post(frame);
  }

  #takeBatch(): string {
    const text = `{"type":"events","sid":${this.#sid},"events":[${this.#events.join(",")}]}`;
    this.#events = [];
    this.#characters = 0;
    this.#packer.restart();
    return text;
  }

  #post(text: string, post: (frame: Uint8Array<ArrayBuffer>) => void): void {
    sendText(text, { lane: this.#lane, frameBytes: this.#frameBytes, post });
  }
}
