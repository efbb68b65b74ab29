import type { Envelope, HostEvent, PermissionResolvedEvent } from "../../../../plugin-sdk/envelope.ts";
import type {
  AdapterEvent,
  FileChangeEvent,
  PlanEvent,
  ToolResultEvent,
  UnparsedEvent,
  UsageEvent,
} from "../../../../plugin-sdk/events.ts";
import { refusalOf } from "../../../ground/checks/refused-event.ts";
import { asTyped } from "./as-typed.ts";
import type { Tone } from "./paint.ts";
import { copiedText, formatCost, formatCount, formatDuration } from "./quantities.ts";
import { shortInput, shortJson } from "./short-json.ts";

/** One line about an event, before it is cleaned, fitted and coloured. */
export interface EventLine {
  tone: Tone;
  text: string;
  /** Never shortened: a command to copy. */
  whole?: true;
}

interface EventLineOptions {
  /** Also show allowed actions, and every process. */
  verbose?: boolean;
  /** The agent's words for the choice that answers a request; where they are not known, its id is shown. */
  choiceLabel?: string | undefined;
}

/**
 * Formats one event as lines. Flowing text (`output`, `thinking`, the output of `completed`) and the end
 * (`session_ended`, `artifacts`, `git`, `held`) give none: the live view and the result show them.
 */
export function eventLines(event: Envelope["event"], options: EventLineOptions = {}): EventLine[] {
  switch (event.type) {
    case "output":
    case "thinking":
    case "git":
    case "artifacts":
    case "held":
    case "session_ended":
    // The next event says that the request is closed.
    case "request_withdrawn":
      return [];
    case "tool_call":
      return [line("cyan", `→ ${event.tool}  ${shortInput(event.input)}`)];
    case "tool_result":
      return [toolResult(event)];
    case "file_change":
      return [fileChange(event)];
    case "progress":
      return [line("plain", progress(event.message, event.percentage))];
    case "plan":
      return plan(event);
    case "usage":
      return usage(event);
    case "permission_request":
      return [line("yellow", `? ${event.tool} asks: ${event.title}`)];
    case "question":
      return [line("yellow", `? ${event.question}`)];
    case "rate_limit":
      return [line("yellow", `… rate limit: ${event.message}${wait(event.wait_ms)}`)];
    case "agent_info":
      return [line("dim", agentInfo(event))];
    case "unparsed":
      return [unparsed(event)];
    case "completed":
      return event.success ? [] : [line("red", "✗ the agent reports failure")];
    case "error":
      return [line(event.recoverable ? "yellow" : "red", `✗ ${event.code}: ${event.message}`)];
    default:
      return hostEventLines(event, options);
  }
}

function hostEventLines(
  event: Exclude<HostEvent, { type: "artifacts" | "git" | "held" | "session_ended" }>,
  { verbose = false, choiceLabel }: EventLineOptions,
): EventLine[] {
  switch (event.type) {
    case "session_started":
      return [
        line("dim", `● started in ${event.workdir}`),
        ...(event.copied === undefined ? [] : [line("dim", `  with ${copiedText(event.copied)} in no commit`)]),
      ];
    case "queued":
      return [queuedLine(event)];
    case "attempt_started":
      return event.attempt === 1 ? [] : [line("dim", `↻ attempt ${event.attempt}`)];
    case "attempt_failed":
      // Without a retry, the next event says it: another adapter takes over, or the result.
      if (event.retry_in_ms === null) return [];
      return [
        line("yellow", `✗ attempt ${event.attempt} failed: ${open(event.error.message)}${retry(event.retry_in_ms)}`),
      ];
    case "fallback":
      return [line("yellow", `↪ ${event.to} takes over from ${event.from}: ${event.reason}`)];
    case "process_spawned":
      return [line("dim", `▸ ${commandLine(event.argv)}`)];
    case "process_exited":
      return event.exit_code === 0 && !verbose ? [] : [line("dim", `▹ ${processEnd(event)}`)];
    case "permission_resolved":
      return [line("dim", resolved(event, choiceLabel))];
    case "capability":
      return capability(event, verbose);
    case "worker":
      return [line("red", `✗ worker ${event.state.replaceAll("_", " ")}: ${event.message}`)];
    case "gap":
      return [
        line(
          "yellow",
          `… events ${event.from_seq} to ${event.to_seq} ` +
            (event.damaged === true ? "were lost with a damaged journal" : "are no longer held"),
        ),
      ];
    default: {
      const unknown: never = event;
      return [line("dim", `… ${shortJson(unknown)}`)];
    }
  }
}

function queuedLine({ reason, retry_in_ms, position }: Extract<HostEvent, { type: "queued" }>): EventLine {
  if (reason !== undefined) return line("yellow", `… waiting: ${open(reason)}${retry(retry_in_ms ?? 0)}`);
  if (retry_in_ms === undefined) return line("dim", `… waiting for a slot, position ${position}`);
  return line("yellow", `… waiting for a worker after crashes, position ${position}${retry(retry_in_ms)}`);
}

function line(tone: Tone, text: string): EventLine {
  return { tone, text };
}

