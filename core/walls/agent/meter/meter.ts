import { Buffer } from "node:buffer";
import type { QuotaWindow } from "../../../../plugin-sdk/access-modes.ts";
import type { GivenAnswer, Wire, WireFollower, WireHead } from "../wire.ts";
import { AnswerReader } from "./answer-reader.ts";
import type { CallTokens, MeteredProtocol } from "./protocol.ts";
import { callKind } from "./protocols.ts";
import { quotaWindows, retryAfter } from "./quota.ts";

/** One call of a model that has passed. */
export interface MeteredCall extends CallTokens {
  protocol: MeteredProtocol["name"];
  /** As the answer names it. */
  model: string | null;
  /** Null where no answer came. */
  status: number | null;
  /** Whether the figures are those of the whole call: an answer that broke off, or told none, is not known. */
  is_known: boolean;
  /** Its tokens by its size, for a budget where the figures are not known. */
  by_size: { tokens_in: number; tokens_out: number };
  windows: QuotaWindow[];
  /** For a call that was refused: when it may be made again, as a wait in milliseconds; null where it was not told. */
  retry_ms: number | null;
}

/** Takes what a meter sees. */
interface MeterDeps {
  /** A request sent something to the model's place; one that calls no model, too. */
  onRequest(): void;
  /** A call of a model is over. */
  onCall(call: MeteredCall): void;
  /** Returns why a call may not begin; null while it may. @param isRead whether its figures can be read */
  spent(isRead: boolean): string | null;
}

/** Bytes of one token, about: of text, and of a stream, where there is much around each word. */
const tokenBytes = { text: 4, stream: 16 };

/** Status of a refused call: programs end on it, while they try again after others. */
const refusedStatus = 400;

/** Makes a wire that reads the figures of each call of a model as it passes, and keeps and changes nothing. */
export function createMeter(deps: MeterDeps): Wire {
  return {
    begin(request) {
      const kind = callKind(request);
      if (kind === "free" && request.method !== "POST") return null;
      const protocol = typeof kind === "string" ? null : kind;
      const why = deps.spent(kind !== "unknown");
      if (why !== null) return { mostSent: 0, answer: () => refused(why, protocol) };
      if (protocol !== null) return new MeteredExchange(protocol, deps);
      return { answered: () => deps.onRequest(), refused: () => deps.spent(true) };
    },
  };
}

function refused(message: string, protocol: MeteredProtocol | null): GivenAnswer {
  const body = Buffer.from(JSON.stringify(protocol?.refusal(message) ?? { error: { message } }));
  return { status: refusedStatus, headers: [["Content-Type", "application/json"]], body: [body] };
}

class MeteredExchange implements WireFollower {
  readonly #protocol: MeteredProtocol;
  readonly #deps: MeterDeps;
  readonly #reader: AnswerReader;
  #head: WireHead | null = null;
  #wasSent = false;
  readonly #bytes = { sent: 0, received: 0 };

  constructor(protocol: MeteredProtocol, deps: MeterDeps) {
    this.#protocol = protocol;
    this.#deps = deps;
    this.#reader = new AnswerReader(protocol);
  }

  refused(): string | null {
    return this.#deps.spent(true);
  }

  sent(piece: Buffer): void {
    this.#bytes.sent += piece.length;
    this.#goesOut();
  }

  answered(head: WireHead): void {
    this.#goesOut();
    this.#head = head;
  }

  received(piece: Buffer): void {
    this.#bytes.received += piece.length;
    this.#reader.push(piece);
  }

  isComplete(): boolean {
    return this.#reader.facts.isFinal;
  }

  #goesOut(): void {
    if (!this.#wasSent) this.#deps.onRequest();
    this.#wasSent = true;
  }

  ended(isWhole: boolean): void {
    // Nothing went out.
    if (!this.#wasSent) return;
    const now = Date.now();
    const { tokens_in, tokens_out, tokens_cached, model, isFinal, retryMs } = this.#reader.facts;
    const { status = null, headers = [] } = this.#head ?? {};
    const failed = status !== null && status >= 400;
    const isRedirect = status !== null && status >= 300 && !failed;
    const type = headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
    const outBytes = type.includes("event-stream") ? tokenBytes.stream : tokenBytes.text;
    this.#deps.onCall({
      protocol: this.#protocol.name,
      model,
      status,
      tokens_in,
      tokens_out,
      tokens_cached,
      is_known: isRedirect || failed || isWhole && isFinal && tokens_in !== null && tokens_out !== null,
      by_size: {
        tokens_in: Math.ceil(this.#bytes.sent / tokenBytes.text),
        tokens_out: Math.ceil(this.#bytes.received / outBytes),
      },
      windows: quotaWindows(headers, now),
      retry_ms: failed ? retryAfter(headers, now) ?? retryMs : null,
    });
  }
}
