import type { ComponentChild, ComponentChildren } from "preact";
import type { AdapterEvent } from "../../../../plugin-sdk/events.ts";
import type { TimelineRow } from "./fold.ts";
import { FoldRow, JsonText, LongText, Text } from "./text.tsx";
import { ChangedPath, HostEventText } from "./host-event.tsx";
import { countText, durationText } from "./parts.tsx";
import { askedChanges } from "../../../ground/log/edit-text.ts";
import { DiffText } from "./diff-text.tsx";
import { MarkdownText } from "./rows/markdown-text.tsx";
import { addressOf } from "./route.ts";
import { useRowPlace } from "./row-place.ts";
import { RowClock } from "./rows/row-clock.tsx";
import { plainText } from "./shown-text.ts";
import type { ShownEvent } from "./shown-event.ts";

/** One row of a timeline. */
export function EventRow(
  { row, above, target, onRaw }: {
    row: TimelineRow;
    /** Time of the row above it; null where that is not known. */
    above: string | null;
    target: number | null;
    onRaw: (seq: number) => void;
  },
) {
  const to = row.kind === "text" || row.kind === "used" ? row.to : row.seq;
  const isTarget = target !== null && row.seq <= target && target <= to;
  return (
    <div
      class={`row row-${row.kind}${isTarget ? " target" : ""}`}
      data-target={isTarget ? "" : undefined}
      data-seq={row.seq}
      data-to={to}
    >
      <Gutter seq={row.seq} at={row.at} above={above} onRaw={onRaw} />
      <div class="row-body">
        <RowBody row={row} onRaw={onRaw} />
      </div>
    </div>
  );
}

interface GutterProps {
  seq: number;
  at: string;
  above: string | null;
  onRaw: (seq: number) => void;
}

function Gutter({ seq, at, above, onRaw }: GutterProps) {
  const { session_id: id } = useRowPlace();
  const open = (click: MouseEvent) => {
    if (click.ctrlKey || click.metaKey || click.shiftKey) return;
    click.preventDefault();
    history.replaceState(null, "", addressOf("sessions", id, seq));
    onRaw(seq);
  };
  return (
    <span class="gutter">
      <RowClock at={at} above={above} />
      <a class="seq" href={addressOf("sessions", id, seq)} title={`Event ${seq}: show its envelope`} onClick={open}>
        {seq}
      </a>
    </span>
  );
}

function RowBody({ row, onRaw }: { row: TimelineRow; onRaw: (seq: number) => void }) {
  switch (row.kind) {
    case "text":
      return row.voice === "thinking" ? <Thinking text={row.text} /> : (
        <>
          {row.voice === "stdout"
            ? <MarkdownText of={row.text} class="stdout" />
            : <LongText of={row.text} class={row.voice} />}
          {row.cut && <CutMark seq={row.to} onRaw={onRaw} />}
        </>
      );
    case "tool":
      return <ToolRow row={row} onRaw={onRaw} />;
    case "used":
      return <UsedRow row={row} />;
    case "process":
      return <ProcessRow row={row} />;
    case "event":
      return (
        <>
          <EventText event={row.event} />
          {row.cut && <CutMark seq={row.seq} onRaw={onRaw} />}
        </>
      );
  }
}

function CutMark({ seq, onRaw }: { seq: number; onRaw: (seq: number) => void }) {
  return <button type="button" class="more" onClick={() => onRaw(seq)}>Cut here. Show all of event {seq}</button>;
}

function Thinking({ text }: { text: string }) {
  return (
    <FoldRow
      class="thinking"
      line={
        <>
          <span class="tag">Thinking</span> <span class="one-line">{plainText(text, 160)}</span>
        </>
      }
    >
      {() => <MarkdownText of={text} />}
    </FoldRow>
  );
}

