import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import type { OutputEvent, PlanEvent, ThinkingEvent } from "../../../../plugin-sdk/events.ts";
import { safeLine, safeText, withoutColours } from "./agent-text.ts";
import { type EventLine, eventLines, planLines, TalkLines } from "./event-lines.ts";
import { adapterTones, outcomeLooks, type Paint, type Tone } from "./paint.ts";
import { clockTime } from "./quantities.ts";
import { shortId } from "../../../ground/log/short-id.ts";
import { TextFlow } from "./text-flow.ts";
import { fitLine, padEnd, takeColumns, textWidth, wrapLines } from "./text-width.ts";
import { TextTail } from "../../../../plugin-sdk/text-tail.ts";

/** Options of {@link LiveView}. */
export interface LiveViewOptions {
  /** Receives finished text; awaited, so that a slow reader slows the view. */
  write(text: string): Promise<void>;
  paint: Paint;
  columns: number;
  /** Ids of the expected adapters: they set the width of the left column, which grows for others. */
  adapters: readonly string[];
  /** Show words at once. Only for one session at a time; otherwise text waits until its line is full. */
  streaming?: boolean;
  verbose?: boolean;
  /** One agent speaks: its name stands in the first line alone, and no line before the others, until another one comes. */
  lone?: boolean;
  /** Show how each session ended; for many sessions, whose results come later. */
  endings?: boolean;
  /** Show the beginning of the session's id behind the name; for several sessions of one adapter. */
  ids?: boolean;
  /** Show when each event came. */
  times?: boolean;
}

interface Flow {
  kind: string;
  tone: Tone;
  wrap: TextFlow;
  /** Wrapped text whose line is not full yet. */
  line: string;
  /** The line's beginning is already on the screen. */
  open: boolean;
}

/** Columns of an id's beginning and of a time, each with a blank. */
const idColumns = 4;
const timeColumns = 8;

/** The part of an envelope that stands before its text. */
type Origin = Pick<Envelope, "adapter" | "session_id" | "ts">;

/** Shows the events of one or many sessions as lines, those of several adapters each behind its name. */
export class LiveView {
  readonly #options: LiveViewOptions;
  #nameColumns: number;
  readonly #tones = new Map<string, Tone>();
  readonly #flows = new Map<string, { flow: Flow; origin: Origin }>();
  /** Labels of the choices of open requests, by session and request: agents count their requests alike. */
  readonly #labels = new Map<string, ReadonlyMap<string, string>>();
  readonly #streamed = new StreamedText();
  /** Steps of the plan that was shown last, by session. */
  readonly #plans = new Map<string, PlanEvent["entries"]>();
  /** The only agent that has spoken; undefined before the first, null once there are several. */
  #lone: string | null | undefined;

  constructor(options: LiveViewOptions) {
    this.#options = options;
    this.#nameColumns = nameColumnsFor(4, options.adapters);
    for (const id of options.adapters) this.#toneOf(id);
  }

  readonly #talk = new TalkLines();

