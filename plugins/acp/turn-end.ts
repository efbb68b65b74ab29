import {
  type AdapterEvent,
  type ErrorEvent,
  fieldsOrNone,
  type JsonFields,
  numberOf,
  textOf,
} from "bulkhead/plugin-sdk";
import { type AgentFailure, failureOf, failureOfStop, meaningOf } from "./failures.ts";
import type { Habits } from "./habits.ts";
import { type TurnUsage, usageOf } from "./usage.ts";

/** Signs of how a turn went. */
export interface TurnSigns {
  /** Whether the agent used a tool or made a plan. */
  worked: boolean;
  /** The last piece of text, where no tool call came after it. */
  lastText: string;
  /** State of the thread, where the agent tells it. */
  state: string | undefined;
  /** The last error that the agent reported beside its answer. */
  error: { text: string; status: number | null } | null;
  /** Whether the agent's own account shows that its model's last answer broke off. */
  broke: boolean;
}

/** Result of a turn. */
export interface TurnSummary {
  /** Events that were held back. */
  events: AdapterEvent[];
  /** The agent's last message. */
  output: string;
  /** Files that the agent says it has changed. */
  files_changed: string[];
  usage: TurnUsage;
  signs: TurnSigns;
  habits: Habits;
}

/** The client's own knowledge of a turn. */
interface TurnContext {
  prompt: string;
  /** Whether something was not permitted. */
  rejected: boolean;
}

/** Returns the last events of a turn that the agent has answered: what it used, and its last word. */
export function turnEnd(answer: JsonFields, turn: TurnSummary, context: TurnContext): AdapterEvent[] {
  const usage = usageOf(answer, turn.usage);
  const failure = failureOfStop(answer["stopReason"], context) ??
    failureOfTurn(turn, { ...context, counted: usage !== null });
  return [
    ...turn.events,
    ...(usage ? [usage] : []),
    failure ?? {
      type: "completed",
      success: true,
      ...(turn.output === "" ? {} : { output: turn.output }),
      files_changed: turn.files_changed,
      tokens_used: null,
      cost: null,
    },
  ];
}

/** Returns the last events of a turn that the agent has answered with an error. */
export function turnFailure(error: AgentFailure, turn: TurnSummary): AdapterEvent[] {
  const usage = usageOf({}, turn.usage);
  return [...turn.events, ...(usage ? [usage] : []), failureOf(error, turn.habits)];
}

/** Returns the last events of a turn that the client has stopped. */
export function turnStop(turn: TurnSummary): AdapterEvent[] {
  const usage = usageOf({}, turn.usage);
  const stopped: ErrorEvent = {
    type: "error",
    code: "interrupted",
    message: "The turn was stopped.",
    recoverable: false,
  };
  return [...turn.events, ...(usage ? [usage] : []), stopped];
}

/** Reads an agent's facts about its thread from a `session_info_update`, under the key that is its own. */
export function threadOf({ _meta }: JsonFields, { state_in }: Habits): Pick<TurnSigns, "state" | "error"> {
  if (state_in === undefined) return { state: undefined, error: null };
  const told = fieldsOrNone(fieldsOrNone(_meta)[state_in]);
  const state = textOf(fieldsOrNone(told["threadStatus"])["type"]);
  const { message, additionalDetails, codexErrorInfo } = fieldsOrNone(told["error"]);
  const text = [message, additionalDetails].flatMap((one) => textOf(one) ?? []).join(": ");
  // The kind of error is the only key, with the status as one of its fields.
  const [kind] = Object.values(fieldsOrNone(codexErrorInfo));
  const status = numberOf(fieldsOrNone(kind)["httpStatusCode"]);
  return { state, error: text === "" ? null : { text, status } };
}

/**
 * Returns the error of a turn that failed though its answer says `end_turn`; null for one that went well. Agents answer
 * so when their model cannot be reached, and hide it in a text, a state, or nothing at all.
 */
function failureOfTurn(
  turn: TurnSummary,
  { prompt, rejected, counted }: TurnContext & { counted: boolean },
): ErrorEvent | null {
  const { signs, habits } = turn;
  const said = signs.lastText.trim();
  if (signs.state !== undefined && signs.state === habits.failed_state) return toldFailure(said, signs);
  if (habits.failure_text?.test(said)) return toldFailure(said, signs);
  // A command of the agent's own needs no model, and may say nothing.
  if (/^\s*\/\w/.test(prompt)) return null;
  const why = silence(turn, { rejected, counted });
  return why === null ? null : { type: "error", code: "unavailable", message: why, recoverable: true };
}

function toldFailure(said: string, { error }: TurnSigns): ErrorEvent {
  const message = said || error?.text || "The agent says that its turn failed, and not why.";
  const [code, recoverable] = meaningOf(message, error?.status);
  return { type: "error", code, message, recoverable };
}

function silence(
  { signs, habits, output }: TurnSummary,
  { rejected, counted }: { rejected: boolean; counted: boolean },
): string | null {
  if (!counted && !signs.worked && output.trim() === "") {
    return "The agent ended its turn without a word: its model gave no answer.";
  }
  // An agent that is told no may leave it at that.
  if (habits.speaks_last && !rejected && signs.lastText === "") {
    return "The agent ended its turn after a tool's result, without a word: its model gave no more answer.";
  }
  if (signs.broke) return "The agent's model gave no whole answer: the agent did not count it.";
  if (habits.counts_every_turn && signs.state === undefined && !counted) {
    return "The agent ended its turn without counting a token: its model gave no whole answer.";
  }
  return null;
}
