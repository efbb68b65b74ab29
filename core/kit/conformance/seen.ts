import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { ConformanceScript, ScriptedSession } from "./script.ts";

/** Behaviours of a scripted tool in a session: as its script says, or one of the ways in which tools misbehave. */
export const toolModes = [
  "play",
  "exits",
  "garbage",
  "half",
  "hangs",
  "floods",
  "dies",
  "long_line",
  "rate_limit",
  "missing",
] as const;

/** One of {@link toolModes}. */
export type ToolMode = (typeof toolModes)[number];

/** One session that the kit ran. */
export interface Take {
  /** Its name in `conformance.yaml`. */
  session: string;
  mode: ToolMode;
  /** Events that the adapter yielded, as they reached the journal. */
  events: AdapterEvent[];
  envelopes: Envelope[];
  result: SessionResult | null;
  /** Why it could not be started. */
  refused: ErrorData | null;
  /** From the interrupt to the end of the session, or of the turn, in milliseconds; null when it was not interrupted. */
  stopped_ms: number | null;
  /** Paths in the working directory that differ from before. */
  changed: string[];
}

/** Result of a call of one member. */
interface Returned {
  /** As `typeof` says. */
  type: string;
  value?: unknown;
  thrown?: { name: string; message: string; code: string | null };
}

/** The adapter's statements about itself, in a compartment behind its walls. */
export interface Members {
  /** `typeof` of each member that every adapter has. */
  types: Record<string, string>;
  id: unknown;
  name: unknown;
  version: unknown;
  capabilities: unknown;
  access_modes: unknown;
  /** Result of each call, by the member's name. */
  calls: Record<string, Returned>;
  /** `validateModel()` by the model that was asked for. */
  models: Record<string, Returned>;
  /** The detector's answers, by the text it was shown. */
  detected: Record<string, { detected: unknown; wait: unknown; thrown?: string }>;
}

/** The kit's observations of a plugin: all that rules look at. */
export interface Seen {
  folder: string;
  manifest: Manifest;
  /** All that the manifest asks for. */
  permissions: Permissions;
  script: ConformanceScript;
  /** The package's `package.json`, or null where there is none that can be read. */
  package_json: Record<string, unknown> | null;
  names: string[];
  load_error: ErrorData | null;
  members: Members | null;
  /** Characters read from programs and servers while the kit did not pull; null when it reads none. */
  read_unasked: number | null;
  /** Calls of the adapter that were open when its session was over; null when that was not seen. */
  open_calls: string[] | null;
  /** Its reaction to a missing program or server. */
  missing: { availability: Returned; last: AdapterEvent["type"] | null; success: boolean; code: string | null } | null;
  /** Fields of a request that were looked at, and all that went to programs and servers. */
  fields: { read: string[]; sent: string } | null;
  /** Fields that the request asked for. */
  traced: Partial<SessionRequest>;
  /** All that was heard of the sessions in which the adapter was looked at. */
  asked: Envelope[];
  /** Each scripted session, its tools doing what their script says. */
  plain: Take[];
  /** The first of them once more. */
  again: Take | null;
  interrupted: Take | null;
  /** A session of the real program whose calls a record answered; null where none was given. */
  wire: Take | null;
  /** Sessions with several turns, and the messages of each. */
  talks: { take: Take; messages: NonNullable<ScriptedSession["messages"]> }[];
  /** Types of the events that came after the adapter had asked for the next turn; null where that is not looked at. */
  late: string[] | null;
  /** Sessions whose tool misbehaves. */
  modes: Partial<Record<ToolMode, Take>>;
  /** Hosts and secrets that were used where the kit stands in for servers. */
  used: { net: string[]; secrets: string[] };
  /** Programs that the manifest names and no script stands in for. */
  unscripted: string[];
  /** Whether programs or servers are scripted, so that they can misbehave. */
  scripted: boolean;
}

/** Every session whose tools did what their script says. */
export function ordinary(seen: Seen): Take[] {
  return [...seen.plain, ...[seen.again, seen.wire].filter((take) => take !== null)];
}

/** Every session that was run. */
export function allTakes(seen: Seen): Take[] {
  const interrupted = seen.interrupted === null ? [] : [seen.interrupted];
  const talks = seen.talks.map(({ take }) => take);
  return [...ordinary(seen), ...interrupted, ...talks, ...Object.values(seen.modes)];
}

/** Why sessions ended before their work, where a variable or secret is not set here; null where none did. */
export function unsetVariable(seen: Seen): string | null {
  const errors = ordinary(seen).flatMap(({ result }) => result?.error ?? []);
  return errors.find(({ code }) => code === "env_missing")?.message ?? null;
}

/** How a session is called in a finding. */
export function nameOf({ session, mode }: Take): string {
  return mode === "play" ? session : `${session} (tool: ${mode})`;
}
