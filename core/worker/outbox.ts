import { batchText, extraCredit } from "../channel/credit.ts";
import { joinFrames } from "../channel/frames.ts";
import { sendText } from "../channel/messages.ts";
import type { GuestMessage } from "../channel/protocol.ts";
import { onNextTurn } from "../runtime/next-turn.ts";
import type { BytePort } from "../runtime/threads.ts";

const batchCharacters = 32 * 1024;
const batchEvents = 256;
/** Batches up to this size travel together with the message that follows them. */
const joinedCharacters = 4096;

/** Whose event it is. */
export interface EventSender {
  sid: number;
  /** Takes what the size of a batch costs beside its events. */
  charge(extra: number): void;
}

/** Collects events to batches of one session each; other messages go out at once, after the events before them. */
export class Outbox {
  readonly #port: BytePort;
  readonly #lane: number;
  readonly #frameBytes: number;
  #sid = 0;
  #events: string[] = [];
  #characters = 0;
  #charge: (extra: number) => void = () => {};
  #planned = false;

  constructor(port: BytePort, options: { lane: number; frameBytes: number }) {
    this.#port = port;
    this.#lane = options.lane;
    this.#frameBytes = options.frameBytes;
  }

  /** Adds one event, given as JSON text. */
  event(text: string, { sid, charge }: EventSender): void {
    if (sid !== this.#sid) {
      this.flush();
      this.#sid = sid;
      this.#charge = charge;
    }
    // A batch never outgrows a frame because of one more event.
    if (this.#characters > 0 && this.#characters + text.length > this.#frameBytes / 4) this.flush();
    this.#events.push(text);
    this.#characters += text.length;
    if (this.#characters >= batchCharacters || this.#events.length >= batchEvents) return this.flush();
    if (this.#planned) return;
    this.#planned = true;
    onNextTurn(() => {
      this.#planned = false;
      this.flush();
    });
  }

  /** Sends what was collected. */
  flush(): void {
    if (this.#events.length > 0) this.#post(this.#takeBatch(), (frame) => this.#port.post(frame));
  }

  /** Sends any other message, after the events before it. */
  send(message: Exclude<GuestMessage, { type: "events" }>): void {
    if (this.#characters > joinedCharacters) this.flush();
    const frames: Uint8Array<ArrayBuffer>[] = [];
    if (this.#events.length > 0) this.#post(this.#takeBatch(), (frame) => frames.push(frame));
    this.#post(JSON.stringify(message), (frame) => frames.push(frame));
    // Each post wakes another thread, which costs more than a short session's last events and its end do.
    const joined = frames.length === 2 ? joinFrames(frames) : null;
    if (joined) this.#port.post(joined);
    else for (const frame of frames) this.#port.post(frame);
  }

  #takeBatch(): string {
    const text = batchText(this.#sid, this.#events);
    this.#charge(extraCredit(this.#characters));
    this.#events = [];
    this.#characters = 0;
    return text;
  }

  #post(text: string, post: (frame: Uint8Array<ArrayBuffer>) => void): void {
    sendText(text, { lane: this.#lane, frameBytes: this.#frameBytes, post });
  }
}
