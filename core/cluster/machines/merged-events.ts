import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { countOf, fieldsOf } from "../../../plugin-sdk/json-fields.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import type { Mirror } from "../log/mirror.ts";

/** How far a reader of all machines' events is: the `gseq` of each machine. */
type ClusterCursor = Readonly<Record<string, number>>;

interface MergedEventsDeps {
  /** This machine. */
  machine: string;
  own: Pick<SessionHost, "events">;
  /** Returns the number of this machine's newest event. */
  newest(): number;
  mirrors(): readonly Mirror[];
  /** Calls back when there is another mirror. */
  onMirror(callback: () => void): () => void;
}

const prefix = "c1.";
/** Events that wait for a reader: each machine's own stream holds back beyond them. */
const mostHeld = 1024;

function cursorText(cursor: ClusterCursor): string {
  return prefix + btoa(JSON.stringify(cursor)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * Parses a cursor's token.
 * @throws {BulkheadError} `invalid_request`
 */
function parseCursor(text: string): ClusterCursor {
  try {
    const fields = text.startsWith(prefix)
      ? fieldsOf(JSON.parse(atob(text.slice(prefix.length).replaceAll("-", "+").replaceAll("_", "/"))))
      : null;
    if (fields !== null && Object.values(fields).every((value) => countOf(value) !== null)) {
      return fields as ClusterCursor;
    }
  } catch {
    // Below.
  }
  throw new BulkheadError("invalid_request", "Cannot go on after the cursor: it is not one of this cluster.", {
    hint: "Take it from the newest event that you have, as it is.",
  });
}

/** Merges the events of all machines, each in its order. Any machine goes on from the cursor at each event. */
export function mergedEvents(deps: MergedEventsDeps, { after, cursor, signal }: EventQuery): AsyncIterable<Envelope> {
  const known = cursor === undefined ? null : parseCursor(cursor);
  // Called here, so that a number that no event has yet is refused before a stream begins.
  const from = known === null ? after ?? deps.newest() : known[deps.machine] ?? 0;
  return read(deps, { known, from, fromStart: after === 0, signal });
}

interface ReadMergedOptions {
  /** The reader's cursor; null for a reader that has none. */
  known: ClusterCursor | null;
  /** Number after which it begins on this machine. */
  from: number;
  /** Whether it begins with the first event of each machine. */
  fromStart: boolean;
  signal: AbortSignal | undefined;
}

async function* read(
  deps: MergedEventsDeps,
  { known, from, fromStart, signal }: ReadMergedOptions,
): AsyncGenerator<Envelope, void, void> {
  const over = new AbortController();
  const end = () => over.abort();
  signal?.addEventListener("abort", end, { once: true });
  const queue = new EventQueue(over.signal);
  const at: Record<string, number> = { ...known, [deps.machine]: from };
  const followed = new Set<Mirror>();
  const followAll = (isFirst: boolean) => {
    for (const mirror of deps.mirrors()) {
      if (followed.has(mirror)) continue;
      followed.add(mirror);
      // A machine that came later is new to the reader.
      const newest = isFirst && known === null && !fromStart ? mirror.journal.lastGseq : 0;
      const after = at[mirror.machine] ??= newest;
      void queue.take(mirror.machine, mirror.subscribe({ after, signal: over.signal }));
    }
  };
  try {
    const own = deps.own.events({ after: from, signal: over.signal });
    void queue.take(deps.machine, own);
    followAll(true);
    const unwatch = deps.onMirror(() => followAll(false));
    over.signal.addEventListener("abort", unwatch, { once: true });
    for await (const { machine, envelope } of queue) {
      at[machine] = envelope.gseq;
      yield { ...envelope, machine, cursor: cursorText(at) };
    }
  } finally {
    signal?.removeEventListener("abort", end);
    end();
  }
}

interface Queued {
  machine: string;
  envelope: Envelope;
}

/** Events of several sources for one reader, who holds them back. */
class EventQueue implements AsyncIterable<Queued> {
  readonly #signal: AbortSignal;
  #held: Queued[] = [];
  #failure: unknown = null;
  #wakeReader: () => void = () => {};
  #wakeSources: (() => void)[] = [];

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wakeAll(), { once: true });
  }

  /** Reads a source into the queue. Never rejects. */
  async take(machine: string, events: AsyncIterable<Envelope>): Promise<void> {
    try {
      for await (const envelope of events) {
        this.#held.push({ machine, envelope });
        this.#wakeReader();
        while (this.#held.length >= mostHeld && !this.#signal.aborted) {
          await new Promise<void>((resolve) => this.#wakeSources.push(resolve));
        }
        if (this.#signal.aborted) return;
      }
    } catch (error) {
      this.#failure ??= error;
      this.#wakeReader();
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Queued, void, void> {
    while (!this.#signal.aborted) {
      const held = this.#held;
      this.#held = [];
      for (const wake of this.#wakeSources.splice(0)) wake();
      yield* held;
      if (this.#held.length > 0) continue;
      if (this.#failure !== null) throw this.#failure;
      if (!this.#signal.aborted) await new Promise<void>((resolve) => (this.#wakeReader = resolve));
    }
  }

  #wakeAll(): void {
    this.#wakeReader();
    for (const wake of this.#wakeSources.splice(0)) wake();
  }
}
