import type { Envelope, HostEvent } from "../../../plugin-sdk/envelope.ts";
import { formatCost } from "../../../plugin-sdk/currency.ts";
import { shortId } from "../log/short-id.ts";
import { refusalOf } from "./refused-event.ts";

/** Importance of an event for a person. */
export type Weight = "debug" | "info" | "warning" | "error";

/** An event in words, which every door shows in its own way. */
interface EventWords {
  /** A sign for a terminal. */
  icon: string;
  weight: Weight;
  /** Kind of the event, for one whose text does not tell it. */
  tag?: string;
  /** Begins small, and may hold an agent's text of any length and with any characters. */
  text: string;
  /** Advice to a person. */
  hint?: string | undefined;
}

/** How a door writes numbers. */
export interface EventFigures {
  duration(ms: number): string;
  count(count: number): string;
}

/** Puts an event into words. Texts that a door shows in full, such as output and plans, are told in short. */
export function eventWords(event: Envelope["event"], figures: EventFigures): EventWords {
  switch (event.type) {
    case "output":
      return { icon: "", weight: event.stream === "stdout" ? "info" : "warning", text: event.data };
    case "thinking":
      return { icon: "", weight: "info", text: event.content };
    case "tool_call":
      return { icon: "→", weight: "info", text: `the agent uses ${event.tool}` };
    case "tool_result":
      return event.success
        ? { icon: "←", weight: "info", text: `the tool ${event.tool} is done` }
        : { icon: "←", weight: "warning", text: `the tool ${event.tool} failed` };
    case "file_change":
      return { icon: "~", weight: "info", text: `the agent says: ${event.action} ${event.path}` };
    case "progress": {
      const part = event.percentage === undefined ? "" : ` (${Math.round(event.percentage)} %)`;
      return { icon: "·", weight: "info", text: `${event.message}${part}` };
    }
    case "plan": {
      const done = event.entries.filter(({ status }) => status === "completed").length;
      return { icon: "☐", weight: "info", tag: "plan", text: `${done} of ${event.entries.length} done` };
    }
    case "usage":
      return { icon: "·", weight: "debug", text: usageText(event, figures) };
    case "permission_request":
      return { icon: "?", weight: "warning", tag: `${event.tool} asks`, text: event.title };
    case "question":
      return { icon: "?", weight: "warning", tag: "the agent asks", text: event.question };
    case "request_withdrawn":
      return { icon: "✗", weight: "debug", text: "the agent takes its request back" };
    case "message": {
      const text = event.state === "taken" ? "the agent has read a message" : "a message came too late for this turn";
      return { icon: "·", weight: "debug", text };
    }
    case "turn_began":
      return { icon: "·", weight: "debug", text: "the agent goes on by itself" };
    case "agent_started":
      return { icon: "▸", weight: "info", tag: "agent", text: event.name };
    case "agent_ended":
      return event.outcome === "completed"
        ? { icon: "▹", weight: "debug", text: `agent ${event.agent_id} is done` }
        : { icon: "✗", weight: "warning", text: `agent ${event.agent_id}: ${event.outcome}` };
    case "rate_limit": {
      const wait = event.wait_ms === null ? "" : `; wait ${figures.duration(event.wait_ms)}`;
      return { icon: "…", weight: "warning", tag: "rate limit", text: `${event.message}${wait}` };
    }
    case "agent_info":
      return { icon: "·", weight: "debug", text: agentText(event) };
    case "unparsed": {
      const refusal = refusalOf(event);
      return refusal === null
        ? { icon: "…", weight: "debug", tag: "not understood by the adapter", text: JSON.stringify(event.data) ?? "" }
        : { icon: "✗", weight: "warning", tag: "event refused", text: refusal.problem };
    }
    case "completed":
      return event.success
        ? { icon: "✓", weight: "info", text: "the agent is done" }
        : { icon: "✗", weight: "error", text: "the agent reports failure" };
    case "error":
      return { icon: "✗", weight: event.recoverable ? "warning" : "error", tag: event.code, text: event.message };
    default:
      return hostWords(event, figures);
  }
}

