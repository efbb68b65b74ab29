import type { Attributes, Measurement, MetricName } from "./span.ts";

interface HistogramPoint {
  attributes: Attributes;
  count: number;
  sum: number;
  min: number;
  max: number;
  /** One more than there are bounds. */
  buckets: number[];
}

/** A metric with its points. */
export interface Histogram {
  name: MetricName;
  unit: "s" | "{token}";
  bounds: readonly number[];
  points: HistogramPoint[];
}

/** Unit and bounds of each metric, as the conventions say. */
const forms: Readonly<Record<MetricName, Pick<Histogram, "unit" | "bounds">>> = {
  "gen_ai.invoke_agent.duration": {
    unit: "s",
    bounds: [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6],
  },
  "gen_ai.execute_tool.duration": {
    unit: "s",
    bounds: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  },
  "gen_ai.client.token.usage": {
    unit: "{token}",
    bounds: [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864],
  },
};

/** Series of one metric and batch: agents choose names of tools. The rest is counted without attributes. */
const mostPoints = 1000;

/** Adds up measurements. */
export function histogramsOf(measurements: readonly Measurement[]): Histogram[] {
  const points = new Map<MetricName, Map<string, HistogramPoint>>();
  for (const { metric, value, attributes } of measurements) {
    const ofMetric = points.get(metric) ?? new Map<string, HistogramPoint>();
    points.set(metric, ofMetric);
    const key = JSON.stringify(attributes);
    const isKept = ofMetric.has(key) || ofMetric.size < mostPoints;
    add(ofMetric, { key: isKept ? key : "", attributes: isKept ? attributes : {}, value, ...forms[metric] });
  }
  return [...points].map(([name, ofMetric]) => ({ name, ...forms[name], points: [...ofMetric.values()] }));
}

function add(
  points: Map<string, HistogramPoint>,
  { key, attributes, value, bounds }:
    & { key: string; value: number }
    & Pick<HistogramPoint, "attributes">
    & Pick<Histogram, "bounds">,
): void {
  const point = points.get(key) ?? { attributes, count: 0, sum: 0, min: value, max: value, buckets: [] };
  if (point.count === 0) point.buckets = Array.from({ length: bounds.length + 1 }, () => 0);
  points.set(key, point);
  point.count++;
  point.sum += value;
  point.min = Math.min(point.min, value);
  point.max = Math.max(point.max, value);
  const at = bounds.findIndex((bound) => value <= bound);
  point.buckets[at === -1 ? bounds.length : at]!++;
}
