import type { Engine } from "../engine/engine.ts";
import { gseqOf, type LogReader, partsOf, signed, type TermEntry } from "./log-entry.ts";

interface OfferHeldOptions {
  engine: Engine;
  /** The machine whose log it is. */
  machine: string;
  /** Id of the log's writer. */
  writer: string;
  /** Returns what the local copy holds after a `gseq`. */
  held(afterGseq: number): AsyncIterable<TermEntry>;
  /** Reader of the log; it goes on with each message that is stored. */
  reader: LogReader;
}

/** Messages on their way, and their bytes, at most: a journal of years must neither crawl nor fill the memory. */
const mostOnTheWay = 32;
const mostBytes = 8 * 1024 * 1024;

interface OnTheWay {
  stored: Promise<number>;
  bytes: number;
  gseq: number | null;
}

/**
 * Stores what the local copy holds and the servers do not. Messages go out without waiting for one another, each on
 * condition that the one before it is the log's last.
 * @throws {unknown} when one was not stored: the caller reads what the log has, and offers the rest again
 */
export async function offerHeld({ engine, machine, writer, held, reader }: OfferHeldOptions): Promise<void> {
  const { seq, gseq: after, term } = reader.position;
  let expected = seq;
  let bytes = 0;
  const sent: OnTheWay[] = [];
  const settle = async (): Promise<void> => {
    const first = sent.shift()!;
    bytes -= first.bytes;
    reader.pass({ seq: await first.stored, gseq: first.gseq });
  };
  try {
    for await (const entry of held(after)) {
      const parts = partsOf(entry, { names: engine.names, machine, bytes: engine.partBytes });
      for (const [at, part] of parts.entries()) {
        // Its number is below those of all that waits, so it settles nothing.
        const stored = engine.append(signed(part, { writer, term, number: 0 }), expected++);
        stored.catch(() => undefined);
        sent.push({ stored, bytes: part.data.length, gseq: at === parts.length - 1 ? gseqOf(entry) : null });
        bytes += part.data.length;
        while (sent.length >= mostOnTheWay || bytes > mostBytes) await settle();
      }
    }
    while (sent.length > 0) await settle();
  } finally {
    await Promise.allSettled(sent.map(({ stored }) => stored));
  }
}
