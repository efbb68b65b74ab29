import type { ComponentChild, ComponentChildren } from "preact";
import type { AdapterEvent } from "../../../../plugin-sdk/events.ts";
import { endOf, holds, type TimelineRow } from "./fold.ts";
import { FoldRow, JsonText, LongText, Text } from "./text.tsx";
import { ChangedPath, HostEventText } from "./host-event.tsx";
import { durationText } from "./parts.tsx";
import { askedChanges } from "../../../ground/log/edit-text.ts";
import { inputLine } from "../../../ground/log/input-line.ts";
import { CopyButton } from "./session/copy-button.tsx";
import { AgentRow } from "./session/agent-row.tsx";
import { PlanRow } from "./session/plan-text.tsx";
import { DiffText } from "./diff-text.tsx";
import { MarkdownText } from "./rows/markdown-text.tsx";
import { addressOf } from "./route.ts";
import { useRowPlace } from "./row-place.ts";
import { Allowed, ProcessText, UsedText } from "./rows/process-text.tsx";
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
  const to = endOf(row);
  const isTarget = target !== null && holds(row, target);
  return (
    <div
      class={`row row-${row.kind}${isTarget ? " target" : ""}`}
      data-target={isTarget ? "" : undefined}
      data-session={useRowPlace().session_id}
      data-seq={row.seq}
      data-to={to}
    >
      <Gutter seq={row.seq} at={row.at} above={above} />
      <div class="row-body">
        <RowBody row={row} target={isTarget ? target : null} onRaw={onRaw} />
      </div>
    </div>
  );
}

function Gutter({ seq, at, above }: { seq: number; at: string; above: string | null }) {
  const { session_id: id } = useRowPlace();
  return (
    <span class="gutter">
      <RowClock at={at} above={above} />
      <a class="seq" href={addressOf("sessions", id, seq)} title={`Link to event ${seq}. Its envelope: key e`}>{seq}</a>
    </span>
  );
}

interface RowBodyProps {
  row: TimelineRow;
  /** The event in it that a reader goes to. */
  target: number | null;
  onRaw: (seq: number) => void;
}

function RowBody({ row, target, onRaw }: RowBodyProps) {
  switch (row.kind) {
    case "text":
      return row.voice === "thinking" ? <Thinking text={row.text} /> : (
        <>
          {row.voice === "stdout"
            ? <MarkdownText of={row.text} class="stdout" />
            : <LongText of={row.text} class={row.voice} />}
          {row.cut && <CutMark seq={row.to} onRaw={onRaw} />}
          {row.voice === "stdout" && <CopyButton of={row.text} what="this text" />}
        </>
      );
    case "reads":
      return <ReadsRow row={row} target={target} onRaw={onRaw} />;
    case "agent":
      return <AgentRow row={row} target={target} draw={drawIn(target, onRaw)} />;
    case "plan":
      return <PlanRow event={row.event} seq={row.seq} />;
    case "tool":
      return <ToolRow row={row} target={target} onRaw={onRaw} />;
    case "used":
      return <UsedText of={row} />;
    case "process":
      return <ProcessText of={row} />;
    case "event":
      return (
        <>
          <EventText event={row.event} />
          {row.cut && <CutMark seq={row.seq} onRaw={onRaw} />}
        </>
      );
  }
}