function hostWords(event: HostEvent, figures: EventFigures): EventWords {
  switch (event.type) {
    case "session_started":
      return { icon: "●", weight: "debug", text: `started in ${event.workdir}` };
    case "queued":
      return queuedWords(event, figures);
    case "attempt_started": {
      const weight = event.attempt === 1 ? "debug" : "info";
      return { icon: "↻", weight, text: `attempt ${event.attempt} on ${event.adapter_id}` };
    }
    case "attempt_failed": {
      const text = `${open(event.error.message)}${retry(event.retry_in_ms, figures)}`;
      return { icon: "✗", weight: "warning", tag: `attempt ${event.attempt} failed`, text, hint: event.error.hint };
    }
    case "fallback": {
      const text = `${event.to} takes over from ${event.from}: ${event.reason}`;
      return { icon: "↪", weight: "warning", tag: "fallback", text };
    }
    case "process_spawned":
      return { icon: "▸", weight: "debug", tag: "program", text: event.argv.join(" ") };
    case "process_exited":
      return { icon: "▹", weight: "debug", text: endText(event, figures) };
    case "permission_resolved":
      return answerWords(event);
    case "capability": {
      const { decision, permission, target, reason } = event;
      const use = `${permission} ${target}`;
      if (event.needed === false) return { icon: "·", weight: "debug", text: `denied ${use}, which it does not need` };
      if (decision === "denied") {
        return { icon: "✗", weight: "warning", tag: `denied ${use}`, text: reason ?? "not granted" };
      }
      if (reason !== undefined) return { icon: "!", weight: "warning", tag: use, text: reason };
      return { icon: "✓", weight: "debug", text: `allowed ${use}` };
    }
    case "worker":
      return { icon: "✗", weight: "error", tag: `worker ${event.state.replaceAll("_", " ")}`, text: event.message };
    case "git": {
      const weight = event.changes.every(({ outcome }) => outcome === "moved") ? "info" : "warning";
      const text = event.changes.map(({ name, outcome }) => `${name} ${outcome}`).join(", ");
      return { icon: "·", weight, tag: "git", text };
    }
    case "artifacts": {
      const count = event.artifacts === null ? "not known" : `${event.artifacts.length + (event.omitted ?? 0)}`;
      return { icon: "·", weight: "debug", tag: "changed paths", text: count };
    }
    case "held":
      return heldWords(event);
    case "message_accepted":
      return { icon: "»", weight: "info", tag: tagOf(event), text: contentText(event.content) };
    case "message_changed":
      return { icon: "»", weight: "info", tag: "message changed", text: contentText(event.content) };
    case "message_sent":
      return { icon: "»", weight: "debug", text: "a message goes to the agent" };
    case "message_delivered": {
      const text = event.how === "injected"
        ? "a message is in this turn"
        : `a message is the prompt of turn ${event.turn}`;
      return { icon: "✓", weight: "debug", text };
    }
    case "message_dropped":
      return droppedWords(event);
    case "turn_started": {
      const text = `turn ${event.turn}${event.by === "agent" ? ", which the agent began itself" : ""}`;
      return { icon: "●", weight: "info", text };
    }
    case "turn_ended": {
      const { outcome, stop_reason, turn, error } = event;
      if (stop_reason === "end_turn") return { icon: "■", weight: "info", text: `turn ${turn} ended` };
      const weight = outcome === "completed" ? "info" : "error";
      return { icon: "■", weight, tag: `turn ${turn} ended`, text: error?.message ?? stop_reason, hint: error?.hint };
    }
    case "model_call":
      return callWords(event, figures);
    case "rewound": {
      const { undo, to, files, left } = event;
      const goal = undo
        ? "the rewind before was taken back"
        : `as ${to === 0 ? "before all turns" : `after turn ${to}`}`;
      const stayed = left === 0 ? "" : `, ${left} left alone`;
      return { icon: "↶", weight: "info", tag: "files taken back", text: `${goal}: ${files} changed${stayed}` };
    }
    case "gap": {
      const lost = event.damaged === true;
      const text = `events ${event.from_seq} to ${event.to_seq} ${
        lost ? "were lost with a damaged journal" : "are no longer held"
      }`;
      return { icon: "…", weight: lost ? "error" : "warning", text };
    }
    case "session_ended": {
      const { outcome, stop_reason } = event.result;
      return { icon: "■", weight: outcome === "completed" ? "info" : "error", tag: "session ended", text: stop_reason };
    }
    default: {
      // An event of a newer version, from a daemon or a journal.
      const unknown: never = event;
      return { icon: "…", weight: "debug", text: JSON.stringify(unknown) };
    }
  }
}

type EventOf<T extends Envelope["event"]["type"]> = Extract<Envelope["event"], { type: T }>;

function usageText(event: EventOf<"usage">, to: EventFigures): string {
  const { tokens_in, tokens_out, cost, currency, scope, model, partial } = event;
  const parts = [
    ...(tokens_in === null ? [] : [`${to.count(tokens_in)} tokens in`]),
    ...(tokens_out === null ? [] : [`${to.count(tokens_out)} out`]),
    ...(cost === null ? [] : [formatCost(cost, currency ?? null)]),
  ];
  const told = parts.length === 0 ? "tokens unknown" : `${partial === true ? "at least " : ""}${parts.join(", ")}`;
  return `${told} (${scope})${model === undefined ? "" : ` · ${model}`}`;
}

