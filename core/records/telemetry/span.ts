/** A value of an attribute; null and undefined leave it out. */
export type AttributeValue = string | number | boolean | null | undefined;

/** Facts by their names in the conventions. */
export type Attributes = Record<string, AttributeValue>;

/** One value for a histogram. */
export interface Measurement {
  metric: MetricName;
  value: number;
  attributes: Attributes;
}

/** Metrics that are sent. */
export type MetricName = "gen_ai.invoke_agent.duration" | "gen_ai.execute_tool.duration" | "gen_ai.client.token.usage";

/** Work that is over. */
export interface Span {
  trace_id: string;
  span_id: string;
  /** Null: it begins a trace. */
  parent: string | null;
  name: string;
  /** As in the protocol: 1 inside of this program, 3 a call of another one. */
  kind: 1 | 3;
  /** Milliseconds since 1970. */
  start_ms: number;
  end_ms: number;
  attributes: Attributes;
  /** Class of the error that it ended with. */
  error?: string | undefined;
  /** A span of another trace that it belongs to. */
  link?: { trace_id: string; span_id: string } | undefined;
  measurements: Measurement[];
}

const label = /^[\p{L}\p{N}_.:@+-]{1,128}$/u;

/**
 * Returns a name that an agent or adapter chose, if it is one word and no path or address: otherwise the fallback. What
 * agents call a tool is at times a sentence with a path in it.
 */
export function shownName(name: unknown, fallback: string): string {
  return typeof name === "string" && label.test(name) ? name : fallback;
}

/** Returns a model's name; undefined for one that is a path or an address, as of a file with a local model. */
export function shownModel(name: unknown): string | undefined {
  return typeof name === "string" && /^[\w.:@+[\]-]+(?:\/[\w.:@+[\]-]+){0,3}$/.test(name) && name.length <= 128
    ? name
    : undefined;
}

/** Returns the class of an error: a code, which an adapter may have chosen. */
export function errorClass(code: unknown): string {
  return typeof code === "string" && /^[a-z][a-z0-9_]{0,63}$/.test(code) ? code : "_OTHER";
}