function toolResult(event: ToolResultEvent): EventLine {
  const took = event.duration_ms === null ? "" : `  ${formatDuration(event.duration_ms)}`;
  const said = shortJson(event.output);
  return line(event.success ? "dim" : "red", `← ${event.tool} ${event.success ? "ok" : "failed"}${took}  ${said}`);
}

function fileChange(event: FileChangeEvent): EventLine {
  switch (event.action) {
    case "create":
      return line("green", `+ ${event.path}`);
    case "modify":
      return line("yellow", `~ ${event.path}`);
    case "delete":
      return line("red", `- ${event.path}`);
    case "rename":
      return line("yellow", `~ ${event.from ?? "?"} → ${event.path}`);
  }
}

function progress(message: string, percentage: number | undefined): string {
  if (percentage === undefined) return `· ${message}`;
  const cells = Math.round(percentage / 10);
  const bar = "▰".repeat(cells) + "▱".repeat(10 - cells);
  return `${bar} ${String(Math.round(percentage)).padStart(3)}%  ${message}`;
}

function plan(event: PlanEvent): EventLine[] {
  const marks = { pending: "☐", in_progress: "◐", completed: "☑" } as const;
  return event.entries.map((entry) =>
    line(entry.status === "completed" ? "dim" : "plain", `${marks[entry.status]} ${entry.content}`)
  );
}

function usage(event: UsageEvent): EventLine[] {
  const parts = [
    ...(event.tokens_in === null ? [] : [`${formatCount(event.tokens_in)} tokens in`]),
    ...(event.tokens_out === null ? [] : [`${formatCount(event.tokens_out)} out`]),
    ...(event.cost === null ? [] : [formatCost(event.cost, event.currency ?? null)]),
  ];
  return parts.length === 0 ? [] : [line("dim", `· ${parts.join(", ")} (${event.scope})`)];
}

function unparsed(event: UnparsedEvent): EventLine {
  const refusal = refusalOf(event);
  if (refusal === null) return line("dim", `… ${shortJson(event.data)}`);
  return { tone: "red", text: `✗ event refused: ${refusal.problem}`, whole: true };
}

function agentInfo(event: Extract<AdapterEvent, { type: "agent_info" }>): string {
  const parts = [
    event.agent_version,
    event.model,
    event.tools === undefined ? undefined : `${event.tools.length} tools`,
    event.agent_session_id === undefined ? undefined : `session ${event.agent_session_id}`,
  ];
  return `· ${parts.filter((part) => part !== undefined).join(" · ") || "agent started"}`;
}

function capability(event: Extract<HostEvent, { type: "capability" }>, verbose: boolean): EventLine[] {
  if (event.decision === "allowed") {
    if (event.reason !== undefined) return [line("yellow", `! ${event.permission} ${event.target}: ${event.reason}`)];
    return verbose ? [line("dim", `✓ allowed ${event.permission} ${event.target}`)] : [];
  }
  const denied = line("red", `✗ denied ${event.permission} ${event.target}`);
  const below = [event.reason ?? null, remedy(event)].filter((text) => text !== null);
  return [denied, ...below.map((text) => ({ tone: "dim" as const, text: `  ${text}`, whole: true as const }))];
}

/** Says what would allow a denied action. */
function remedy(event: Extract<HostEvent, { type: "capability" }>): string | null {
  if (event.manifest_entry !== undefined) return `add to plugin.yaml: ${event.manifest_entry}`;
  if (event.grantable === false) return "granting it would not help: plugin.yaml, the request or a denial rules it out";
  return event.grant_command === undefined ? null : `to allow it: ${asTyped(event.grant_command)}`;
}

function commandLine(argv: readonly string[]): string {
  const [program = "", ...rest] = argv;
  return [program.split(/[\\/]/).at(-1), ...rest.map(shortPath)].join(" ");
}

/** Shortens a long absolute path to its last two names. */
function shortPath(argument: string): string {
  return argument.length > 40 && /^\/\S*$/.test(argument) ? `…/${argument.split("/").slice(-2).join("/")}` : argument;
}

function processEnd(event: Extract<HostEvent, { type: "process_exited" }>): string {
  const how = event.signal === null
    ? event.exit_code === null ? "ended (exit code unknown)" : `exited with ${event.exit_code}`
    : `was ended by ${event.signal}`;
  return `process ${event.pid} ${how} after ${formatDuration(event.duration_ms)}`;
}

function resolved({ by, choice }: PermissionResolvedEvent, label: string | undefined): string {
  if (by === "deadline") return "✗ no answer came in time";
  if (by === "agent") return "✗ not answered: the agent no longer waits for it";
  if (by === "session_end" || choice === null) return "✗ not answered";
  return `✓ answered${by === "policy" ? " by policy" : ""}: ${label ?? choice}`;
}

/** A sentence without its period, to go on from. */
function open(sentence: string): string {
  return sentence.replace(/\.$/, "");
}

function retry(ms: number | null): string {
  return ms === null ? "" : `; next try in ${formatDuration(ms)}`;
}

function wait(ms: number | null): string {
  return ms === null ? "" : `; wait ${formatDuration(ms)}`;
}
