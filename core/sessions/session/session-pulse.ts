import type { QueuedEvent } from "../../../plugin-sdk/envelope.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { ListedFacts, ListedQueue } from "../../../plugin-sdk/session-summary.ts";
import { shortText } from "../../../plugin-sdk/short-text.ts";
import { askedChanges } from "../../ground/log/edit-text.ts";
import { inputLine } from "../../ground/log/input-line.ts";
import type { LogEntry } from "./merged-log.ts";

/** Half minutes that are counted. */
const mostBeats = 20;
const beatMs = 30_000;
/** Characters of a step. */
const mostText = 200;

type Lines = NonNullable<ListedFacts["lines"]>;

/** Sums up what a session does while it runs, for a list that shows many of them. It keeps counts and no events. */
export class SessionPulse {
  readonly #beats = new Array<number>(mostBeats).fill(0);
  /** Number of the newest half minute. */
  #beat = 0;
  #lastAt = Date.now();
  #tool: { call_id: string; text: string; since: string; is_open: boolean } | null = null;
  #model: string | undefined;
  #queued: ListedQueue | undefined;
  #planned: { text: string; since: string } | null = null;
  #plan: ListedFacts["plan"] = null;
  /** By the changes that the agent reports, and by the edits that it asks for: most agents have one of them. */
  #changed: Lines | null = null;
  #asked: Lines | null = null;

  /** Takes events of the log. @param adapterId the agent that the session runs on, or waits for */
  take(entries: readonly LogEntry[], adapterId: string): void {
    this.#lastAt = Date.now();
    this.#moveTo(this.#lastAt);
    this.#beats[this.#beat % mostBeats]! += entries.length;
    for (const { source, event } of entries) {
      if (source === "agent") this.#takeEvent(event as AdapterEvent);
      else if (event.type === "queued") this.#queue(event, adapterId);
      else if (event.type === "attempt_started") this.#queued = undefined;
    }
  }

  /** Returns the facts of this moment. */
  facts({ cost, currency }: Pick<ListedFacts, "cost" | "currency">): ListedFacts {
    this.#moveTo(Date.now());
    const first = this.#beat + 1;
    return {
      ...omitUndefined({ model: this.#model, queued: this.#queued }),
      step: this.step,
      last_event_at: new Date(this.#lastAt).toISOString(),
      beats: this.#beats.map((_, at) => this.#beats[(first + at) % mostBeats] ?? 0),
      plan: this.#plan,
      cost,
      currency,
      lines: this.#changed ?? this.#asked,
    };
  }

  /** The tool that works, else the step of the plan, else the last tool or sign of life; null before the first. */
  get step(): ListedFacts["step"] {
    const tool = this.#tool;
    if (tool?.is_open !== true && this.#planned !== null) return { ...this.#planned, is_open: true };
    return tool === null ? null : { text: tool.text, since: tool.since, is_open: tool.is_open };
  }

  #moveTo(now: number): void {
    const beat = Math.floor(now / beatMs);
    for (let at = Math.max(this.#beat + 1, beat - mostBeats + 1); at <= beat; at++) this.#beats[at % mostBeats] = 0;
    this.#beat = Math.max(this.#beat, beat);
  }

  #queue({ position, reason, retry_in_ms }: QueuedEvent, adapter_id: string): void {
    const since = this.#queued?.adapter_id === adapter_id ? this.#queued.since : this.#now();
    const retry_at = retry_in_ms === undefined ? undefined : new Date(this.#lastAt + retry_in_ms).toISOString();
    this.#queued = { adapter_id, position, since, ...omitUndefined({ retry_at, reason }) };
  }

  #takeEvent(event: AdapterEvent): void {
    switch (event.type) {
      case "agent_info":
        this.#model = event.model ?? this.#model;
        return;
      case "usage":
        // An agent of the agent may have a smaller one.
        if (event.agent_id === undefined) this.#model = event.model ?? this.#model;
        return;
      case "tool_call": {
        const text = shortText(`${event.tool} ${inputLine(event.input)}`.trim(), mostText);
        this.#tool = { call_id: event.call_id, text, since: this.#now(), is_open: true };
        if (event.kind !== "edit") return;
        for (const { lines } of askedChanges(event.input)) this.#asked = withLines(this.#asked, lines);
        return;
      }
      case "tool_result":
        if (this.#tool?.call_id === event.call_id) this.#tool.is_open = false;
        return;
      case "progress":
        if (this.#tool?.is_open === true) return;
        this.#tool = { call_id: "", text: shortText(event.message, mostText), since: this.#now(), is_open: false };
        return;
      case "file_change":
        this.#changed = event.diff === undefined ? this.#changed : withLines(this.#changed, diffLines(event.diff));
        return;
      case "plan": {
        const { entries } = event;
        const done = entries.filter(({ status }) => status === "completed").length;
        this.#plan = entries.length === 0 ? null : { done, total: entries.length };
        const step = entries.find(({ status }) => status === "in_progress");
        const text = step === undefined ? null : shortText(step.content, mostText);
        if (text !== this.#planned?.text) this.#planned = text === null ? null : { text, since: this.#now() };
        return;
      }
    }
  }

  #now(): string {
    return new Date(this.#lastAt).toISOString();
  }
}

function diffLines(diff: string): string[] {
  return diff.split("\n").filter((line) => !/^(?:---|\+\+\+) /.test(line));
}

function withLines(before: Lines | null, lines: readonly string[]): Lines {
  const sum = { added: before?.added ?? 0, removed: before?.removed ?? 0 };
  for (const line of lines) {
    if (line.startsWith("+")) sum.added++;
    else if (line.startsWith("-")) sum.removed++;
  }
  return sum;
}
