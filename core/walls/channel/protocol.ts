import type { AgentConfig } from "../../../plugin-sdk/context.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";

/** Version of this protocol; both sides must name the same. */
export const protocolVersion = 1;

/** Events that an adapter may yield as one array, which is how far it can overdraw its credit. */
export const maxYieldedArray = 100_000;

/** What the guest may be asked to do with an adapter. */
export type AdapterCall = "run_session" | "probe";

/** What a probe is answered with: what the adapter gave, unchecked. */
export interface ProbeAnswer {
  /** Of `isAvailable()`. */
  availability: unknown;
  /** Of `getAccessMode()`; null where it threw. */
  access_mode: unknown;
  /** Of `healthCheck()`; null where it threw. */
  health: unknown;
  /** What `healthCheck()` threw. */
  health_error?: string;
}

/** Facts of a session that adapter code may know. */
export interface SessionFacts {
  session_id: string;
  attempt: number;
  workdir: string;
  plugin_dir: string;
  platform: string;
}

/** What the guest holds itself to; the host enforces the same from outside. */
export interface GuestLimits {
  frame_bytes: number;
  message_bytes: number;
  event_bytes: number;
  event_values: number;
  timers: number;
  calls_in_flight: number;
  teardown_timeout_ms: number;
}

/** First message on a lane. */
export interface LoadMessage {
  type: "load";
  protocol: typeof protocolVersion;
  plugin_id: string;
  script: string;
  limits: GuestLimits;
}
/** Opens a session; `sid` is the host's number for it on this lane. */
export interface OpenMessage {
  type: "open";
  sid: number;
  call: AdapterCall;
  request: SessionRequest | null;
  config: AgentConfig;
  facts: SessionFacts;
  /** Events the guest may send before it must wait for more credit. */
  credit: number;
}
/** The host can take more events of a session: as many small ones, fewer that are large. */
export interface CreditMessage {
  type: "credit";
  sid: number;
  events: number;
}
/** The session is to end, and why. */
export interface CancelMessage {
  type: "cancel";
  sid: number;
  error: ErrorData;
}
/** The broker's answer to a `call`; exactly one of `value` and `error` counts. */
export interface ReplyMessage {
  type: "reply";
  sid: number;
  id: number;
  value?: unknown;
  error?: ErrorData;
}
/** Asks for a sign of life. */
export interface PingMessage {
  type: "ping";
  n: number;
}

/** Host → guest. */
export type HostMessage = LoadMessage | OpenMessage | CreditMessage | CancelMessage | ReplyMessage | PingMessage;

/** The adapter is loaded and whole, or why it is not. */
export interface LoadedMessage {
  type: "loaded";
  protocol: number;
  error?: ErrorData;
}
/** A batch of what the adapter yielded. */
export interface EventsMessage {
  type: "events";
  sid: number;
  events: unknown[];
}
/** Asks the broker for something. */
export interface CallMessage {
  type: "call";
  sid: number;
  id: number;
  op: string;
  args: unknown;
}
/** The session is over on the guest's side; nothing of it follows. */
export interface DoneMessage {
  type: "done";
  sid: number;
  value?: unknown;
  error?: ErrorData;
}
/** The sign of life; `n` is the ping's. */
export interface PongMessage {
  type: "pong";
  n: number;
}
/** The thread cannot go on; the host ends it, with all its sessions. */
export interface FailedMessage {
  type: "failed";
  error: ErrorData;
}
/** A piece of a message that is larger than a frame; the pieces' texts joined are that message. */
export interface PartMessage {
  type: "part";
  text: string;
  last: boolean;
}

/** Guest → host. */
export type GuestMessage =
  | LoadedMessage
  | EventsMessage
  | CallMessage
  | DoneMessage
  | PongMessage
  | FailedMessage
  | PartMessage;

/** Lane 0 carries these between the host and the warden's main thread. */
export type WardenCommand =
  | { type: "open_lane"; lane: number; heap_mb: number }
  | { type: "close_lane"; lane: number }
  | { type: "stop" };

/** Warden → host, on lane 0. */
export type WardenReport =
  | { type: "ready"; protocol: number }
  | { type: "lane_closed"; lane: number; reason: "exit" | "out_of_memory" | "error" | "closed"; message: string }
  | { type: "stats"; rss_bytes: number; cpu_ms: number };
