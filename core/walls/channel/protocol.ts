import type { AgentConfig } from "../../../plugin-sdk/context.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";

/** Version of this protocol; both sides must name the same. */
export const protocolVersion = 2;

/** Events that an adapter may yield as one array; it can overdraw its credit by at most this many. */
export const maxYieldedArray = 100_000;

/** Calls of an adapter that the host may request from the guest. */
type AdapterCall = "run_session" | "probe";

/** Answer to a probe: the adapter's own values, unchecked. */
export interface ProbeAnswer {
  availability: unknown;
  /** Result of `getAccessMode()`; null where it threw. */
  access_mode: unknown;
  /** Result of `healthCheck()`; null where it threw. */
  health: unknown;
  /** Result of `getCapabilities()`; null where it threw. */
  capabilities: unknown;
  health_error?: string | undefined;
}

/** Facts of a session that adapter code may know. */
export interface SessionFacts {
  session_id: string;
  attempt: number;
  workdir: string;
  plugin_dir: string;
  platform: string;
}

/** Limits that the guest keeps; the host enforces the same from outside. */
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
/** Credit for more events of a session: one for each small event, several for a large one. */
interface CreditMessage {
  type: "credit";
  sid: number;
  events: number;
}
/** The session must end, and why. */
interface CancelMessage {
  type: "cancel";
  sid: number;
  error: ErrorData;
}
/** The broker's answer to a `call`; exactly one of `value` and `error` counts. A long text has a form of its own. */
export interface ReplyMessage {
  type: "reply";
  sid: number;
  id: number;
  value?: unknown;
  error?: ErrorData;
}
/** Asks for a heartbeat. */
interface PingMessage {
  type: "ping";
  n: number;
}

/** Host → guest. */
export type HostMessage = LoadMessage | OpenMessage | CreditMessage | CancelMessage | ReplyMessage | PingMessage;

/** Longest text of an {@link AdapterIdentity}, in UTF-16 units. */
export const maxIdentityText = 256;

/** An adapter's word on who it is. */
export interface AdapterIdentity {
  id?: string;
  name?: string;
  version?: string;
}

/** The adapter is loaded and complete, or the reason why it is not. */
interface LoadedMessage {
  type: "loaded";
  protocol: number;
  /** Values of the adapter's own id, name and version that are texts. */
  identity?: AdapterIdentity;
  error?: ErrorData;
}
/** A batch of events from the adapter, as a packed list: see `unpackEvents`. */
interface EventsMessage {
  type: "events";
  sid: number;
  events: unknown[];
}
/** Asks the broker for something. */
interface CallMessage {
  type: "call";
  sid: number;
  id: number;
  op: string;
  args: unknown;
}
/** The session is over on the guest's side; no more messages of it follow. */
export interface DoneMessage {
  type: "done";
  sid: number;
  /** The adapter's own name of the model that was asked for. */
  model?: string;
  value?: unknown;
  error?: ErrorData;
}
/** The heartbeat; `n` is the ping's. */
interface PongMessage {
  type: "pong";
  n: number;
}
/** The thread cannot go on; the host ends it, with all its sessions. */
interface FailedMessage {
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
  | { type: "open_lane"; lane: number; heap_mb: number; descriptor?: number }
  | { type: "close_lane"; lane: number }
  | { type: "stop" };

/** Warden → host, on lane 0. */
export type WardenReport =
  | { type: "ready"; protocol: number }
  | { type: "lane_closed"; lane: number; reason: "exit" | "out_of_memory" | "error" | "closed"; message: string }
  | { type: "stats"; rss_bytes: number; cpu_ms: number };
