import { sendText } from "../channel/messages.ts";
import type { GuestMessage } from "../channel/protocol.ts";
import { onNextTurn } from "../runtime/next-turn.ts";
import type { BytePort } from "../runtime/threads.ts";

const batchCharacters = 32 * 1024;
const batchEvents = 256;

/** Collects events to batches of one session each; other messages go out at once, after the events before them. */
export class Outbox {
  readonly #port: BytePort;
  readonly #lane: number;
  readonly #frameBytes: number;
  #sid = 0;
  #events: string[] = [];
  #characters = 0;
  #planned = false;

  constructor(port: BytePort, options: { lane: number; frameBytes: number }) {
    this.#port = port;
    this.#lane = options.lane;
    this.#frameBytes = options.frameBytes;
  }

  /** Adds one event, given as JSON text. */
  event(sid: number, text: string): void {
    if (sid !== this.#sid) {
      this.flush();
      this.#sid = sid;
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
    if (this.#events.length === 0) return;
    const text = `{"type":"events","sid":${this.#sid},"events":[${this.#events.join(",")}]}`;
    this.#events = [];
    this.#characters = 0;
    this.#post(text);
  }

  /** Sends any other message, after the events before it. */
  send(message: Exclude<GuestMessage, { type: "events" }>): void {
    this.flush();
    this.#post(JSON.stringify(message));
  }

  #post(text: string): void {
    sendText(text, { lane: this.#lane, frameBytes: this.#frameBytes, post: (frame) => this.#port.post(frame) });
  }
}
