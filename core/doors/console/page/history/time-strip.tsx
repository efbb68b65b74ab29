import { longTimes } from "../rows/clock-text.ts";
import { useMemo, useState } from "preact/hooks";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { useConsole } from "../console-context.ts";
import { Empty, Failed, useLoaded } from "../parts.tsx";
import { MomentSessions } from "./moment-sessions.tsx";
import { sessionsBetween } from "./sessions-between.ts";
import { PlayControls, type StripPlay, useStripPlay } from "./strip-play.tsx";
import { ranAt, type Strip, stripBegin, stripOf, type StripScale, stripScales } from "./strip-parts.ts";

/** A strip of the last days that shows how much ran when; a person picks a moment and sees what ran then. */
export function TimeStrip() {
  const { api, sessions } = useConsole();
  const [name, setName] = useState("7 days");
  const scale = stripScales[name] ?? { days: 7, partMs: 3_600_000 };
  const [now] = useState(() => new Date());
  const newest = sessions.all.value[0]?.session_id;
  const [loaded] = useLoaded((signal) => {
    // The newest minute is of the stretch, too: a clock of the host may be ahead.
    const to = new Date(Date.now() + 60_000);
    return sessionsBetween({ from: stripBegin(scale, now), to }, { api, signal });
  }, [name, newest]);
  const all = loaded !== undefined && "value" in loaded ? loaded.value : [];
  if (loaded === undefined) return <p class="quiet-line" role="status">Reading …</p>;
  if ("failed" in loaded) return <Failed of={loaded.failed} />;
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>What ran when</h2>
        <div class="chips" role="group" aria-label="Days">
          {Object.keys(stripScales).map((one) => (
            <button
              type="button"
              class="chip"
              aria-pressed={one === name}
              onClick={() => setName(one)}
            >
              {one}
            </button>
          ))}
        </div>
      </div>
      <Moment key={name} scale={scale} sessions={all} now={now} />
      {all.length === 0 && (
        <Empty title={newest === undefined ? "Nothing has happened yet" : "Nothing ran in these days"}>
          <p>Every session will be found here, by its words and by its time.</p>
        </Empty>
      )}
    </section>
  );
}

/** The moment that a person picks on the strip; at first the last one in which something ran. */
function Moment({ scale, sessions, now }: { scale: StripScale; sessions: readonly SessionSummary[]; now: Date }) {
  const strip = useMemo(() => stripOf(sessions, scale, now), [sessions]);
  const [at, setAt] = useState<number | null>(null);
  const last = Math.floor((now.getTime() - strip.from) / strip.partMs);
  const lastBusy = strip.counts.findLastIndex((count) => count > 0);
  const part = Math.min(at ?? (lastBusy === -1 ? last : lastBusy), last);
  const time = strip.from + part * strip.partMs;
  const first = Math.max(0, strip.counts.findIndex((count) => count > 0));
  const play = useStripPlay({ at, part, first, last, move: setAt });
  const then = sessions.filter((session) => ranAt(session, time, strip.partMs));
  return (
    <>
      <Density strip={strip} part={part} last={last} move={setAt} play={play} />
      {sessions.length > 0 && (
        <>
          <PlayControls {...play} />
          <MomentSessions time={time} partMs={strip.partMs} sessions={then} isPassing={play.isPlaying} />
        </>
      )}
    </>
  );
}

interface DensityProps {
  strip: Strip;
  part: number;
  /** The part of now. */
  last: number;
  move: (part: number) => void;
  play: StripPlay;
}

/** The strip, and below it the days: a click on one goes to the first time of it in which something ran. */
function Density({ strip, part, last, move, play }: DensityProps) {
  const { counts, days, partMs, from } = strip;
  const to = (next: number) => move(Math.max(0, Math.min(last, next)));
  return (
    <div class={play.isPlaying ? "time-strip is-playing" : "time-strip"}>
      <div
        class="strip-field"
        role="slider"
        tabIndex={0}
        aria-label="Time"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={part}
        aria-valuetext={`${longTimes.format(from + part * partMs)}: ${counts[part] ?? 0} ran`}
        {...moves({
          part,
          last,
          length: counts.length,
          perDay: Math.round(86_400_000 / partMs),
          to,
          toggle: play.toggle,
        })}
      >
        <Bars strip={strip} part={part} />
      </div>
      <div class={`strip-days ${days.length > 10 ? "many" : ""}`} aria-hidden="true">
        {days.map(({ name }, day) => (
          <button type="button" tabIndex={-1} onClick={() => to(firstBusy(strip, day))}>{name}</button>
        ))}
      </div>
    </div>
  );
}

interface MovesOptions {
  part: number;
  last: number;
  /** Parts of the strip, and of a day. */
  length: number;
  perDay: number;
  to: (part: number) => void;
  toggle: () => void;
}

/**
 * Makes the ways to move: the arrows by a part, Page Up and Page Down by a day, a click or a drag to the pointer. Space plays
 * and pauses.
 */
function moves({ part, last, length, perDay, to, toggle }: MovesOptions) {
  const steps: Record<string, number> = {
    ArrowLeft: part - 1,
    ArrowDown: part - 1,
    ArrowRight: part + 1,
    ArrowUp: part + 1,
    PageUp: part - perDay,
    PageDown: part + perDay,
    Home: 0,
    End: last,
  };
  const onPointer = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    if (event.type === "pointermove" && event.buttons !== 1) return;
    const { left, width } = event.currentTarget.getBoundingClientRect();
    to(Math.floor((event.clientX - left) / width * length));
  };
  return {
    onKeyDown(event: KeyboardEvent) {
      const next = steps[event.key];
      if (event.key === " ") toggle();
      else if (next !== undefined) to(next);
      else return;
      event.preventDefault();
    },
    onPointerDown: onPointer,
    onPointerMove: onPointer,
  };
}

/** The first part of a day in which something ran, or its begin. */
function firstBusy({ counts, days }: Strip, day: number): number {
  const [begin, end] = [days[day]?.at ?? 0, days[day + 1]?.at ?? 1].map((at) => Math.ceil(at * counts.length));
  const busy = counts.findIndex((count, at) => at >= (begin ?? 0) && at < (end ?? 0) && count > 0);
  return busy === -1 ? begin ?? 0 : busy;
}

function Bars({ strip: { counts, days }, part }: { strip: Strip; part: number }) {
  const most = Math.max(...counts, 1);
  return (
    <svg viewBox={`0 0 ${counts.length} 100`} preserveAspectRatio="none" aria-hidden="true">
      {days.slice(1).map(({ at }) => (
        <line class="strip-midnight" x1={at * counts.length} x2={at * counts.length} y1="0" y2="100" />
      ))}
      {counts.map((count, at) =>
        count > 0 && (
          <rect
            class={at === part ? "strip-part here" : "strip-part"}
            x={at + 0.08}
            y={100 - (14 + count / most * 82)}
            width="0.84"
            height={14 + count / most * 82}
          />
        )
      )}
      <rect class="strip-cursor" x={part} y="0" width="1" height="100" />
    </svg>
  );
}
