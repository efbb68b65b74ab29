import { textOf } from "../../../../plugin-sdk/conversation.ts";
import type { Envelope, HostEvent, SessionStartedEvent } from "../../../../plugin-sdk/envelope.ts";
import type {
  FileChangeEvent,
  PlanEvent,
  ToolCallEvent,
  ToolResultEvent,
  UnparsedEvent,
} from "../../../../plugin-sdk/events.ts";
import { askedChanges } from "../../../ground/log/edit-text.ts";
import { eventWords, type Weight } from "../../../ground/checks/event-words.ts";
import { refusalOf } from "../../../ground/checks/refused-event.ts";
import { withoutColours } from "./agent-text.ts";
import { asTyped } from "./as-typed.ts";
import type { Tone } from "./paint.ts";
import { copiedText, formatCount, formatDuration, lineCounts, plural } from "./quantities.ts";
import { shortInput, shortJson } from "./input-text.ts";

/** One line about an event, before it is cleaned, fitted and coloured. */
export interface EventLine {
  tone: Tone;
  text: string;
  /** Never shortened: a command to copy is left as it is, and words may go on in further lines. */
  whole?: "command" | "words";
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
export function eventLines(
  event: Envelope["event"],
  { verbose = false, choiceLabel }: EventLineOptions = {},
): EventLine[] {
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
      return toolCall(event);
    case "tool_result":
      return [toolResult(event)];
    case "file_change":
      return [fileChange(event)];
    case "progress":
      return [line("plain", progress(event.message, event.percentage))];
    case "plan":
      return planLines(event.entries);
    case "unparsed":
      return [unparsed(event)];
    case "capability":
      return capability(event, verbose);
    case "session_started":
      return [
        wordsLine(event),
        ...(event.copied === undefined ? [] : [line("dim", `  with ${copiedText(event.copied)} in no commit`)]),
        ...cutWait(event),
      ];
    case "process_spawned":
      return [line("dim", `▸ ${commandLine(event.argv)}`)];
    case "permission_resolved":
      return [wordsLine(event.choice === null ? event : { ...event, choice: choiceLabel ?? event.choice })];
    default:
      return isQuiet(event, verbose) ? [] : [wordsLine(event)];
  }
}

/** Lines of a talk: a turn has its prompt beside it, and a message that begins one at once has no line of its own. */
export class TalkLines {
  /** Prompts that wait, by message; "" is the session's own. */
  readonly #prompts = new Map<string, string>();
  #isWorking = false;

