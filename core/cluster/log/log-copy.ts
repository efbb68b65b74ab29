import type { Journal } from "../../records/journal/journal.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { StreamMessage } from "../engine/messages.ts";
import { checkedEnvelopes } from "./check-envelopes.ts";
import { type BatchEntry, type LogPosition, LogReader } from "./log-entry.ts";

/** The local copy holds other events than the log under the same numbers: it must be made again. */
export class DivergedError extends Error {
  constructor(gseq: number) {
    super(`the local copy differs from the log at event ${gseq}`);
    this.name = "DivergedError";
  }
}

/** Effect of one message on a local copy. */
export type Applied =
  | { kind: "events"; envelopes: Envelope[]; bytes: number; unreadable: number }
  | { kind: "deleted"; session_id: string }
  | { kind: "mark"; machine: string };

/** Writes a machine's log into a journal on this machine, message by message. */
export class LogCopy {
  readonly #journal: Journal;
  readonly #reader: LogReader;
  /** Machine whose copy this is. */
  readonly #machine: string;
  /** Highest number that the journal has or is about to have. */
  #gseq: number;
  /** The last batch on its way into the journal. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(journal: Journal, { machine, position }: { machine: string; position: LogPosition }) {
    this.#journal = journal;
    this.#machine = machine;
    this.#reader = new LogReader(position);
    this.#gseq = journal.lastGseq;
  }

  get position(): LogPosition {
    return this.#reader.position;
  }

  get dropped(): number {
    return this.#reader.dropped;
  }

  /**
   * Takes the next message. Resolves, in order, once its effect is in the journal; null when it has none.
   * @throws {DivergedError}
   * @throws {Error} for an entry that cannot be used; the next one can
   */
  async take(message: StreamMessage): Promise<Applied | null> {
    const entry = this.#reader.take(message);
    if (entry === null) return null;
    if (entry.kind === "mark") return { kind: "mark", machine: entry.machine };
    if (entry.kind === "batch") return await this.#batch(entry);
    await this.#writing;
    await this.#journal.delete(entry.session_id, entry.by, { leftOpen: true });
    return { kind: "deleted", session_id: entry.session_id };
  }

  async #batch(entry: BatchEntry): Promise<Applied | null> {
    const { session_id, first_gseq, last_gseq } = entry;
    const { envelopes, unreadable } = checkedEnvelopes(entry);
    if (last_gseq <= this.#gseq) {
      // Only another machine can have written other events under numbers that this copy has.
      if (this.#reader.position.machine !== this.#machine) await this.#compare(envelopes[0]!);
      return null;
    }
    if (first_gseq <= this.#gseq) throw new DivergedError(first_gseq);
    this.#gseq = last_gseq;
    const writing = this.#journal.append({ session_id, envelopes });
    this.#writing = writing.catch(() => undefined);
    return { kind: "events", envelopes, bytes: await writing, unreadable };
  }

  async #compare({ gseq, seq, session_id, ts }: Envelope): Promise<void> {
    const [held] = await this.#journal.read({ after: gseq - 1, limit: 1 });
    const isSame = held !== undefined && held.gseq === gseq && held.session_id === session_id && held.seq === seq &&
      (held.ts === ts || held.event.type === "gap");
    // A gap stands at the number of the session's last event, so the place of an earlier one may hold a later event.
    if (!isSame && held?.gseq === gseq) throw new DivergedError(gseq);
  }
}
