import type { AccessMode, QuotaWindow } from "../../../plugin-sdk/access-modes.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { accessModeKey, type ModeUse, unused } from "./access-mode-state.ts";
import { addCount, mergeSpans } from "./rolling-counts.ts";
import type { UseRecord, UseStore } from "./use-files.ts";

/** An access mode of an adapter; null for an adapter that lists none. */
interface UsedMode {
  adapterId: string;
  mode: AccessMode | null;
}

/** The limits in a provider's answer. */
interface ToldCall {
  status: number | null;
  windows: readonly QuotaWindow[];
  retry_ms: number | null;
}

/** Options of {@link AccessModeCounters}. */
interface CounterOptions {
  store: UseStore;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** Shortest time between two writes; later counts wait for the next write. */
  writeGapMs?: number;
  /** Longest age of the counts of other hosts. */
  othersAgeMs?: number;
}

/**
 * Longest limit that the host accepts. An agent may report any number, and a time outside the calendar would break
 * every report.
 */
export const longestLimitMs: number = 31 * 24 * 3600 * 1000;

/**
 * Counts requests and tokens for each access mode, and remembers the limits that agents report: at once in memory, soon
 * after on disk. A killed host loses only the counts of its last moment.
 */
export class AccessModeCounters {
  readonly #store: UseStore;
  readonly #now: () => number;
  readonly #writeGapMs: number;
  readonly #othersAgeMs: number;
  readonly #own = new Map<string, UseRecord>();
  #others = new Map<string, UseRecord[]>();
  readonly #quota = new Map<string, readonly QuotaWindow[]>();
  #othersReadAt = -Infinity;
  #opened: Promise<void> | null = null;
  #reading: Promise<void> | null = null;
  #unwritten = false;
  #writing: Promise<void> | null = null;
  #cancelTimer: (() => void) | null = null;

  constructor({ store, now = Date.now, writeGapMs = 200, othersAgeMs = 1000 }: CounterOptions) {
    this.#store = store;
    this.#now = now;
    this.#writeGapMs = writeGapMs;
    this.#othersAgeMs = othersAgeMs;
  }

  /** Counts a request through this mode. */
  requested(used: UsedMode): void {
    this.#count(used, { requests: 1 });
  }

  /** Adds the tokens of a request, once they are known. */
  used(used: UsedMode, tokens: number | null): void {
    if (tokens !== null && tokens > 0) this.#count(used, { tokens });
  }