  async show(envelope: Envelope): Promise<void> {
    const { event, adapter } = envelope;
    if (this.#options.lone !== true || (this.#lone ?? adapter.id) !== adapter.id) this.#lone = null;
    else if (this.#lone === undefined) this.#lone = adapter.id;
    // An adapter that was not announced must keep its full name, too.
    this.#nameColumns = nameColumnsFor(this.#nameColumns, [adapter.id]);
    const text = event.type === "output" || event.type === "thinking"
      ? this.#flowing(envelope, event)
      : this.#standing(envelope);
    if (text !== "") await this.#options.write(text);
  }

  /** Shows the text that is held back. */
  async finish(): Promise<void> {
    let text = "";
    for (const session of [...this.#flows.keys()]) text += this.#endFlow(session);
    if (text !== "") await this.#options.write(text);
  }

  #standing(envelope: Envelope): string {
    const { event, session_id } = envelope;
    const before = event.type === "completed" ? this.#answer(envelope, event.output ?? "") : "";
    if (event.type === "session_ended") {
      this.#streamed.forget(session_id);
      this.#plans.delete(session_id);
    }
    return before + this.#endFlow(session_id) + this.#named(envelope) +
      this.#linesFor(envelope).flatMap((line) => this.#fit(line)).map((text) => `${this.#gutter(envelope)}${text}\n`)
        .join("");
  }

  /** Many agents give their answer only with their last word. */
  #answer(envelope: Envelope, text: string): string {
    if (this.#streamed.has(envelope.session_id, text)) return "";
    return this.#endFlow(envelope.session_id) +
      this.#flowing(envelope, { type: "output", stream: "stdout", data: text });
  }

  #named({ adapter: { id }, event }: Envelope): string {
    if (this.#lone !== id || event.type !== "session_started") return "";
    const { model, workspace } = event.effective;
    const about = [...(model === null ? [] : [safeLine(model)]), ...(workspace === "worktree" ? ["worktree"] : [])];
    return ` ${this.#options.paint(this.#toneOf(id), safeLine(id))}${about.map((one) => ` · ${one}`).join("")}\n`;
  }

  #linesFor({ event, session_id }: Envelope): EventLine[] {
    if (event.type === "plan") {
      const shown = this.#plans.get(session_id);
      this.#plans.set(session_id, event.entries);
      return planLines(changedSteps(event.entries, shown));
    }
    const { verbose = false, endings = false } = this.#options;
    if (event.type === "permission_request") {
      this.#labels.set(`${session_id} ${event.request_id}`, new Map(event.options.map(({ id, label }) => [id, label])));
    }
    if (event.type === "permission_resolved") {
      const choiceLabel = this.#labels.get(`${session_id} ${event.request_id}`)?.get(event.choice ?? "");
      this.#labels.delete(`${session_id} ${event.request_id}`);
      return eventLines(event, { verbose, choiceLabel });
    }
    if (event.type.startsWith("turn_") || event.type.startsWith("message_") || event.type === "session_started") {
      return this.#talk.lines(event, { verbose });
    }
    if (event.type !== "session_ended" || !endings) return eventLines(event, { verbose });
    const [mark, tone] = outcomeLooks[event.result.outcome];
    return [{ tone, text: `${mark} ${event.result.outcome} · ${event.result.stop_reason}` }];
  }

  #flowing(envelope: Envelope, event: OutputEvent | ThinkingEvent): string {
    const kind = event.type === "output" ? event.stream : "thinking";
    const data = event.type === "output" ? event.data : event.content;
    if (kind === "stdout") this.#streamed.add(envelope.session_id, data);
    let held = this.#flows.get(envelope.session_id);
    let before = "";
    if (held?.flow.kind !== kind) {
      before = this.#endFlow(envelope.session_id);
      const tone: Tone = kind === "stdout" ? "said" : "thought";
      const flow: Flow = { kind, tone, wrap: new TextFlow(this.#textColumns), line: "", open: false };
      held = { flow, origin: envelope };
      this.#flows.set(envelope.session_id, held);
    }
    held.origin = envelope;
    return before +
      this.#put(held.flow, { origin: envelope, wrapped: held.flow.wrap.push(safeText(withoutColours(data))) });
  }

  #put(flow: Flow, { origin, wrapped }: { origin: Origin; wrapped: string }): string {
    const { paint, streaming = false } = this.#options;
    const lines = (flow.line + wrapped).split("\n");
    flow.line = lines.pop() ?? "";
    let out = "";
    for (const line of lines) {
      out += (flow.open ? "" : this.#gutter(origin)) + paint(flow.tone, line.trimEnd()) + "\n";
      flow.open = false;
    }
    if (streaming && flow.line !== "") {
      out += (flow.open ? "" : this.#gutter(origin)) + paint(flow.tone, flow.line);
      flow.open = true;
      flow.line = "";
    }
    return out;
  }

  #endFlow(sessionId: string): string {
    const held = this.#flows.get(sessionId);
    if (held === undefined) return "";
    this.#flows.delete(sessionId);
    const out = this.#put(held.flow, { origin: held.origin, wrapped: held.flow.wrap.end() });
    return held.flow.open ? `${out}\n` : out;
  }

  #gutter({ adapter, session_id, ts }: Origin): string {
    const { paint, ids = false, times = false } = this.#options;
    const isLone = this.#lone === adapter.id;
    const name = padEnd(takeColumns(safeLine(adapter.id), this.#nameColumns), this.#nameColumns);
    return [
      ...(times ? [paint("dim", clockTime(ts))] : []),
      ...(isLone ? [] : [paint(this.#toneOf(adapter.id), name)]),
      ...(ids ? [paint("dim", shortId(session_id, idColumns))] : []),
      ...(isLone ? [] : [paint("dim", "│")]),
    ].map((part) => ` ${part}`).join("") + " ";
  }

  #fit(line: EventLine): string[] {
    const text = this.#options.paint("plain", safeLine(line.text));
    const shown = line.whole === "command"
      ? [text]
      : line.whole === "words"
      ? wrapLines(text, this.#textColumns).split("\n")
      : [fitKeepingIndent(text, this.#textColumns)];
    return shown.map((one) => this.#options.paint(line.tone, one));
  }

  get #textColumns(): number {
    const { columns, ids = false, times = false } = this.#options;
    const more = (ids ? idColumns + 1 : 0) + (times ? timeColumns + 1 : 0);
    const name = typeof this.#lone === "string" ? -3 : this.#nameColumns;
    return Math.max(20, columns - name - more - 4);
  }

  #toneOf(adapter: string): Tone {
    const known = this.#tones.get(adapter);
    if (known !== undefined) return known;
    const tone = adapterTones[this.#tones.size % adapterTones.length] ?? "plain";
    this.#tones.set(adapter, tone);
    return tone;
  }
}

/** Steps that differ from those shown last; all of them where most do, since a new plan is read whole. */
function changedSteps(steps: PlanEvent["entries"], shown: PlanEvent["entries"] | undefined): PlanEvent["entries"] {
  if (shown === undefined) return steps;
  const known = new Map(shown.map(({ content, status }) => [content, status]));
  const isSame = steps.filter(({ content }) => known.has(content)).length * 2 >= steps.length;
  return isSame ? steps.filter(({ content, status }) => known.get(content) !== status) : steps;
}

function fitKeepingIndent(text: string, columns: number): string {
  const indent = /^ */.exec(text)?.[0] ?? "";
  return indent + fitLine(text, columns - indent.length);
}

/** Columns that the names need, within limits. */
function nameColumnsFor(least: number, ids: readonly string[]): number {
  return Math.min(20, Math.max(least, ...ids.map(textWidth)));
}

/** Characters that are kept and compared. Texts are compared by their ends, without their blanks. */
const keptCharacters = 65_536;
const comparedCharacters = 4096;

/** Remembers what sessions streamed, to tell whether the view has shown an answer already. */
class StreamedText {
  readonly #texts = new Map<string, TextTail>();

  /** Adds text that a session streamed. */
  add(sessionId: string, text: string): void {
    const tail = this.#texts.get(sessionId) ?? new TextTail(keptCharacters);
    this.#texts.set(sessionId, tail);
    tail.add(withoutBlanks(text));
  }

  /** Whether a session streamed this text, whole or in pieces. */
  has(sessionId: string, text: string): boolean {
    return (this.#texts.get(sessionId)?.text ?? "").includes(withoutBlanks(text).slice(-comparedCharacters));
  }

  forget(sessionId: string): void {
    this.#texts.delete(sessionId);
  }
}

/** Adapters join pieces with other blanks than those that they streamed. */
function withoutBlanks(text: string): string {
  return text.replace(/\s+/g, "");
}
