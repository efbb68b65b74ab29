import type { TurnTerms } from "./request.ts";
import type { AttachmentPart } from "./messages.ts";

/** A word of the client into a running turn. */
export interface TurnMessage {
  readonly message_id: string;
  readonly text: string;
  /** Images and files that the adapter takes; `text` names the others. Absent: none. */
  readonly content?: readonly AttachmentPart[];
}

/** One prompt of a session, and the work on it until its last word. */
export interface Turn extends Readonly<TurnTerms> {
  /** Counts the turns of the conversation, from 1. */
  readonly number: number;
  /** The complete prompt, as the host builds it. */
  readonly prompt: string;
  /** Images and files that the adapter takes; `prompt` names the others. Absent: none. */
  readonly content?: readonly AttachmentPart[];
  /** JSON Schema for this turn's `structured_output`. Only for `accepts: [output_schema]`. */
  readonly output_schema?: Record<string, unknown>;
  /**
   * Whether the host may give another turn to the same entry. If not, end the agent's program with its last word: the next
   * message enters the adapter again.
   */
  readonly kept: boolean;
  /**
   * Words into this turn, each asked for when the adapter wants one; ends with the turn. Yield a `message` event for each:
   * `taken` once the agent has it, `returned` if it came too late. Only for `accepts: [steer]`.
   */
  readonly messages: AsyncIterable<TurnMessage>;
  /** Aborts when this turn is to stop, and not the session. Only for `accepts: [stop_turn]`. */
  readonly signal: AbortSignal;
}
