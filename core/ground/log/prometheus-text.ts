/** One value of a signal. */
export interface SignalSample {
  labels: Record<string, string>;
  value: number;
}

/** A counter or gauge with all its values now. */
export interface Signal {
  /** Letters, digits and underscores. */
  name: string;
  /** One sentence. */
  help: string;
  type: "counter" | "gauge";
  samples: SignalSample[];
}

/** Signals in Prometheus' text format, version 0.0.4. */
export function toPrometheusText(signals: readonly Signal[]): string {
  return signals.map(({ name, help, type, samples }) => {
    const lines = [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`];
    return [...lines, ...samples.map(({ labels, value }) => `${name}${labelText(labels)} ${numberText(value)}`)]
      .map((line) => `${line}\n`).join("");
  }).join("");
}

function labelText(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function numberText(value: number): string {
  return Number.isFinite(value) || Number.isNaN(value) ? String(value) : value > 0 ? "+Inf" : "-Inf";
}
