/** Versions of the GenAI conventions whose names can be sent. */
export const genAiConventions = ["0.1.0"] as const;

/** The collector of traces and metrics of sessions: `telemetry:` of the host manifest. */
export interface TelemetrySettings {
  /** Address of a collector that takes OTLP over HTTP; `/v1/traces` and `/v1/metrics` are added. */
  endpoint: string;
  /** Headers of each request; a value may refer to a secret as `${secret:NAME}`. */
  headers: Record<string, string>;
  /** Sends prompts, answers, and what tools got and gave, too. */
  content: boolean;
  /** Version of the GenAI conventions; all of them are in development. */
  convention: (typeof genAiConventions)[number];
  /** Share of traces that are sent, from 0 to 1; metrics count all. */
  sample: number;
  /** Age after which events that the collector has not taken are dropped. Milliseconds. */
  backlog_ms: number;
  /** Number of waiting events beyond which the oldest are dropped. */
  backlog_events: number;
}

/** Defaults for settings that the host manifest omits. */
export const defaultTelemetrySettings: Omit<TelemetrySettings, "endpoint"> = {
  headers: {},
  content: false,
  convention: "0.1.0",
  sample: 1,
  backlog_ms: 24 * 3_600_000,
  backlog_events: 1_000_000,
};
