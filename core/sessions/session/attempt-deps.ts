import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { StopReason } from "../../../plugin-sdk/result.ts";
import type { Deadlines } from "./deadlines.ts";
import type { EventAllowance } from "./event-allowance.ts";
import type { EventRules } from "./event-rules.ts";
import type { OpenRequests } from "./open-requests.ts";
import type { RunningSessionDeps, RunningSessionOptions } from "./session-options.ts";
import type { SessionGit } from "./session-git.ts";
import type { SessionStream } from "./session-stream.ts";
import type { UsageMeter } from "./usage-meter.ts";

/** Collaborators of an attempt that all attempts of a session share. */
export interface AttemptDeps {
  session: RunningSessionOptions;
  host: Pick<RunningSessionDeps, "redactor" | "guarded" | "makeBroker" | "askGrant">;
  stream: SessionStream;
  rules: EventRules;
  requests: OpenRequests;
  deadlines: Deadlines;
  usage: UsageMeter;
  allowance: EventAllowance;
  git: SessionGit;
  /** The session's own folder; created on first use. */
  scratch: string;
  /** Aborts when the session must end. */
  signal: AbortSignal;
  /** The highest process id so far in the stream. */
  processes: { lastId: number };
  /** Ends the whole session. */
  stop(reason: StopReason, error: ErrorData): void;
  /** Called when an event changes what a budget counts. */
  onUsed(): void;
  /** Called before the session's scratch folder may be used. */
  onScratch(): void;
}
