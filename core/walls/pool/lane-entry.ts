import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { OpenMessage } from "../channel/protocol.ts";
import type { LaneEnd } from "./lane-transport.ts";

/** Options of one entry into an adapter. */
export interface EntryOptions extends Pick<OpenMessage, "call" | "request" | "config" | "facts"> {
  /** Takes a batch of the adapter's events, unchecked. Give its credit back with {@link LaneEntry.addCredit}. */
  onEvents(events: unknown[], batch: EventBatch): void;
  /** Does a broker operation. */
  onCall(operation: string, args: unknown): Promise<unknown>;
}

/** Size and cost of a batch of events. */
export interface EventBatch {
  /** Bytes of its message, counted as if every event in it were whole. */
  bytes: number;
  /** Credit that it cost its sender. */
  credit: number;
  /** The JSON that the list was parsed from, packed or not, where it is known. */
  text?: string | undefined;
}

/** Outcome of an entry. `lost` says that its worker died under it; `model` is the adapter's own name of the model. */
export type EntryEnd = ({ value: unknown } | { error: ErrorData; lost?: LaneEnd }) & { model?: string };

/** Host's handle of one entry into an adapter. */
export interface LaneEntry {
  readonly ended: Promise<EntryEnd>;
  addCredit(credit: number): void;
  /** Begins another turn in it: processor time counts again from zero. */
  beginTurn(): void;
  /** Asks the adapter to end, and ends its worker when even the guest does not answer. */
  cancel(error: ErrorData): void;
}