function callWords(event: EventOf<"model_call">, to: EventFigures): EventWords {
  const { model, status, refused, budget, tokens_in, tokens_out, cost, currency, partial } = event;
  if (refused !== undefined) {
    return {
      icon: "✗",
      weight: "warning",
      tag: "model call refused",
      text: `${budget === undefined ? "" : `budget ${budget}: `}${refused.replaceAll("_", " ")} is spent`,
    };
  }
  const text = usageText({
    type: "usage",
    scope: "turn",
    tokens_in,
    tokens_out,
    tokens_cached: null,
    cost,
    ...(currency === null ? {} : { currency }),
    ...(partial ? { partial } : {}),
  }, to);
  const how = status === null ? ", no answer" : status >= 400 ? `, HTTP ${status}` : "";
  return { icon: "·", weight: "debug", text: `model call${model === null ? "" : ` of ${model}`}: ${text}${how}` };
}

function agentText({ agent_version, model, tools, agent_session_id }: EventOf<"agent_info">): string {
  const parts = [
    agent_version && `agent ${agent_version}`,
    model,
    tools && `${tools.length} tools`,
    agent_session_id && `session ${agent_session_id}`,
  ];
  return parts.filter(Boolean).join(" · ") || "agent started";
}

function queuedWords({ reason, retry_in_ms, position }: EventOf<"queued">, figures: EventFigures): EventWords {
  if (reason !== undefined) {
    return { icon: "…", weight: "warning", tag: "waiting", text: `${open(reason)}${retry(retry_in_ms, figures)}` };
  }
  const why = retry_in_ms === undefined ? "for a slot" : "for a worker after crashes";
  return { icon: "…", weight: "info", text: `waiting ${why}, position ${position}${retry(retry_in_ms, figures)}` };
}

function endText({ pid, exit_code, signal, duration_ms }: EventOf<"process_exited">, figures: EventFigures): string {
  const code = exit_code === null ? "ended (exit code unknown)" : `exited with ${exit_code}`;
  const how = signal === null ? code : `was ended by ${signal}`;
  return `process ${pid} ${how} after ${figures.duration(duration_ms)}`;
}

function answerWords({ by, choice }: EventOf<"permission_resolved">): EventWords {
  if (by === "deadline") return { icon: "✗", weight: "debug", text: "no answer came in time" };
  if (by === "agent") return { icon: "✗", weight: "info", text: "not answered: the agent no longer waits for it" };
  if (by === "session_end" || choice === null) return { icon: "✗", weight: "debug", text: "not answered" };
  return { icon: "✓", weight: "debug", tag: by === "policy" ? "answered by policy" : "answered", text: choice };
}

function heldWords({ held, install_scripts }: EventOf<"held">): EventWords {
  const named = held.map(({ path, by }) => `${path} (${by})`);
  const scripts = install_scripts.map(({ path, names }) => `${path} (an install runs ${names.join(", ")})`);
  const weight = held.length === 0 ? "warning" : "error";
  return { icon: "!", weight, tag: "changes that can run programs", text: [...named, ...scripts].join(", ") };
}

function tagOf({ by, delivery }: EventOf<"message_accepted">): string {
  const how = { queue: "message", steer: "message into this turn", interrupt: "message instead of this turn" };
  return `${how[delivery]} of ${by.client}`;
}

/** Returns a message's text, with the types of its images and files. */
export function contentText(content: EventOf<"message_accepted">["content"]): string {
  return content.map((part) => part.type === "text" ? part.text : `[${part.mime_type}]`).join(" ");
}

function droppedWords({ reason, to }: EventOf<"message_dropped">): EventWords {
  const why = {
    withdrawn: "it was withdrawn",
    unsure: "the agent may have seen it or not",
    turn_failed: "the turn before it failed",
    session_ended: "the session ended",
    host_restarted: "the host stopped",
    moved: `session ${to === undefined ? "unknown" : shortId(to)} takes it`,
  };
  const isLoss = reason !== "withdrawn" && reason !== "moved";
  return { icon: "✗", weight: isLoss ? "warning" : "debug", tag: "message not delivered", text: why[reason] };
}

/** A sentence without its period, to go on from. */
function open(sentence: string): string {
  return sentence.replace(/\.$/, "");
}

function retry(ms: number | null | undefined, { duration }: EventFigures): string {
  return ms === null || ms === undefined ? "" : `; next try in ${duration(ms)}`;
}
