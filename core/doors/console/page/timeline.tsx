import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { memo } from "./memo.ts";
import { EventRow } from "./event-row.tsx";
import { type DividedCalls, dividedCalls, foldRows, undivided } from "./fold.ts";
import { HeightIndex } from "./height-index.ts";
import { blockSize, type EventBlock, type SessionEvents } from "./session-events.ts";

/** Guessed height of a block that was never drawn. */
const guess = 420;
/** Pixels around the view that are drawn as well. */
const margin = 600;
/** Browsers draw nothing below some thirty million pixels. */
const mostPixels = 24_000_000;

/** Properties of {@link Timeline}. */
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
  const scroll = useScroll(view, events, target);
  const blocks = [];
  for (let index = scroll.first; index <= scroll.last && index < events.blockCount; index++) {
    const block = events.block(index);
    // An event that a link names has a row of its own.
    const divided = target !== null && Math.floor((target - 1) / blockSize) === index
      ? undivided
      : dividedCalls(block.events, { before: events.peek(index - 1), after: events.peek(index + 1) });
    blocks.push(
      <Measured key={index} top={scroll.heights.before(index)} onHeight={(height) => scroll.measured(index, height)}>
        <Block
          block={block}
          version={block.version}
          divided={divided}
          index={index}
          target={target}
          onRaw={onRaw}
        />
      </Measured>,
    );
  }
  return (
    <div class="timeline-frame">
      <div
        class="timeline"
        ref={view}
        tabIndex={0}
        role="log"
        aria-label="Events"
        aria-live="off"
        onScroll={scroll.onScroll}
      >
        <div class="timeline-space" style={{ height: `${Math.min(scroll.heights.total, mostPixels)}px` }}>{blocks}</div>
      </div>
      {!scroll.isAtEnd && (
        <button type="button" class="to-end" onClick={scroll.toEnd}>
          {isRunning ? "Follow the newest" : "To the end"} <span aria-hidden="true">↓</span>
        </button>
      )}
    </div>
  );
}

/** Properties of {@link Block}. */
interface BlockProps {
  block: EventBlock;
  version: number;
  divided: DividedCalls;
  index: number;
  target: number | null;
  onRaw: (seq: number) => void;
}

const Block = memo<BlockProps>(
  ({ block, divided, index, target, onRaw }) => {
    if (block.version === -1) {
      return <div class="block-unknown" aria-hidden="true">Event {(index * blockSize + 1).toLocaleString("en")} …</div>;
    }
    return (
      <>
        {foldRows(block.events, divided).map((row) => (
          <EventRow key={`${row.kind}${row.seq}`} row={row} target={target} onRaw={onRaw} />
        ))}
      </>
    );
  },
  (a, b) =>
    a.version === b.version && a.index === b.index && a.target === b.target &&
    a.block.events[0] === b.block.events[0] && a.divided.answers.size === b.divided.answers.size &&
    a.divided.answered.size === b.divided.answered.size,
);

/** A block at its place, that tells its height. */
function Measured(
  { top, onHeight, children }: { top: number; onHeight: (height: number) => void; children: preact.ComponentChildren },
) {
  const element = useRef<HTMLDivElement>(null);
  const told = useRef(onHeight);
  told.current = onHeight;
  useLayoutEffect(() => {
    const shown = element.current;
    if (shown === null) return;
    const observer = new ResizeObserver(([entry]) => entry && told.current(entry.borderBoxSize[0]?.blockSize ?? 0));
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  return <div class="block" ref={element} style={{ transform: `translateY(${top}px)` }}>{children}</div>;
}

/** Tells which blocks are in view, and whether the view follows the end. */
function useScroll(view: { current: HTMLDivElement | null }, events: SessionEvents, target: number | null) {
  const [, redraw] = useState(0);
  const state =
    useRef({ heights: new HeightIndex(guess), isAtEnd: target === null, aim: target, isAsked: false, top: 0 }).current;
  state.heights.resize(events.blockCount);
  const { heights } = state;
  // Read here, so that a change draws this part again.
  void events.version.value;
  const ask = () => {
    if (state.isAsked) return;
    state.isAsked = true;
    requestAnimationFrame(() => {
      state.isAsked = false;
      redraw((count) => count + 1);
    });
  };
  const place = () => {
    const element = view.current;
    if (element === null) return;
    if (state.aim !== null) {
      const row = element.querySelector<HTMLElement>("[data-target]");
      const inBlock = row === null ? 0 : row.offsetTop - 80;
      element.scrollTop = heights.before(Math.floor((state.aim - 1) / blockSize)) + inBlock;
    } else if (state.isAtEnd) element.scrollTop = element.scrollHeight;
    state.top = element.scrollTop;
  };
  useEffect(() => {
    state.aim = target;
    if (target !== null) state.isAtEnd = false;
    ask();
  }, [target]);
  useLayoutEffect(place);
  useEffect(() => {
    const observer = new ResizeObserver(ask);
    if (view.current !== null) observer.observe(view.current);
    return () => observer.disconnect();
  }, []);
  const height = view.current?.clientHeight ?? 800;
  const atEnd = Math.max(0, heights.total - height);
  const top = state.aim !== null
    ? heights.before(Math.floor((state.aim - 1) / blockSize))
    : state.isAtEnd
    ? atEnd
    : state.top;
  return {
    heights,
    isAtEnd: state.isAtEnd,
    first: heights.at(Math.max(0, top - margin)),
    last: heights.at(top + height + margin),
    measured(index: number, measuredHeight: number) {
      const wasAbove = heights.before(index + 1) <= state.top;
      const change = heights.set(index, measuredHeight);
      if (change === 0) return;
      // What is above the view must not move what is in it.
      if (wasAbove && !state.isAtEnd && state.aim === null && view.current !== null) {
        view.current.scrollTop += change;
        state.top = view.current.scrollTop;
      }
      ask();
    },
    onScroll() {
      const element = view.current;
      if (element === null || element.scrollTop === state.top) return;
      const isUp = element.scrollTop < state.top;
      const left = element.scrollHeight - element.clientHeight - element.scrollTop;
      state.top = element.scrollTop;
      state.aim = null;
      // A window that grows moves its content down as well, without a person: it is then still at the very end.
      state.isAtEnd = left < (isUp ? 2 : 60);
      ask();
    },
    toEnd() {
      state.aim = null;
      state.isAtEnd = true;
      ask();
    },
  };
}
