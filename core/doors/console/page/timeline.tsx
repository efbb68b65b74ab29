import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { EventMark } from "../../../ground/checks/event-marks.ts";
import { EventRow } from "./event-row.tsx";
import { blockRows, blocksAround } from "./block-rows.ts";
import { ScrollState } from "./scroll-state.ts";
import { RowPlaceProvider } from "./row-place.ts";
import { AgentSourceProvider } from "./session/agent-row.tsx";
import type { PlanPlace } from "./session/fold-places.ts";
import { PlanProvider } from "./session/plan-text.tsx";
import { type EventBlock, type SessionEvents, unknown } from "./session-events.ts";
import { blockOf, blockSize, type ShownEvent } from "./shown-event.ts";
import { type RowPlace, type TimelineAim, TimelineLayout, type TimelinePart } from "./timeline-layout.ts";

/** Browsers draw nothing below some thirty million pixels. */
const mostPixels = 24_000_000;

interface TimelineProps {
  parts: readonly TimelinePart[];
  /** Place to show first; the end without one. */
  target: TimelineAim | null;
  isRunning: boolean;
  onRaw: (place: RowPlace, seq: number) => void;
  /** Rises when a person opens or closes a part. */
  folded: number;
}

/** Events of a conversation in a list that draws only what is in view. Stays at the end if it is there. */
export function Timeline({ parts, target, isRunning, onRaw, folded }: TimelineProps) {
  const view = useRef<HTMLDivElement>(null);
  const scroll = useScroll(view, { parts, target, folded });
  const { layout, heights, first, last, isAtEnd, onScroll, toEnd, resized } = scroll;
  const blocks = Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => {
    const index = first + place;
    const { key, part, block } = layout.item(index);
    return (
      <Measured key={key} index={index} onHeight={resized}>
        {part.kind === "head" ? part.draw() : <Block {...blockProps(part, { index: block, target })} onRaw={onRaw} />}
      </Measured>
    );
  });
  const above = Math.min(heights.before(first), mostPixels);
  const below = Math.min(heights.total - heights.before(last + 1), mostPixels);
  return (
    <div class="timeline-frame">
      <div
        class="timeline"
        ref={view}
        tabIndex={0}
        role="log"
        aria-label="Events"
        aria-live="off"
        onScroll={onScroll}
      >
        <div class="timeline-space" style={{ height: `${above}px` }} />
        {blocks}
        <div class="timeline-space" style={{ height: `${below}px` }} />
      </div>
      {!isAtEnd && (
        <button type="button" class="to-end" onClick={toEnd}>
          {isRunning ? "Follow the newest" : "To the end"} <span aria-hidden="true">↓</span>
        </button>
      )}
    </div>
  );
}

type EventsPart = Extract<TimelinePart, { kind: "events" }>;

function blockProps(
  part: EventsPart,
  { index, target }: { index: number; target: TimelineAim | null },
): Omit<BlockProps, "onRaw"> {
  const { events, place, from, to, only } = part;
  const seq = target?.session_id === place.session_id ? target.seq : null;
  const mark = only?.mark ?? null;
  const props = { events, index, target: seq, place, from, to, mark };
  // An answer stands with its call, which may be in the block before.
  const hasTarget = seq !== null && (blockOf(seq) === index || blockOf(seq) === index + 1);
  const isFolded = mark === null && !hasTarget;
  // Agents of the agent may work for very long: what stands in their rows is not read.
  if (isFolded && events.folds.isInner(index)) return { ...props, ...nothing };
  const blocks = blocksAround(events, index, { isSparse: mark !== null });
  const own = events.peek(index).events;
  const isInner = own.length > 0 && own.every(({ event }) => "agent_id" in event && event.agent_id !== undefined);
  if (isFolded && isInner && events.folds.isInner(index, { isLikely: true })) return { ...props, ...nothing };
  const hasPlan = blocks.some((block) => block.events.some(({ event }) => event.type === "plan"));
  const around = blocks.flatMap((block) => block.events);
  return {
    ...props,
    blocks,
    far: events.folds.answersTo(own, around).flatMap((seq) => events.single(seq) ?? []),
    above: events.folds.answeredAbove(own, around),
    plan: hasPlan ? events.folds.newestPlan(from, to) : undefined,
    homeless: mark === null ? events.folds.homeless(own) : [],
  };
}

const nothing = { blocks: [], far: [], above: [], plan: undefined, homeless: [] };

