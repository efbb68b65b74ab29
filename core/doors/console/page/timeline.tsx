import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { EventRow } from "./event-row.tsx";
import { dividedCalls, foldRows } from "./fold.ts";
import { ScrollState } from "./scroll-state.ts";
import { blockSize, type EventBlock, type SessionEvents, unknown } from "./session-events.ts";

/** Browsers draw nothing below some thirty million pixels. */
const mostPixels = 24_000_000;

interface TimelineProps {
  events: SessionEvents;
  /** `seq` to show first; the end without one. */
  target: number | null;
  isRunning: boolean;
  onRaw: (seq: number) => void;
}

/** A session's events in a list that draws only what is in view. Stays at the end if it is there. */
export function Timeline({ events, target, isRunning, onRaw }: TimelineProps) {
  const view = useRef<HTMLDivElement>(null);
  const { heights, first, last, isAtEnd, onScroll, toEnd, resized } = useScroll(view, { events, target });
  const blocks = Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => {
    const index = first + place;
    return (
      <Measured key={index} index={index} onHeight={resized}>
        <Block {...blockProps(events, { index, target })} onRaw={onRaw} />
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

function blockProps(
  events: TimelineProps["events"],
  { index, target }: { index: number; target: number | null },
): Omit<BlockProps, "onRaw"> {
  const block = events.block(index);
  // An event that a link names has a row of its own.
  const hasTarget = target !== null && Math.floor((target - 1) / blockSize) === index;
  const beside = (of: number) => hasTarget ? unknown : events.peek(of);
  return { block, before: beside(index - 1), after: beside(index + 1), index, target };
}

interface BlockProps {
  block: EventBlock;
  /** The blocks around it: they may have the other half of a tool's call. */
  before: EventBlock;
  after: EventBlock;
  index: number;
  target: number | null;
  onRaw: (seq: number) => void;
}

const Block = memo<BlockProps>(
  ({ block, before, after, index, target, onRaw }) => {
    if (block === unknown) {
      return <div class="block-unknown" aria-hidden="true">Event {(index * blockSize + 1).toLocaleString("en")} …</div>;
    }
    const divided = dividedCalls(block.events, { before: before.events, after: after.events });
    return (
      <>
        {foldRows(block.events, divided).map((row) => (
          <EventRow key={`${row.kind}${row.seq}`} row={row} target={target} onRaw={onRaw} />
        ))}
      </>
    );
  },
  (a, b) =>
    a.block === b.block && a.before === b.before && a.after === b.after && a.index === b.index && a.target === b.target,
);

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
  { events, target }: { events: SessionEvents; target: number | null },
) {
  const [, redraw] = useState(0);
  const kept = useRef<ScrollState | null>(null);
  const state = kept.current ??= new ScrollState(target, () => redraw((count) => count + 1));
  // Read here, so that a change draws this part again.
  void events.version.value;
  state.heights.resize(events.blockCount);
  useEffect(() => state.aimAt(target), [target]);
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
