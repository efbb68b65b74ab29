import type { OperationName, Operations } from "../channel/operations.ts";
import type { SchemaOf } from "../../../plugin-sdk/schema.ts";
import type { Authority } from "./authority.ts";
import type { LogGate } from "./log-gate.ts";
import type { SessionProcesses } from "./session-processes.ts";
import type { AttachedFile, SessionBrokerOptions } from "./session-broker.ts";
import type { SessionSecrets } from "./session-secrets.ts";
import type { SessionSockets } from "./session-sockets.ts";
import type { SessionWalls } from "./session-walls.ts";
import type { StreamTable } from "./stream-table.ts";

/** State shared by all operations of one session. */
export interface BrokerScope {
  readonly options: SessionBrokerOptions;
  readonly authority: Authority;
  readonly streams: StreamTable;
  readonly processes: SessionProcesses;
  readonly sockets: SessionSockets;
  readonly log: LogGate;
  readonly secrets: SessionSecrets;
  readonly walls: SessionWalls;
  /** Aborts when the session ends. */
  readonly signal: AbortSignal;
  readonly held: HeldBySession;
  /** Does file calls in this plugin's turn; refuses once the session has ended. */
  onDisk<T>(act: () => Promise<T>): Promise<T>;
}

/** Counts and files that operations keep for their session. */
interface HeldBySession {
  /** Responses of `fetch` that are open. */
  openFetches: number;
  /** Bytes written to each file of the temporary folder. */
  readonly temporaryBytes: Map<string, number>;
  /** The image or file that is being read; null before. Only one at a time takes memory. */
  attachment: { sha256: string; file: Promise<AttachedFile> } | null;
  /** Folder of the file that names the session's MCP servers, and its path once it is written; null before. */
  mcpConfig: { folder: string; file: Promise<string> } | null;
}

/** Definition of one operation. */
interface OperationDefinition<N extends OperationName> {
  args: SchemaOf<Operations[N]["args"]>;
  /** True for one that waits for a program, a person or a far end: the usual call timeout does not apply. */
  waits?: boolean;
  perform(scope: BrokerScope, args: Operations[N]["args"]): Promise<Operations[N]["value"]>;
}

/** An operation in the broker's table. */
export interface Operation {
  readonly name: OperationName;
  readonly args: SchemaOf<unknown>;
  readonly waits: boolean;
  /** `args` have been checked against {@link args}. */
  perform(scope: BrokerScope, args: unknown): Promise<unknown>;
}

/** Makes an entry for the broker's table. */
export function operation<N extends OperationName>(name: N, definition: OperationDefinition<N>): Operation {
  return {
    name,
    args: definition.args as SchemaOf<unknown>,
    waits: definition.waits ?? false,
    // The broker has checked the arguments against the schema of exactly this type.
    perform: (scope, args) => definition.perform(scope, args as Operations[N]["args"]),
  };
}