interface BlockProps {
  events: SessionEvents;
  /** The block with those around it that have parts of its rows. */
  blocks: readonly EventBlock[];
  /** Answers from far below to its calls. */
  far: readonly ShownEvent[];
  /** Numbers of its answers that their calls, far above, have. */
  above: readonly number[];
  index: number;
  target: number | null;
  place: RowPlace;
  /** Numbers of the first and last event of its part. */
  from: number;
  to: number | null;
  /** Null: all of its rows are shown. */
  mark: EventMark | null;
  plan: PlanPlace | undefined;
  homeless: readonly string[];
  onRaw: (place: RowPlace, seq: number) => void;
}

const Block = memo<BlockProps>(
  ({ events, blocks, far, above, index, target, place, from, to, mark, plan, homeless, onRaw }) => {
    if (blocks.includes(unknown)) {
      return <div class="block-unknown" aria-hidden="true">Event {(index * blockSize + 1).toLocaleString("en")} …</div>;
    }
    const all = blocks.flatMap((block) => block.events);
    const { isDivided } = place;
    const options = { index, from, to, mark, target, isDivided, plan, homeless, above };
    const rows = blockRows([...all, ...far], options);
    const first = index * blockSize + 1;
    const before = mark === null && first > from ? all.findLast(({ seq }) => seq < first)?.ts ?? null : null;
    return (
      <RowPlaceProvider value={place}>
        <AgentSourceProvider value={{ events, isWhole: mark === null }}>
          <PlanProvider value={plan}>
            {rows.map((row, at) => (
              <EventRow
                key={`${row.kind}${row.seq}`}
                row={row}
                above={rows[at - 1]?.at ?? before}
                target={target}
                onRaw={(seq) => onRaw(place, seq)}
              />
            ))}
          </PlanProvider>
        </AgentSourceProvider>
      </RowPlaceProvider>
    );
  },
  (a, b) =>
    areSame(a.blocks, b.blocks) && a.index === b.index && a.target === b.target && a.place === b.place &&
    a.from === b.from && a.to === b.to && a.mark === b.mark && a.plan?.seq === b.plan?.seq &&
    a.plan?.updates === b.plan?.updates && areSame(a.homeless, b.homeless) &&
    areSame(a.far, b.far) && areSame(a.above, b.above),
);

function areSame<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((item, at) => item === other[at]);
}

/** A block in the list, that tells when its height changes by itself. */
function Measured(
  { index, onHeight, children }: {
    index: number;
    onHeight: (index: number, height: number) => void;
    children: preact.ComponentChildren;
  },
) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const shown = element.current;
    if (shown === null) return;
    const observer = new ResizeObserver(([entry]) => entry && onHeight(index, entry.borderBoxSize[0]?.blockSize ?? 0));
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  return <div class="block" data-index={index} ref={element}>{children}</div>;
}

/** Tells which blocks are in view, and whether the view follows the end. */
function useScroll(
  view: { current: HTMLDivElement | null },
  { parts, target, folded }: Pick<TimelineProps, "parts" | "target" | "folded">,
) {
  const [, redraw] = useState(0);
  const kept = useRef<ScrollState | null>(null);
  const state = kept.current ??= new ScrollState(target, () => redraw((count) => count + 1));
  const folds = useRef(folded);
  if (folds.current !== folded) state.letGo();
  folds.current = folded;
  // Read here, so that a change draws this part again.
  for (const part of parts) if (part.kind === "events") void part.events.version.value;
  const layout = new TimelineLayout(parts);
  state.arrange(layout);
  const { session_id, seq, key } = target ?? {};
  useEffect(() => state.aimAt(target), [session_id, seq, key]);
  useLayoutEffect(() => {
    if (view.current !== null) state.place(view.current);
  });
  useEffect(() => {
    const element = view.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => state.viewResized(element));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return {
    layout,
    heights: state.heights,
    isAtEnd: state.isAtEnd,
    ...state.draw(),
    resized: state.resized,
    onScroll: () => view.current !== null && state.scrolled(view.current),
    toEnd: state.toEnd,
  };
}

/** A part that is drawn again only when its properties differ. */
function memo<P extends object>(
  draw: (props: P) => ComponentChildren,
  isSame: (before: P, after: P) => boolean,
): new (props: P) => Component<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      return !isSame(this.props, next);
    }
    override render(): ComponentChildren {
      return draw(this.props);
    }
  };
}
