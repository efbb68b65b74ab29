import type { SessionUpdate, ToolCallContent, ToolCallLocation, ToolKind } from "@agentclientprotocol/sdk";
import { toAcpUpdate } from "../../../plugin-sdk/acp-update.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { pathFields } from "../../../plugin-sdk/tool-kinds.ts";
import type { FileChangeEvent, QuestionEvent, UsageEvent } from "../../../plugin-sdk/events.ts";
import { eventSentence, titleOf } from "../../sessions/host/event-sentence.ts";
import type { Weight } from "../../ground/checks/event-words.ts";
import { isAbsolute, resolve } from "../../ground/platform/files/paths.ts";

/** Options of {@link Updates}. */
export interface UpdateOptions {
  /** Folder that paths are relative to: the protocol wants absolute ones. */
  workdir: string;
  notices: boolean;
  /** Tokens in the context of an adapter's agent, where its manifest says so. */
  contextSize(adapterId: string): number | undefined;
}

/** Turns one session's events into updates. Under `_meta.bulkhead` the first one carries all that has no place. */
export class Updates {
  readonly #options: UpdateOptions;
  #spoke = false;

  constructor(options: UpdateOptions) {
    this.#options = options;
  }

  of(envelope: Envelope): SessionUpdate[] {
    const [first, ...more] = this.#updates(envelope);
    const { seq, gseq, ts, attempt, adapter, source, synthetic, event } = envelope;
    const bulkhead = {
      seq,
      gseq,
      ts,
      attempt,
      adapter,
      source,
      synthetic: synthetic || undefined,
      event: rest(event),
    };
    return [{ ...first, _meta: { bulkhead } } as SessionUpdate, ...more];
  }

