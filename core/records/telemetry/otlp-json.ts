import { hostVersion } from "../../ground/config/version.ts";
import type { Histogram } from "./histograms.ts";
import type { Attributes, AttributeValue, Span } from "./span.ts";

/** The part of a host that events come from, and the names that they are sent under. */
interface TelemetrySource {
  /** Stays the same over restarts. */
  instance: string;
  convention: string;
}

/** Points in time that metrics cover. Milliseconds since 1970. */
interface Covered {
  from_ms: number;
  to_ms: number;
}

/** Returns one span as the protocol writes it. */
export function spanJson(span: Span): string {
  const { trace_id, span_id, parent, name, kind, start_ms, end_ms, attributes, error, link } = span;
  return JSON.stringify({
    traceId: trace_id,
    spanId: span_id,
    ...(parent === null ? {} : { parentSpanId: parent }),
    name,
    kind,
    startTimeUnixNano: nanos(start_ms),
    endTimeUnixNano: nanos(end_ms),
    attributes: listed(attributes),
    ...(link === undefined ? {} : { links: [{ traceId: link.trace_id, spanId: link.span_id }] }),
    status: error === undefined ? {} : { code: 2 },
  });
}

/** Returns the body of a request with spans, each as {@link spanJson} wrote it. */
export function tracesBody(spans: readonly string[], source: TelemetrySource): string {
  const { resource, scope } = heads(source);
  return `{"resourceSpans":[{"resource":${resource},"scopeSpans":[{"scope":${scope},"spans":[${spans.join(",")}]}]}]}`;
}

/** Returns the body of a request with metrics of a stretch of time. */
export function metricsBody(histograms: readonly Histogram[], source: TelemetrySource, covered: Covered): string {
  const { resource, scope } = heads(source);
  const times = { startTimeUnixNano: nanos(covered.from_ms), timeUnixNano: nanos(covered.to_ms) };
  const metrics = JSON.stringify(histograms.map(({ name, unit, bounds, points }) => ({
    name,
    unit,
    histogram: {
      // Delta: what was sent need not be remembered over a restart.
      aggregationTemporality: 1,
      dataPoints: points.map(({ attributes, count, sum, min, max, buckets }) => ({
        ...times,
        attributes: listed(attributes),
        count: String(count),
        sum,
        min,
        max,
        bucketCounts: buckets.map(String),
        explicitBounds: bounds,
      })),
    },
  })));
  return `{"resourceMetrics":[{"resource":${resource},"scopeMetrics":[{"scope":${scope},"metrics":${metrics}}]}]}`;
}

function heads({ instance, convention }: TelemetrySource): { resource: string; scope: string } {
  return {
    resource: JSON.stringify({
      attributes: listed({
        "service.name": "bulkhead",
        "service.version": hostVersion,
        "service.instance.id": instance,
      }),
    }),
    scope: JSON.stringify({
      name: "bulkhead",
      version: hostVersion,
      attributes: listed({ "bulkhead.gen_ai.convention": convention }),
    }),
  };
}

function nanos(ms: number): string {
  return `${Math.round(ms)}000000`;
}

function listed(attributes: Attributes): { key: string; value: object }[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [{ key, value: valueOf(value) }]
  );
}

function valueOf(value: NonNullable<AttributeValue>): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