function ToolRow(
  { row: { call, result, parts, seq }, onRaw }: {
    row: Extract<TimelineRow, { kind: "tool" }>;
    onRaw: (seq: number) => void;
  },
) {
  const state = result === null ? "open" : result.success ? "ok" : "bad";
  return (
    <FoldRow class={`tool tool-${state}`} line={<ToolLine call={call} result={result} />}>
      {() => (
        <>
          {call !== null && (
            <Part title={`Input · ${call.kind}`}>
              <Input of={call.input} />
            </Part>
          )}
          {parts.map((part) => <EventText key={part.seq} event={part.event} />)}
          {result !== null && (
            <Part title={result.success ? "Output" : "Failure"}>
              <JsonText of={result.output} />
            </Part>
          )}
          <button type="button" class="more" onClick={() => onRaw(seq)}>Envelope</button>
        </>
      )}
    </FoldRow>
  );
}

function ToolLine({ call, result }: Pick<Extract<TimelineRow, { kind: "tool" }>, "call" | "result">) {
  const name = call?.tool ?? result?.tool ?? "";
  return (
    <>
      <span class="tool-mark" aria-hidden="true">{result === null ? "○" : result.success ? "✓" : "✕"}</span>
      <span class="tool-name">
        <Text of={plainText(name, 60)} />
      </span>
      <span class="one-line">{call === null ? "answer to an earlier call" : inputText(call.input)}</span>
      <span class="tool-end">
        {result === null ? "answer follows" : result.success ? "" : "failed "}
        {result !== null && result.duration_ms !== null ? durationText(result.duration_ms) : ""}
      </span>
    </>
  );
}

/** Input of a tool: a command and the two sides of an edit are shown as such, anything else as JSON. */
export function Input({ of: input }: { of: unknown }) {
  if (typeof input !== "object" || input === null) return <JsonText of={input} />;
  const { command } = input as Record<string, unknown>;
  if (typeof command === "string") return <LongText of={command} class="command-text" />;
  const changes = askedChanges(input);
  if (changes.length === 0) return <JsonText of={input} />;
  return changes.map(({ path, lines }) => (
    <>
      {changes.length > 1 && path !== null && <h4>{plainText(path, 300)}</h4>}
      <DiffText of={lines.join("\n")} />
    </>
  ));
}

/** The one part of a tool's input that a reader looks for. */
function inputText(input: unknown): string {
  if (typeof input === "string") return plainText(input, 160);
  if (typeof input !== "object" || input === null) return "";
  const fields = input as Record<string, unknown>;
  for (const name of ["command", "file_path", "path", "pattern", "query", "url", "prompt", "description"]) {
    const value = fields[name];
    if (typeof value === "string") return plainText(value, 160);
    if (Array.isArray(value)) return plainText(value.join(" "), 160);
  }
  return plainText(JSON.stringify(input), 160);
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="part">
      <h4>{title}</h4>
      {children}
    </div>
  );
}

function UsedRow({ row: { used } }: { row: Extract<TimelineRow, { kind: "used" }> }) {
  const counts = new Map<string, number>();
  for (const { permission } of used) counts.set(permission, (counts.get(permission) ?? 0) + 1);
  const line = `Allowed: ${[...counts].map(([name, count]) => count === 1 ? name : `${name} × ${count}`).join(", ")}`;
  return (
    <FoldRow class="quiet" line={line}>
      {() => (
        <ul class="plain-list">
          {used.map(({ permission, target }) => (
            <li>
              <b>{permission}</b>{" "}
              <code>
                <Text of={plainText(target, 400)} />
              </code>
            </li>
          ))}
        </ul>
      )}
    </FoldRow>
  );
}

function ProcessRow({ row: { spawned, exited } }: { row: Extract<TimelineRow, { kind: "process" }> }) {
  const end = exited === null
    ? ""
    : exited.signal !== null
    ? `ended by ${exited.signal}`
    : `exit ${exited.exit_code} · ${durationText(exited.duration_ms)}`;
  const line = (
    <>
      Program <code class="one-line">{plainText(spawned.argv.join(" "), 160)}</code> {end}
    </>
  );
  return (
    <FoldRow class="quiet" line={line}>
      {() => (
        <>
          <LongText of={spawned.argv.join("\n")} />
          <p>Process {spawned.pid}</p>
        </>
      )}
    </FoldRow>
  );
}

