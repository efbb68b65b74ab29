import { onNextTurn } from "../../../../core/ground/platform/engine/next-turn.ts";
import type { Journal } from "../../../../core/records/journal/journal.ts";

/** One transaction: what is written within a turn of the event loop. */
interface Transaction {
  writes: { act(): Promise<unknown>; done(value: unknown): void }[];
}

/** A disk that writes when the test says so, and that a host loses when it is killed. */
export interface HeldDisk {
  journal: Journal;
  /** Number of transactions that are not durable yet. */
  readonly waiting: number;
  /** Makes the oldest of them durable. */
  write(count: number): void;
  /** The host is killed: so many are written yet, and nothing it waits for ever comes. */
  kill(count: number): void;
}

const never = () => new Promise<never>(() => {});

/** Holds back what is written to a journal; what is read is what is durable. */
export function holdJournal(inner: Journal): HeldDisk {
  let waiting: Transaction[] = [];
  let open: Transaction | null = null;
  let isKilled = false;
  const later = (act: () => Promise<unknown>): Promise<unknown> => {
    if (isKilled) return never();
    if (open === null) {
      const begun: Transaction = open = { writes: [] };
      waiting.push(begun);
      onNextTurn(() => open = open === begun ? null : open);
    }
    return new Promise((done) => open!.writes.push({ act, done }));
  };
  const write = (count: number, { isTold }: { isTold: boolean }) => {
    for (const one of waiting.splice(0, count)) {
      if (one === open) open = null;
      // A memory journal writes before its promise resolves.
      for (const { act, done } of one.writes) {
        const written = act();
        written.then((value) => isTold && done(value), () => {});
      }
    }
  };
  const held: Partial<Journal> = {
    append: (batch) => {
      const copy = { ...batch, envelopes: batch.envelopes.map((one) => ({ ...one })) };
      return later(() => inner.append(copy)) as Promise<number>;
    },
    noteKey: (record, most) => later(() => inner.noteKey({ ...record }, most)) as Promise<void>,
  };
  const journal = new Proxy(inner, {
    get(target, name) {
      if (name in held) return held[name as keyof Journal];
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => isKilled ? never() : value.apply(target, given);
    },
  });
  return {
    journal,
    get waiting() {
      return waiting.length;
    },
    write: (count) => write(count, { isTold: true }),
    kill: (count) => {
      write(count, { isTold: false });
      isKilled = true;
      waiting = [];
    },
  };
}
