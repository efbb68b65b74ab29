import { useEffect, useMemo } from "preact/hooks";
import { useConsole } from "../console-context.ts";
import { durationText } from "../parts.tsx";
import type { SessionMarks } from "../rows/session-marks.ts";
import type { SessionEvents } from "../session-events.ts";
import { blockSize } from "../shown-event.ts";
import { Activity, type ActivityPoint, densityOf, momentOf, seqAt } from "./activity.ts";

const bars = 180;
const height = 24;
/** Marks of one kind that are drawn. */
const mostMarks = 200;

interface ActivityStripProps {
  /** The session whose run is shown. */
  id: string;
  events: SessionEvents;
  marks: SessionMarks;
  isRunning: boolean;
  /** Number of the event at which the reader is; null at the end. */
  at: number | null;
  go(seq: number): void;
}

/** The whole run of a session over time: how much came when, what failed and what was asked. A click goes there. */
export function ActivityStrip({ id, events, marks, isRunning, at, go }: ActivityStripProps) {
  const { api } = useConsole();
  const path = `/v1/sessions/${encodeURIComponent(id)}/activity`;
  const activity = useMemo(() => new Activity((signal) => api.get(path, {}, signal), events.last), [id, events]);
  useEffect(() => () => activity.close(), [activity]);
  const points = activity.points.value;
  const [first, last] = [points[0], points.at(-1)];
  // Its room is kept while it is read: rows must not move under a reader.
  if (first === undefined || last === undefined || points.length < 3) return <div class="strip" />;
  const to = Math.max(last.at, isRunning ? Date.now() : 0);
  const span = { from: first.at, to };
  return (
    <div class="strip">
      <time class="strip-end" dateTime={new Date(first.at).toISOString()}>{clock(first.at)}</time>
      <Run points={points} span={span} marks={marks} at={at} go={go} />
      <time class="strip-end" dateTime={new Date(to).toISOString()}>{isRunning ? "now" : clock(to)}</time>
    </div>
  );
}

interface RunProps extends MarksProps, Pick<ActivityStripProps, "at" | "go"> {}

function Run({ points, span, marks, at, go }: RunProps) {
  const newest = points.at(-1)?.seq ?? 1;
  const here = at === null ? newest : at;
  const move = (seq: number) => go(Math.max(1, Math.min(seq, newest)));
  const onKey = (event: KeyboardEvent) => {
    const step = Math.max(1, Math.round(newest / 40));
    const next = { ArrowLeft: here - step, ArrowRight: here + step, Home: 1, End: newest }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    move(next);
  };
  const onClick = (event: MouseEvent & { currentTarget: SVGSVGElement }) => {
    const box = event.currentTarget.getBoundingClientRect();
    move(seqAt(points, span.from + (event.clientX - box.left) / box.width * (span.to - span.from)));
  };
  return (
    <svg
      viewBox={`0 0 ${bars} ${height}`}
      preserveAspectRatio="none"
      role="slider"
      tabIndex={0}
      aria-label={`The whole run, ${durationText(span.to - span.from)}`}
      aria-valuemin={1}
      aria-valuemax={newest}
      aria-valuenow={here}
      aria-valuetext={`Event ${here}, ${new Date(momentOf(points, here)).toLocaleTimeString()}`}
      onKeyDown={onKey}
      onClick={onClick}
    >
      <Bars points={points} from={span.from} to={span.to} />
      <Marks points={points} span={span} marks={marks} />
      {at !== null && <rect class="strip-here" x={xOf(momentOf(points, at), span)} y={0} width={1} height={height} />}
    </svg>
  );
}

function Bars({ points, from, to }: { points: readonly ActivityPoint[]; from: number; to: number }) {
  const counts = densityOf(points, { from, to, count: bars });
  // A burst must not flatten the rest.
  const most = Math.max(1, ...counts.map(Math.sqrt));
  return (
    <>
      {counts.map((count, at) => {
        const high = count <= 0 ? 0.6 : Math.max(2, Math.sqrt(count) / most * (height - 5));
        return (
          <rect
            class={count <= 0 ? "flat" : undefined}
            x={at + 0.1}
            y={height - high}
            width={0.8}
            height={high}
          />
        );
      })}
    </>
  );
}

interface MarksProps {
  points: readonly ActivityPoint[];
  span: { from: number; to: number };
  marks: SessionMarks;
}

function Marks({ points, span, marks }: MarksProps) {
  const known = marks.marks.value;
  if (known === null) return null;
  const asked = [...known.blocks].flatMap(([block, { asked }]) => asked > 0 ? [block * blockSize + 1] : []);
  const draw = (look: string, seqs: readonly number[]) =>
    seqs.slice(0, mostMarks).map((seq) => (
      <rect class={look} x={xOf(momentOf(points, seq), span) - 0.4} y={0} width={0.8} height={4} />
    ));
  return (
    <>
      {draw("strip-failed", known.places.failures)}
      {draw("strip-asked", asked)}
    </>
  );
}

function xOf(at: number, { from, to }: { from: number; to: number }): number {
  return Math.max(0, Math.min(bars - 1, (at - from) / (to - from || 1) * bars));
}

function clock(at: number): string {
  return new Date(at).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}
