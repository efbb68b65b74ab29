/** Work of a page's main thread by that thread's own clock, so that waiting for a processor does not count. */
export interface OwnTime {
  /** Milliseconds of processor that each frame took: half of all took less, 95 % took less, the longest. */
  p50: number;
  p95: number;
  most: number;
  frames: number;
  /** Part of the time in which the main thread worked. */
  busy: number;
  /** Milliseconds a second by kind of work. */
  kinds: Record<string, number>;
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  /** Processor time, where the thread's clock is known. */
  tdur?: number;
  args?: { name?: string };
}

/** Categories of a trace that {@link ownTimeOf} reads. */
export const traceCategories: string[] = ["toplevel", "devtools.timeline"];

const kindNames: Readonly<Record<string, string>> = {
  FunctionCall: "script",
  EvaluateScript: "script",
  FireAnimationFrame: "script",
  RunMicrotasks: "script",
  TimerFire: "script",
  EventDispatch: "script",
  Layout: "layout",
  UpdateLayoutTree: "style",
  PrePaint: "paint",
  Paint: "paint",
  Layerize: "paint",
  Commit: "commit",
  MajorGC: "collection",
  MinorGC: "collection",
};

/** Reads a trace of Chromium: the processor time of the page's main thread, frame by frame. The page asks for frames. */
export function ownTimeOf(trace: string): OwnTime {
  const { traceEvents } = JSON.parse(trace) as { traceEvents: TraceEvent[] };
  const own = mainThread(traceEvents);
  const draws = own.filter(({ name }) => name === "FireAnimationFrame").sort((a, b) => a.ts - b.ts);
  const times: number[] = [];
  let [at, from, to] = [0, 0, 0];
  for (const task of own.filter(({ name, ph }) => ph === "X" && name.endsWith("RunTask")).sort((a, b) => a.ts - b.ts)) {
    while (at < draws.length && draws[at]!.ts < task.ts) at++;
    // A frame begins with the task that draws, and has what is done until the next one.
    const isFrame = at < draws.length && draws[at]!.ts < end(task);
    if (isFrame) {
      times.push(0);
      if (times.length === 1) from = task.ts;
      to = task.ts;
    }
    if (times.length > 0) times[times.length - 1]! += cpu(task) / 1000;
  }
  times.pop();
  const all = times.reduce((sum, time) => sum + time, 0);
  times.sort((a, b) => a - b);
  const part = (share: number) => Math.round((times[Math.floor(times.length * share)] ?? 0) * 10) / 10;
  return {
    p50: part(0.5),
    p95: part(0.95),
    most: part(0.999),
    frames: times.length,
    busy: Math.round(all * 1e5 / (to - from)) / 100,
    kinds: kindsOf(own, { from, to }),
  };
}

function mainThread(events: readonly TraceEvent[]): TraceEvent[] {
  const names = events.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain");
  const threads = names.map(({ pid, tid }) => events.filter((one) => one.pid === pid && one.tid === tid));
  const frames = (thread: readonly TraceEvent[]) => thread.filter(({ name }) => name === "FireAnimationFrame").length;
  return threads.sort((a, b) => frames(b) - frames(a))[0] ?? [];
}

/** Time of each kind of work without the work inside it that has a kind of its own. */
function kindsOf(own: readonly TraceEvent[], { from, to }: { from: number; to: number }): Record<string, number> {
  const sums: Record<string, number> = {};
  const within = own.filter(({ ph, name, ts }) => ph === "X" && ts >= from && ts < to && kindNames[name] !== undefined);
  const open: { end: number; kind: string }[] = [];
  for (const event of within.sort((a, b) => a.ts - b.ts || end(b) - end(a))) {
    while (open.length > 0 && open.at(-1)!.end <= event.ts) open.pop();
    const kind = kindNames[event.name]!;
    sums[kind] = (sums[kind] ?? 0) + cpu(event);
    const around = open.at(-1);
    if (around !== undefined) sums[around.kind] = (sums[around.kind] ?? 0) - cpu(event);
    open.push({ end: end(event), kind });
  }
  const seconds = (to - from) / 1e6;
  return Object.fromEntries(Object.entries(sums).map(([kind, sum]) => [kind, Math.round(sum / 100 / seconds) / 10]));
}

function end({ ts, dur = 0 }: TraceEvent): number {
  return ts + dur;
}

function cpu({ tdur, dur = 0 }: TraceEvent): number {
  return tdur ?? dur;
}