/** Draws rows that stand in another one. */
function drawIn(
  target: number | null,
  onRaw: (seq: number) => void,
): (rows: readonly TimelineRow[]) => ComponentChildren {
  return (rows) =>
    rows.map((one, at) => (
      <EventRow key={one.seq} row={one} above={rows[at - 1]?.at ?? null} target={target} onRaw={onRaw} />
    ));
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

function ToolRow({ row: { call, result, parts, agents, allowed, seq }, target, onRaw }: FoldedProps<"tool">) {
  const state = result === null ? "open" : result.success ? "ok" : "bad";
  const isInside = target !== null && agents.some((one) => holds(one, target));
  return (
    <>
      <FoldRow
        class={`tool tool-${state}`}
        line={<ToolLine call={call} result={result} />}
        isOpen={target !== null && target !== seq && !isInside}
      >
        {() => <ToolParts of={{ call, result, parts, allowed, seq }} onRaw={onRaw} />}
      </FoldRow>
      {agents.length > 0 && (
        <div class="tool-agents">
          {agents.map((one) => (
            <AgentRow
              key={one.seq}
              row={one}
              target={isInside && holds(one, target) ? target : null}
              draw={drawIn(target, onRaw)}
            />
          ))}
        </div>
      )}
    </>
  );
}

type ToolFacts = Pick<Extract<TimelineRow, { kind: "tool" }>, "call" | "result" | "parts" | "allowed" | "seq">;

function ToolParts(
  { of: { call, result, parts, allowed, seq }, onRaw }: { of: ToolFacts; onRaw: (seq: number) => void },
) {
  return (
    <>
      {call !== null && (
        <Part title={`Input · ${call.kind}`} copied={commandOf(call.input)}>
          <Input of={call.input} />
        </Part>
      )}
      {parts.map((part) => <EventText key={part.seq} event={part.event} />)}
      {result !== null && (
        <Part title={result.success ? "Output" : "Failure"} copied={textOf(result.output)}>
          <JsonText of={result.output} />
        </Part>
      )}
      <Allowed of={allowed} />
      <button type="button" class="more" onClick={() => onRaw(seq)}>Envelope</button>
    </>
  );
}

interface FoldedProps<K extends TimelineRow["kind"]> extends Omit<RowBodyProps, "row"> {
  row: Extract<TimelineRow, { kind: K }>;
}

/** Several reads that followed one another. */
function ReadsRow({ row: { rows, allowed }, target, onRaw }: FoldedProps<"reads">) {
  const names = rows.map(({ call }) => plainText(inputLine(call?.input), 80)).join(", ");
  const line = (
    <>
      <span class="tool-mark" aria-hidden="true">✓</span>
      <span class="tool-name">{rows.length} reads</span>
      <span class="one-line">{names}</span>
    </>
  );
  return (
    <FoldRow class="tool tool-ok" line={line} isOpen={target !== null}>
      {() => (
        <>
          {drawIn(target, onRaw)(rows)}
          <Allowed of={allowed} />
        </>
      )}
    </FoldRow>
  );
}

function ToolLine({ call, result }: Pick<Extract<TimelineRow, { kind: "tool" }>, "call" | "result">) {
  const name = call?.tool ?? result?.tool ?? "";
  const failure = result?.success === false ? firstLine(textOf(result.output)) : "";
  return (
    <>
      <span class="tool-mark" aria-hidden="true">{result === null ? "○" : result.success ? "✓" : "✕"}</span>
      <span class="tool-name">
        <Text of={plainText(name, 60)} />
      </span>
      <span class="one-line">
        {call === null ? "answer to an earlier call" : plainText(inputLine(call.input), 160)}
      </span>
      <span class="tool-end">
        {result === null ? "answer follows" : result.success ? "" : "failed "}
        {result !== null && result.duration_ms !== null ? durationText(result.duration_ms) : ""}
      </span>
      {failure !== "" && <span class="tool-failure">{failure}</span>}
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

/** The first line of a text with a letter or a digit in it, short. */
function firstLine(text: string): string {
  return plainText(text.split("\n", 50).find((line) => /[\p{L}\p{N}]/u.test(line)) ?? "", 160);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
}

/** The command that a tool's input has, else all of it. */
function commandOf(input: unknown): string {
  const command = typeof input === "object" && input !== null ? (input as Record<string, unknown>)["command"] : null;
  return typeof command === "string" ? command : textOf(input);
}

interface PartProps {
  title: string;
  /** Text that a person takes along. */
  copied: string;
  children: ComponentChildren;
}

function Part({ title, copied, children }: PartProps) {
  return (
    <div class="part">
      <h4>
        {title} <CopyButton of={copied} what={title.toLowerCase()} />
      </h4>
      {children}
    </div>
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
      {event.output !== undefined && event.output !== "" && (
        <>
          <MarkdownText of={event.output} />
          <CopyButton of={event.output} what="the final answer" />
        </>
      )}
    </div>
  ),
};

function FileChangeRow({ event }: { event: Extract<ShownEvent["event"], { type: "file_change" }> }) {
  const line = <ChangedPath change={event.action} path={event.path} from={event.from} />;
  const { diff } = event;
  if (diff === undefined) return <p class="quiet-line">{line}</p>;
  return <FoldRow class="quiet" line={line}>{() => <DiffText of={diff} />}</FoldRow>;
}
