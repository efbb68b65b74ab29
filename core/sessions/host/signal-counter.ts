import type { Signal, SignalSample } from "../../ground/log/prometheus-text.ts";

/** Name of a counter, and names of the labels of its values. */
interface CounterName {
  name: string;
  help: string;
  labels: readonly string[];
}

/** Most different values of one label; later ones are counted together. */
const mostValues = 256;
const rest = "other";

/** A counter for each set of labels. The number of values is bounded, even if strangers keep inventing new ones. */
export class SignalCounter {
  readonly #name: CounterName;
  readonly #samples = new Map<string, SignalSample>();
  readonly #values: Set<string>[];

  constructor(name: CounterName) {
    this.#name = name;
    this.#values = name.labels.map(() => new Set());
  }

  /** Adds to the counter with these label values, given in the order of the names. */
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
