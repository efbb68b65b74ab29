import type { Journal } from "../../../core/records/journal/journal.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

/** The last event of a session; of its result only what a journal reads. */
export const ended = {
  type: "session_ended",
  result: { outcome: "completed", stop_reason: "end_turn" },
} as Envelope["event"];

/** Makes envelopes with the next numbers of a host. */
export class EnvelopeSource {
  #gseq: number;
  readonly #seqs = new Map<string, number>();

  constructor(gseq = 0) {
    this.#gseq = gseq;
  }

  next(sessionId: string, data = "text"): Envelope {
    const seq = (this.#seqs.get(sessionId) ?? 0) + 1;
    this.#seqs.set(sessionId, seq);
    return {
      v: 1,
      seq,
      gseq: ++this.#gseq,
      ts: "2025-01-01T00:00:00.000Z",
      session_id: sessionId,
      attempt: 1,
      adapter: { id: "echo", version: "1.0.0" },
      source: "agent",
      event: { type: "output", stream: "stdout", data },
    };
  }

  batch(sessionId: string, count: number, data?: string): Envelope[] {
    return Array.from({ length: count }, () => this.next(sessionId, data));
  }

  /** Leaves numbers out, as a failed append does. */
  skip(count: number): void {
    this.#gseq += count;
  }
}

export interface ReadAllOptions {
  after?: number;
  sessionId?: string;
  limit?: number;
}

/** Reads page by page to the end. */
export async function readAll(journal: Journal, options: ReadAllOptions = {}): Promise<Envelope[]> {
  const all: Envelope[] = [];
  let { after = 0 } = options;
  for (;;) {
    const page = await journal.read({ ...options, after });
    if (page.length === 0) return all;
    all.push(...page);
    after = page.at(-1)?.gseq ?? after;
  }
}
