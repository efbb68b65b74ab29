import type { Signal, SignalSample } from "../../ground/log/prometheus-text.ts";

/** What a counter is called, and which labels its values have. */
export interface CounterName {
  name: string;
  help: string;
  labels: readonly string[];
}

/** Different values that one label may have; what comes after is counted together. */
const mostValues = 256;
const rest = "other";

/** A counter for each set of labels. However many values strangers invent for a label, their number is bounded. */
export class SignalCounter {
  readonly #name: CounterName;
  readonly #samples = new Map<string, SignalSample>();
  readonly #values: Set<string>[];

  constructor(name: CounterName) {
    this.#name = name;
    this.#values = name.labels.map(() => new Set());
  }

  /** Adds to the counter of these labels' values, given in the order of their names. */
  add(values: readonly string[], by = 1): void {
    if (!(by > 0) || !Number.isFinite(by)) return;
    const bounded = values.map((value, index) => this.#bounded(value, index));
    const key = JSON.stringify(bounded);
    const sample = this.#samples.get(key);
    if (sample) {
      sample.value += by;
      return;
    }
    const labels = Object.fromEntries(this.#name.labels.map((label, index) => [label, bounded[index] ?? ""]));
    this.#samples.set(key, { labels, value: by });
  }

  /** The counter as it stands. */
  signal(): Signal {
    const { name, help } = this.#name;
    return {
      name,
      help,
      type: "counter",
      samples: [...this.#samples.values()].map((sample) => structuredClone(sample)),
    };
  }

  #bounded(value: string, index: number): string {
    const known = this.#values[index]!;
    if (known.has(value)) return value;
    if (known.size >= mostValues) return rest;
    known.add(value);
    return value;
  }
}