  /**
   * Notes the limits that a provider told with an answer. One that leaves nothing holds until it is lifted; a call that was
   * refused tells when it may be made again. A good answer that leaves something lifts what was noted before.
   */
  told(used: UsedMode, { status, windows, retry_ms }: ToldCall): void {
    if (windows.length > 0) this.#quota.set(keyOf(used.adapterId, accessModeKey(used.mode)), windows);
    const ends = windows.flatMap(({ remaining, reset_at }) =>
      remaining === 0 && reset_at !== null ? [Date.parse(reset_at) - this.#now()] : []
    );
    const waitMs = Math.max(0, ...ends, retry_ms ?? 0);
    if (waitMs > 0) this.limited(used, waitMs);
    else if (windows.length > 0 && status !== null && status < 400 && this.isLimited(used)) {
      this.#record(used).limited_until = null;
      this.#changed();
    }
  }

  /** Whether a limit holds now, as far as this host has heard. */
  isLimited({ adapterId, mode }: UsedMode): boolean {
    return (this.#own.get(keyOf(adapterId, accessModeKey(mode)))?.limited_until ?? 0) > this.#now();
  }

  /** Records a limit that the agent reported and that holds for this long, {@link longestLimitMs} at most. */
  limited(used: UsedMode, waitMs: number): void {
    const record = this.#record(used);
    const until = this.#now() + Math.min(Math.max(waitMs, 0), longestLimitMs);
    record.limited_until = Math.max(record.limited_until ?? 0, until);
    this.#changed();
  }

  /** Returns the counts of all hosts of the state folder, as far as {@link refresh} has read them. */
  useOf(used: UsedMode): ModeUse {
    const key = keyOf(used.adapterId, accessModeKey(used.mode));
    const own = this.#own.get(key);
    const all = [...(own ? [own] : []), ...(this.#others.get(key) ?? [])];
    const quota = this.#quota.get(key);
    if (all.length === 0) return quota === undefined ? unused : { ...unused, quota };
    const ends = all.flatMap(({ limited_until }) => (limited_until === null ? [] : [limited_until]));
    return {
      spans: all.flatMap(({ spans }) => spans),
      limitedUntil: ends.length === 0 ? null : Math.max(...ends),
      ...(quota === undefined ? {} : { quota }),
    };
  }

  /** Reads the stored counts and the new counts of other hosts; never fails. */
  async refresh(): Promise<void> {
    await this.#open();
    if (this.#now() - this.#othersReadAt < this.#othersAgeMs) return;
    this.#reading ??= this.#readOthers().finally(() => (this.#reading = null));
    await this.#reading;
  }

  /** Resolves when every count is written or has failed to be. */
  async settled(): Promise<void> {
    await this.#writing;
    if (this.#unwritten) await this.#write();
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  #count(used: UsedMode, what: { requests?: number; tokens?: number }): void {
    const record = this.#record(used);
    record.spans = addCount(record.spans, { now: this.#now(), ...what });
    this.#changed();
  }

  #record({ adapterId, mode }: UsedMode): UseRecord {
    const access_mode = accessModeKey(mode);
    const key = keyOf(adapterId, access_mode);
    const known = this.#own.get(key);
    if (known) return known;
    const record: UseRecord = { adapter_id: adapterId, access_mode, spans: [], limited_until: null };
    this.#own.set(key, record);
    return record;
  }

  /** Merges the counts on disk with those since the start. */
  #open(): Promise<void> {
    return this.#opened ??= (async () => {
      for (const kept of await this.#store.readOwn().catch(() => [])) {
        const key = keyOf(kept.adapter_id, kept.access_mode);
        const now = this.#own.get(key);
        this.#own.set(key, now === undefined ? kept : joined(now, kept, this.#now()));
      }
    })();
  }

  async #readOthers(): Promise<void> {
    const records = await this.#store.readOthers().catch(() => []);
    const others = new Map<string, UseRecord[]>();
    for (const record of records) {
      const key = keyOf(record.adapter_id, record.access_mode);
      others.set(key, [...(others.get(key) ?? []), record]);
    }
    this.#others = others;
    this.#othersReadAt = this.#now();
  }

  #changed(): void {
    this.#unwritten = true;
    if (this.#writing || this.#cancelTimer) return;
    void this.#write();
  }

  /** Writes at once, then not again before the gap has passed. */
  #write(): Promise<void> {
    this.#unwritten = false;
    return this.#writing = (async () => {
      await this.#open();
      const now = this.#now();
      const uses = [...this.#own.values()].map((record) => ({ ...record, spans: mergeSpans(record.spans, now) }));
      const kept = uses.filter(({ spans, limited_until }) => spans.length > 0 || (limited_until ?? 0) > now);
      // A failed write is retried with the next count: no session fails for it.
      await this.#store.write(kept).catch(() => {});
    })().finally(() => {
      this.#writing = null;
      this.#cancelTimer?.();
      this.#cancelTimer = startBackgroundTimer(() => {
        this.#cancelTimer = null;
        if (this.#unwritten) void this.#write();
      }, this.#writeGapMs);
    });
  }
}

function joined(a: UseRecord, b: UseRecord, now: number): UseRecord {
  const limited_until = Math.max(a.limited_until ?? 0, b.limited_until ?? 0);
  return {
    ...a,
    spans: mergeSpans([...a.spans, ...b.spans], now),
    limited_until: limited_until === 0 ? null : limited_until,
  };
}

/** Joins both with a line end, which neither an id nor a mode's name contains. */
function keyOf(adapterId: string, mode: string): string {
  return `${adapterId}\n${mode}`;
}
