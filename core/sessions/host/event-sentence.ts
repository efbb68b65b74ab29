import type { Envelope, HostEvent } from "../../../plugin-sdk/envelope.ts";
import { refusalOf } from "../../ground/checks/refused-event.ts";
import { cleanText } from "../../ground/log/terminal-text.ts";

/** Importance of an event for a person. */
export type Weight = "debug" | "info" | "warning" | "error";

/** An event in a few words. */
interface EventSentence {
  weight: Weight;
  /** One short line, without the agent's text where that is long, and without characters that a terminal acts on. */
  text: string;
}

/** Longest text inside a sentence, in UTF-16 units. */
const textLength = 200;

/** Summarises an event for a person who does not read all of it. */
export function eventSentence(event: Envelope["event"]): EventSentence {
  switch (event.type) {
    case "output":
      return event.stream === "stdout" ? info(event.data) : say("warning", event.data);
    case "thinking":
      return info(event.content);
    case "tool_call":
      return info(`The agent uses ${event.tool}.`);
    case "tool_result":
      return event.success ? info(`${event.tool} is done.`) : say("warning", `${event.tool} failed.`);
    case "file_change":
      return info(`The agent says: ${event.action} ${event.path}.`);
    case "progress":
      return info(event.percentage === undefined ? event.message : `${event.message} (${event.percentage} %)`);
    case "plan":
      return info(`Plan: ${event.entries.filter(isDone).length} of ${event.entries.length} steps done.`);
    case "usage":
      return say("debug", `Tokens: ${event.tokens_in ?? "?"} in, ${event.tokens_out ?? "?"} out.`);
    case "permission_request":
      return say("warning", `The agent asks to use ${event.tool}: ${event.title}`);
    case "question":
      return say("warning", `The agent asks: ${event.question}`);
    case "request_withdrawn":
      return say("debug", "The agent takes its request back.");
    case "rate_limit":
      return say("warning", `Rate limit: ${event.message}`);
    case "agent_info":
      return say("debug", `The agent has told its model, tools or session id.`);
    case "unparsed": {
      const refusal = refusalOf(event);
      if (refusal !== null) return say("warning", `An event of the adapter was refused: ${refusal.problem}`);
      return say("debug", "The agent sent something that its adapter does not know.");
    }
    case "completed":
      return event.success ? info("The agent is done.") : say("error", "The agent reports failure.");
    case "error":
      return say(event.recoverable ? "warning" : "error", event.message);
    default:
      return hostSentence(event);
  }
}

function hostSentence(event: HostEvent): EventSentence {
  switch (event.type) {
    case "session_started":
      return say("debug", `The session started in ${event.workdir}.`);
    case "queued":
      return info(
        event.reason === undefined ? `Waiting for a place, position ${event.position}.` : `Waiting: ${event.reason}`,
      );
    case "attempt_started":
      return say(event.attempt === 1 ? "debug" : "info", `Attempt ${event.attempt} on ${event.adapter_id}.`);
    case "attempt_failed":
      return say("warning", `Attempt ${event.attempt} on ${event.adapter_id} failed: ${event.error.message}`);
    case "fallback":
      return say("warning", `${event.to} takes over from ${event.from}: ${event.reason}`);
    case "process_spawned":
      return say("debug", `Started ${event.argv[0] ?? "a program"}.`);
    case "process_exited":
      return say("debug", `A program ended with ${event.exit_code ?? event.signal ?? "no exit code"}.`);
    case "permission_resolved":
      if (event.by === "agent") return info("The agent no longer waits for an answer to its request.");
      return say("debug", `Answered by ${event.by}: ${event.choice ?? "no answer"}.`);
    case "capability":
      if (event.decision === "allowed" && event.reason !== undefined) {
        return say("warning", `${event.target}: ${event.reason}`);
      }
      return say(
        event.decision === "allowed" ? "debug" : "warning",
        [`The operator's grants: ${event.permission} ${event.target} is ${event.decision}.`, event.reason].filter(
          Boolean,
        )
          .join(" "),
      );
    case "worker":
      return say("error", `The plugin's worker: ${event.message}`);
    case "git":
      return say(
        event.changes.every(({ outcome }) => outcome === "moved") ? "info" : "warning",
        `Git: ${event.changes.map(({ name, outcome }) => `${name} ${outcome}`).join(", ")}.`,
      );
    case "artifacts":
      return say(
        "debug",
        `Changed paths: ${event.artifacts === null ? "not known" : event.artifacts.length + (event.omitted ?? 0)}.`,
      );
    case "held":
      return say(event.held.length === 0 ? "warning" : "error", heldSentence(event));
    case "gap":
      return say(
        event.damaged === true ? "error" : "warning",
        `Events ${event.from_seq} to ${event.to_seq} ${
          event.damaged === true ? "were lost with a damaged journal" : "are no longer held"
        }.`,
      );
    case "session_ended":
      return say(
        event.result.outcome === "completed" ? "info" : "error",
        `The session ended: ${event.result.stop_reason}.`,
      );
  }
}

function heldSentence({ held, install_scripts }: Extract<Envelope["event"], { type: "held" }>): string {
  const named = held.map(({ path, by }) => `${path} (${by})`);
  const scripts = install_scripts.map(({ path, names }) => `${path} (an install runs ${names.join(", ")})`);
  return `Changes that can run programs: ${[...named, ...scripts].join(", ")}.`;
}

function isDone({ status }: { status: string }): boolean {
  return status === "completed";
}

function info(text: string): EventSentence {
  return say("info", text);
}

function say(weight: Weight, text: string): EventSentence {
  // The rest is cut anyway, so do not clean it.
  const line = oneLine(text.slice(0, 10 * textLength));
  // Do not cut a surrogate pair in half.
  const cut = line.slice(0, textLength - 1).replace(/[\ud800-\udbff]$/, "");
  return { weight, text: line.length <= textLength ? line : `${cut}…` };
}

/** Returns an agent's text on one line that can neither move a terminal's cursor nor pass for another text. */
export function oneLine(text: string): string {
  return cleanText(text.replace(/\s+/g, " ").trim());
}

/** Does the same and keeps the lines. */
export function cleanLines(text: string): string {
  return cleanText(text, { keepLines: true });
}
