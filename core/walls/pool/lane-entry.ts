import type { AgentConfig } from "../../../plugin-sdk/context.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { AdapterCall, SessionFacts } from "../channel/protocol.ts";
import type { LaneEnd } from "./lane-transport.ts";

/** What one entry into an adapter is opened with. */
export interface EntryOptions {
  call: AdapterCall;
  request: SessionRequest | null;
  config: AgentConfig;
  facts: SessionFacts;
  /** Takes a batch of what the adapter yielded, unchecked. Give its credit back with {@link LaneEntry.addCredit}. */
  onEvents(events: unknown[], batch: EventBatch): void;
  /** Does a broker operation. */
  onCall(operation: string, args: unknown): Promise<unknown>;
}

/** What is known of a batch of events. */
export interface EventBatch {
  /** Bytes that it came in. */
  bytes: number;
  /** What it cost its sender. */
  credit: number;
  /** The JSON that the list was parsed from, where it is known. */
  text?: string | undefined;
}

/** How an entry ended. `lost` says that its worker died under it. */
export type EntryEnd = { value: unknown } | { error: ErrorData; lost?: LaneEnd };

/** One entry into an adapter, as the host sees it. */
export interface LaneEntry {
  readonly ended: Promise<EntryEnd>;
  addCredit(credit: number): void;
  /** Asks the adapter to end, and ends its worker when even the guest does not answer. */
  cancel(error: ErrorData): void;
}
