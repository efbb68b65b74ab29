import type { Envelope } from "../../../plugin-sdk/envelope.ts";

/** The place of an event by which a stream resumes. */
export type EventId = number | string;

/** Returns what stands before and after the text of an event. */
type Frame = (id: EventId) => readonly [before: string, after: string];

/** How a stream writes its events. */
export class EventFraming {
  readonly contentType: string;
  readonly #idOf: (envelope: Envelope) => EventId;
  readonly #frame: Frame;
  /** Bytes of batches, kept as long as a reader still has the batch. */
  readonly #bytes = new WeakMap<readonly Envelope[], Uint8Array>();

  constructor(
    contentType: string,
    { idOf, frame }: { idOf(envelope: Envelope): EventId; frame: Frame },
  ) {
    this.contentType = contentType;
    this.#idOf = idOf;
    this.#frame = frame;
  }

  idOf(envelope: Envelope): EventId {
    return this.#idOf(envelope);
  }

  text(envelope: Envelope): string {
    const [before, after] = this.#frame(this.#idOf(envelope));
    return `${before}${envelopeText(envelope)}${after}`;
  }

  /** Returns the bytes of a batch that many readers get: it is encoded once for all of them. */
  bytes(envelopes: readonly Envelope[]): Uint8Array {
    let bytes = this.#bytes.get(envelopes);
    if (bytes === undefined) {
      bytes = new TextEncoder().encode(this.#textOf(envelopes));
      this.#bytes.set(envelopes, bytes);
    }
    return bytes;
  }

  #textOf(envelopes: readonly Envelope[]): string {
    const pieces: string[] = [];
    const writer = new EnvelopeWriter(pieces);
    for (const envelope of envelopes) {
      const [before, after] = this.#frame(this.#idOf(envelope));
      pieces.push(before);
      writer.write(envelope);
      pieces.push(after);
    }
    return pieces.join("");
  }
}

const serverSent: Frame = (id) => [`id: ${id}\ndata: `, "\n\n"];
const sessionId = ({ seq }: Envelope) => seq;
const mergedId = ({ gseq, cursor }: Envelope) => cursor ?? gseq;

/** Server-sent events of one session; their id is the number in the session. */
export const sessionFraming: EventFraming = new EventFraming("text/event-stream", {
  idOf: sessionId,
  frame: serverSent,
});

/** Server-sent events of all sessions; their id is the number in the merged log, in a cluster the cursor. */
export const mergedFraming: EventFraming = new EventFraming("text/event-stream", { idOf: mergedId, frame: serverSent });

/** Server-sent events of a conversation's sessions; their id is the number in the merged log. */
export const chainFraming: EventFraming = new EventFraming("text/event-stream", {
  idOf: ({ gseq }) => gseq,
  frame: serverSent,
});

/** One JSON object a line; a line has no id. */
export const lineFraming: EventFraming = new EventFraming("application/x-ndjson", {
  idOf: mergedId,
  frame: () => ["", "\n"],
});

const texts = new WeakMap<Envelope, string>();

/** Formats an envelope as one line of JSON. The text is shared by all readers. */
export function envelopeText(envelope: Envelope): string {
  let text = texts.get(envelope);
  if (text === undefined) {
    const pieces: string[] = [];
    new EnvelopeWriter(pieces).write(envelope);
    texts.set(envelope, text = pieces.join(""));
  }
  return text;
}

/** Formats envelopes that follow each other. What most share with the one before is not written again. */
class EnvelopeWriter {
  readonly #pieces: string[];
  #last: Envelope | null = null;
  #middle = "";

  /** @param pieces receives the text in pieces: joining all at once costs less than a text for each envelope */
  constructor(pieces: string[]) {
    this.#pieces = pieces;
  }

  /** Adds one line of JSON, without its end. */
  write(envelope: Envelope): void {
    const { v, seq, gseq, event } = envelope;
    if (this.#last === null || !isAlike(this.#last, envelope)) this.#middle = middleOf(envelope);
    this.#last = envelope;
    this.#pieces.push(`{"v":${v},"seq":`, `${seq}`, ',"gseq":', `${gseq}`, this.#middle, JSON.stringify(event), "}");
  }
}

/** Whether two envelopes have the same text between their numbers and their event. */
function isAlike(one: Envelope, other: Envelope): boolean {
  return one.session_id === other.session_id && one.ts === other.ts && one.attempt === other.attempt &&
    one.adapter === other.adapter && one.source === other.source && one.synthetic === other.synthetic &&
    one.cursor === other.cursor && one.machine === other.machine;
}

function middleOf({ ts, session_id, attempt, adapter, source, synthetic, machine, cursor }: Envelope): string {
  const whose = `"session_id":${JSON.stringify(session_id)},"attempt":${attempt},"adapter":${JSON.stringify(adapter)}`;
  const made = synthetic ? ',"synthetic":true' : "";
  const where = cursor === undefined ? "" : `,"machine":${JSON.stringify(machine)},"cursor":${JSON.stringify(cursor)}`;
  return `,"ts":${JSON.stringify(ts)},${whose},"source":"${source}"${made}${where},"event":`;
}