/** Any event that folds with no other. */
function EventText({ event }: { event: ShownEvent["event"] }) {
  const Shown: ((of: { event: never }) => ComponentChild) | undefined =
    agentEvents[event.type as keyof typeof agentEvents];
  return Shown === undefined ? <HostEventText event={event} /> : <Shown event={event as never} />;
}

/** Each event of an agent that folds with no other, as it is shown. */
const agentEvents: {
  readonly [T in AdapterEvent["type"]]?: (of: { event: Extract<AdapterEvent, { type: T }> }) => ComponentChild;
} = {
  plan: ({ event }) => <PlanRow event={event} />,
  progress: ({ event }) => (
    <p class="progress">
      {event.percentage !== undefined && <b>{Math.round(event.percentage)} %</b>} <Text of={event.message} links />
    </p>
  ),
  file_change: ({ event }) => <FileChangeRow event={event} />,
  permission_request: ({ event }) => (
    <div class="asked">
      <p>
        <span class="tag tag-waiting">Asks</span> <Text of={event.title} links />
      </p>
      {event.input !== undefined && <Input of={event.input} />}
    </div>
  ),
  unparsed: ({ event }) => (
    <FoldRow
      class="quiet"
      line={
        <>
          Not understood by the adapter:{" "}
          <span class="one-line">{plainText(JSON.stringify(event.data) ?? "", 120)}</span>
        </>
      }
    >
      {() => <JsonText of={event.data} />}
    </FoldRow>
  ),
  completed: ({ event }) => (
    <div class={event.success ? "finished" : "failed-text"}>
      <p>
        <span class={`tag ${event.success ? "tag-done" : "tag-failed"}`}>
          {event.success ? "Agent is done" : "Agent reports failure"}
        </span>
        {event.confidence !== undefined && ` Confidence ${Math.round(event.confidence * 100)} %.`}
      </p>
      {event.output !== undefined && event.output !== "" && <MarkdownText of={event.output} />}
    </div>
  ),
};

function FileChangeRow({ event }: { event: Extract<ShownEvent["event"], { type: "file_change" }> }) {
  const line = <ChangedPath change={event.action} path={event.path} from={event.from} />;
  const { diff } = event;
  if (diff === undefined) return <p class="quiet-line">{line}</p>;
  return <FoldRow class="quiet" line={line}>{() => <DiffText of={diff} />}</FoldRow>;
}

type Plan = Extract<ShownEvent["event"], { type: "plan" }>;

/** A plan in one line with the step at which it is: agents send the whole of it again at each step. */
function PlanRow({ event }: { event: Plan }) {
  const step = event.entries.find(({ status }) => status === "in_progress");
  const line = (
    <>
      <PlanHead of={event} />
      {step !== undefined && <span class="one-line">{plainText(step.content, 160)}</span>}
    </>
  );
  return <FoldRow class="quiet plan" line={line}>{() => <PlanSteps of={event} />}</FoldRow>;
}

/** A plan with all its steps. */
export function PlanText({ event }: { event: Plan }) {
  return (
    <div class="plan">
      <p class="plan-head">
        <PlanHead of={event} />
      </p>
      <PlanSteps of={event} />
    </div>
  );
}

function PlanHead({ of: { entries } }: { of: Plan }) {
  const done = entries.filter(({ status }) => status === "completed").length;
  return (
    <span>
      <span class="tag">Plan</span> {done} of {entries.length} done
    </span>
  );
}

function PlanSteps({ of: { entries } }: { of: Plan }) {
  return (
    <ol>
      {entries.map(({ content, status }) => (
        <li class={`step-${status}`}>
          <span aria-hidden="true">{status === "completed" ? "✓" : status === "in_progress" ? "▸" : "·"}</span>
          <span>
            <Text of={content} />
            <span class="hidden">({status.replace("_", " ")})</span>
          </span>
        </li>
      ))}
    </ol>
  );
}

/** Tokens in and out, as far as they are known. */
export function tokensText(tokensIn: number | null, tokensOut: number | null): string {
  if (tokensIn === null && tokensOut === null) return "tokens unknown";
  return `${tokensIn === null ? "?" : countText(tokensIn)} in, ${tokensOut === null ? "?" : countText(tokensOut)} out`;
}