  #updates({ event, adapter, seq, session_id, ts }: Envelope): [SessionUpdate, ...SessionUpdate[]] {
    if (event.type === "output" && event.stream === "stdout" && event.data !== "") this.#spoke = true;
    switch (event.type) {
      case "output":
        return [event.stream === "stdout" ? toAcpUpdate(event) as SessionUpdate : thought(event.data)];
      case "tool_call": {
        const call = { toolCallId: toolCallId(session_id, event.call_id), name: event.tool };
        return [{ ...toAcpUpdate(event), ...call, ...this.#located(event.input) } as SessionUpdate];
      }
      case "tool_result":
        return [{ ...toAcpUpdate(event), toolCallId: toolCallId(session_id, event.call_id) } as SessionUpdate];
      case "thinking":
      case "plan":
        return [toAcpUpdate(event) as SessionUpdate];
      case "file_change":
        return [this.#fileChange(event, toolCallId(session_id, `file-change-${seq}`))];
      case "usage":
        return [this.#usage(event, adapter.id)];
      case "question":
        return [message(questionText(event))];
      case "completed":
        // An agent that is silent while it works says everything at the end.
        return this.#spoke || !event.output ? [silent] : [message(event.output), silent];
      case "permission_request":
        return [silent];
      case "session_started": {
        const { prompt } = event.requested;
        const info = { ...silent, ...(prompt === "" ? {} : { title: titleOf(prompt) }), updatedAt: ts };
        const shown = this.#notice(event);
        return shown === silent ? [info] : [shown, info];
      }
      case "turn_ended":
      case "session_ended":
        return [{ ...silent, updatedAt: ts }];
      default:
        return [this.#notice(event)];
    }
  }

  #located(input: unknown): { locations?: ToolCallLocation[] } {
    if (typeof input !== "object" || input === null) return {};
    const fields = input as Readonly<Record<string, unknown>>;
    const paths = pathFields.flatMap((key) => {
      const path = fields[key];
      return typeof path === "string" && path !== "" ? [path] : [];
    });
    return paths.length === 0 ? {} : { locations: [...new Set(paths)].map((path) => ({ path: this.#absolute(path) })) };
  }

  #absolute(path: string): string {
    return isAbsolute(path) ? path : resolve(this.#options.workdir, path);
  }

  /** Shows a file change as a separate tool call that is already done. */
  #fileChange(event: FileChangeEvent, id: string): SessionUpdate {
    const path = this.#absolute(event.path);
    const places = event.diff === undefined ? [] : changedPlaces(event.diff);
    const content: ToolCallContent[] = places.map(({ old_text, new_text }) => ({
      type: "diff",
      path,
      oldText: event.action === "create" ? null : old_text,
      newText: new_text,
    }));
    const kinds: { readonly [A in FileChangeEvent["action"]]: ToolKind } = {
      create: "edit",
      modify: "edit",
      delete: "delete",
      rename: "move",
    };
    const from = event.from === undefined ? "" : `${event.from} → `;
    return {
      sessionUpdate: "tool_call",
      toolCallId: id,
      title: `${event.action} ${from}${event.path}`,
      kind: kinds[event.action],
      status: "completed",
      locations: [{ path, ...(places[0]?.line ? { line: places[0].line } : {}) }],
      ...(content.length > 0 ? { content } : {}),
    };
  }

  #usage({ tokens_in, tokens_out, cost, currency, scope }: UsageEvent, adapterId: string): SessionUpdate {
    const size = this.#options.contextSize(adapterId);
    // Only a turn's tokens say how full the context is. Never guess a size that the manifest does not state.
    if (size === undefined || scope !== "turn" || tokens_in === null) return silent;
    return {
      sessionUpdate: "usage_update",
      used: tokens_in + (tokens_out ?? 0),
      size,
      ...(cost !== null && currency !== undefined ? { cost: { amount: cost, currency } } : {}),
    };
  }

  #notice(event: Envelope["event"]): SessionUpdate {
    const { weight, text } = eventSentence(event);
    return weight === "debug" || text === "" ? silent : this.notice(weight, text);
  }

  notice(weight: Exclude<Weight, "debug">, text: string): SessionUpdate {
    return this.#options.notices ? { sessionUpdate: "notice", severity: weight, title: text } : thought(`${text}\n`);
  }
}

/** A tool call's id, unique for a client that shows the sessions of several prompts as one. */
export function toolCallId(sessionId: string, callId: string): string {
  return `${sessionId.slice(0, 8)}:${callId}`;
}

/** An update that shows nothing: it only carries `_meta`. */
const silent: Extract<SessionUpdate, { sessionUpdate: "session_info_update" }> = {
  sessionUpdate: "session_info_update",
};

/** A question as the agent's own words. */
export function questionText({ question, options = [] }: QuestionEvent): string {
  return [question, ...options.map((option) => `- ${option}`)].join("\n");
}

function message(text: string): SessionUpdate {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

function thought(text: string): SessionUpdate {
  return { sessionUpdate: "agent_thought_chunk", content: { type: "text", text } };
}

/** Returns the fields of an event that its update does not carry in full. */
function rest(event: Envelope["event"]): Record<string, unknown> {
  switch (event.type) {
    case "output":
      return { type: event.type, stream: event.stream };
    case "thinking":
      return without(event, "content");
    case "tool_call":
      return without(event, "input");
    case "tool_result":
      return without(event, "output");
    default:
      return { ...event };
  }
}

function without<E extends object>(event: E, key: keyof E): Record<string, unknown> {
  return Object.fromEntries(Object.entries(event).filter(([name]) => name !== key));
}

/** One place of a file before and after a change. */
interface ChangedPlace {
  old_text: string;
  new_text: string;
  /** Line of the new text, from 1; null where the diff does not say. */
  line: number | null;
}

/** Returns the changed places of one file's unified diff, with their context; empty where the text has no hunk. */
export function changedPlaces(diff: string): ChangedPlace[] {
  const places: { before: string[]; after: string[]; line: number | null }[] = [];
  for (const line of diff.split("\n")) {
    const hunk = /^@@(?: -\d+(?:,\d+)? \+(\d+)(?:,\d+)?)?.*@@/.exec(line);
    if (hunk) {
      places.push({ before: [], after: [], line: hunk[1] === undefined ? null : Math.max(1, Number(hunk[1])) });
      continue;
    }
    const place = places.at(-1);
    if (place === undefined) continue;
    const text = line.slice(1);
    if (line[0] !== "+" && line[0] !== "\\" && line !== "") place.before.push(text);
    if (line[0] !== "-" && line[0] !== "\\" && line !== "") place.after.push(text);
  }
  return places.map(({ before, after, line }) => ({ old_text: before.join("\n"), new_text: after.join("\n"), line }));
}
