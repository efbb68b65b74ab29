import type { Envelope } from "../../../plugin-sdk/envelope.ts";

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

/**
 * Formats envelopes that follow each other. Most have the same session, time, attempt and adapter as the one before,
 * whose text is used again.
 */
export class EnvelopeWriter {
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