  lines(event: Envelope["event"], options: EventLineOptions): EventLine[] {
    if (event.type === "session_started") this.#prompts.clear();
    if (event.type === "session_started") this.#prompts.set("", event.requested.prompt);
    if (event.type === "message_accepted" || event.type === "message_changed") {
      this.#prompts.set(event.message_id, textOf(event.content));
      if (!this.#isWorking && event.type === "message_accepted") return [];
    }
    if (event.type === "message_dropped") this.#prompts.delete(event.message_id);
    if (event.type === "message_delivered" && event.how === "new_turn") return [];
    if (event.type !== "turn_started") {
      if (event.type === "turn_ended") this.#isWorking = false;
      return eventLines(event, options);
    }
    this.#isWorking = true;
    const ids = event.message_ids.length === 0 && event.by === "client" ? [""] : event.message_ids;
    const prompt = ids.map((id) => this.#prompts.get(id) ?? "").join(" ").trim();
    for (const id of ids) this.#prompts.delete(id);
    return [{ ...wordsLine(event), ...(prompt === "" ? {} : { text: `● turn ${event.turn}: ${prompt}` }) }];
  }
}

/** Events that the next one tells again, or that tell nothing. */
function isQuiet(event: Envelope["event"], verbose: boolean): boolean {
  switch (event.type) {
    case "usage":
      return event.tokens_in === null && event.tokens_out === null && event.cost === null;
    case "completed":
      return event.success;
    case "attempt_started":
      return event.attempt === 1;
    case "attempt_failed":
      return event.retry_in_ms === null;
    case "message":
    case "message_sent":
      return !verbose;
    case "process_exited":
      return event.exit_code === 0 && !verbose;
    default:
      return false;
  }
}

const figures = { duration: formatDuration, count: formatCount };

const tones: { readonly [W in Weight]: Tone } = { debug: "dim", info: "dim", warning: "yellow", error: "red" };

function wordsLine(event: Envelope["event"]): EventLine {
  const { icon, weight, tag, text } = eventWords(event, figures);
  return line(tones[weight], `${icon} ${tag === undefined ? "" : `${tag}: `}${text}`);
}

function line(tone: Tone, text: string): EventLine {
  return { tone, text };
}

/** Lines of a change that are shown below its call. */
const mostChanged = 6;

/** A call that changes a file counts its lines, and shows the first of them. */
function toolCall({ tool, input }: ToolCallEvent): EventLine[] {
  const lines = askedChanges(input).flatMap((change) => change.lines).filter((text) => /^[+-]/.test(text));
  const count = (sign: string) => lines.filter((text) => text.startsWith(sign)).length;
  const counts = lines.length === 0 ? "" : `  ${lineCounts({ added: count("+"), removed: count("-") })}`;
  const left = lines.length - mostChanged;
  return [
    line("cyan", `→ ${tool}  ${shortInput(input)}${counts}`),
    ...lines.slice(0, mostChanged).map((text) => line(text.startsWith("+") ? "green" : "red", `  ${text}`)),
    ...(left > 0 ? [line("dim", `  … and ${plural(left, "more line")}`)] : []),
  ];
}

function toolResult(event: ToolResultEvent): EventLine {
  const took = event.duration_ms === null ? "" : `  ${formatDuration(event.duration_ms)}`;
  const { output } = event;
  // In JSON the escape of a colour stands in letters.
  const said = typeof output === "string"
    ? shortJson(withoutColours(output))
    : shortJson(output).replace(/\\u001b\[[\d;]*m/g, "");
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
      return line("yellow", `~ ${event.path} (was ${event.from ?? "elsewhere"})`);
  }
}

function progress(message: string, percentage: number | undefined): string {
  if (percentage === undefined) return `· ${message}`;
  const cells = Math.round(percentage / 10);
  const bar = "▰".repeat(cells) + "▱".repeat(10 - cells);
  return `${bar} ${String(Math.round(percentage)).padStart(3)}%  ${message}`;
}

/** Formats steps of a plan. */
export function planLines(entries: PlanEvent["entries"]): EventLine[] {
  const marks = { pending: "☐", in_progress: "◐", completed: "☑" } as const;
  return entries.map((entry) =>
    line(entry.status === "completed" ? "dim" : "plain", `${marks[entry.status]} ${entry.content}`)
  );
}

function unparsed(event: UnparsedEvent): EventLine {
  const refusal = refusalOf(event);
  if (refusal === null) return line("dim", `… ${shortJson(event.data)}`);
  return { tone: "red", text: `✗ event refused: ${refusal.problem}`, whole: "words" };
}

function capability(event: Extract<HostEvent, { type: "capability" }>, verbose: boolean): EventLine[] {
  if (event.decision === "allowed") return event.reason !== undefined || verbose ? [wordsLine(event)] : [];
  if (event.needed === false) {
    return verbose ? [line("dim", `· denied ${event.permission} ${event.target}, which it does not need`)] : [];
  }
  const denied = line("red", `✗ denied ${event.permission} ${event.target}`);
  const below = (text: string | null | undefined, whole: "command" | "words"): EventLine[] =>
    text === null || text === undefined ? [] : [{ tone: "dim", text: `  ${text}`, whole }];
  const isProse = event.manifest_entry === undefined && event.grantable === false;
  return [denied, ...below(event.reason, "words"), ...below(remedy(event), isProse ? "words" : "command")];
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

/** The wait for answers, where a limit of the operator cut what the request asked for. */
function cutWait({ requested, effective }: SessionStartedEvent): EventLine[] {
  const [asked = 0, ms = asked] = [requested.answer_timeout_ms, effective.answer_timeout_ms];
  if (asked <= ms) return [];
  const text = `  its questions wait ${formatDuration(ms)}, not ${formatDuration(asked)}: limits.answer_timeout_ms`;
  return [line("yellow", text)];
}
