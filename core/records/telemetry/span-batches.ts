import type { Envelope, SessionStartedEvent } from "../../../plugin-sdk/envelope.ts";
import type { Journal } from "../journal/journal.ts";
import { spanJson } from "./otlp-json.ts";
import { SessionSpans } from "./session-spans.ts";
import type { Measurement } from "./span.ts";

/** Spans and measurements of some events in order. */
export interface SpanBatch {
  spans: string[];
  size: number;
  measurements: Measurement[];
  events: number;
  /** Time of the first and the last event. Milliseconds since 1970. */
  from_ms: number;
  to_ms: number;
}

interface OpenSession {
  spans: SessionSpans;
  first: number;
  isSampled: boolean;
}

/** How events become spans. */
interface SpanTerms {
  content: boolean;
  sample: number;
}

/** Sessions whose beginning is not kept, so that nothing looks for it again. */
const mostLost = 1000;

/** Makes batches of spans from the events of all sessions. */
export class SpanBatches {
  readonly #journal: Pick<Journal, "read" | "session">;
  readonly #open = new Map<string, OpenSession>();
  readonly #lost = new Set<string>();

  constructor(journal: Pick<Journal, "read" | "session">) {
    this.#journal = journal;
  }

  /** Number before the first event of the oldest session that is open; `otherwise` without one. */
  from(otherwise: number): number {
    let least = otherwise;
    for (const { first } of this.#open.values()) least = Math.min(least, first - 1);
    return least;
  }

  /** Forgets the sessions: events between what it has seen and what comes next are left out. */
  clear(): void {
    this.#open.clear();
  }

  /** Takes the next event. Without a batch it only remembers what later events need. */
  async add(envelope: Envelope, terms: SpanTerms, batch: SpanBatch | null): Promise<void> {
    const session = await this.#sessionOf(envelope, terms);
    const spans = session?.spans.see(envelope) ?? [];
    if (envelope.event.type === "session_ended") this.#open.delete(envelope.session_id);
    if (batch === null) return;
    const ms = Date.parse(envelope.ts);
    batch.from_ms = batch.events === 0 ? ms : batch.from_ms;
    batch.to_ms = Math.max(batch.to_ms, ms);
    batch.events++;
    for (const span of spans) {
      batch.measurements.push(...span.measurements);
      if (session?.isSampled !== true) continue;
      const text = spanJson(span);
      batch.spans.push(text);
      batch.size += text.length;
    }
  }

  async #sessionOf(envelope: Envelope, terms: SpanTerms): Promise<OpenSession | undefined> {
    const { session_id: id } = envelope;
    const known = this.#open.get(id);
    if (known !== undefined || this.#lost.has(id) || envelope.event.type === "gap") return known;
    const first = envelope.event.type === "session_started" ? envelope : await this.#beginningOf(id);
    if (first?.event.type !== "session_started") {
      if (this.#lost.size >= mostLost) this.#lost.clear();
      this.#lost.add(id);
      return undefined;
    }
    const spans = new SessionSpans(first as Envelope & { event: SessionStartedEvent }, terms.content);
    const isSampled = spans.place.sampled && shareOf(spans.place.trace_id) < terms.sample;
    const session = { spans, first: first.gseq, isSampled };
    this.#open.set(id, session);
    return session;
  }

  /** Reads the first event of a session whose beginning was left out. */
  async #beginningOf(sessionId: string): Promise<Envelope | undefined> {
    const record = await this.#journal.session(sessionId);
    if (record === null || record.deleted !== null) return undefined;
    const [first] = await this.#journal.read({
      sessionId,
      after: record.first_gseq - 1,
      limit: 1,
      skipDamaged: true,
    });
    return first;
  }
}

/** Returns an empty batch. */
export function emptyBatch(): SpanBatch {
  return { spans: [], size: 0, measurements: [], events: 0, from_ms: 0, to_ms: 0 };
}

/** Returns a number from 0 to 1, the same for all parts of a trace. */
function shareOf(traceId: string): number {
  return parseInt(traceId.slice(-12), 16) / 2 ** 48;
}
