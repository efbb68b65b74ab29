import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Pixels above and below the view that are drawn as well. */
const margin = 400;

interface ListWindowProps {
  /** Height of each row. */
  pixels: readonly number[];
  draw(index: number): ComponentChildren;
  /** Called when a reader comes near the end. */
  nearEnd(): void;
}

/** A list of rows of known heights that draws only those in view; the page around it scrolls. */
export function ListWindow({ pixels, draw, nearEnd }: ListWindowProps) {
  const list = useRef<HTMLUListElement>(null);
  const { first, last, above, below } = rowsIn(pixels, useView(list, pixels.length));
  useEffect(() => {
    if (last >= pixels.length) nearEnd();
  }, [last, pixels.length]);
  return (
    <ul
      class="session-list lines"
      ref={list}
      style={{ paddingTop: `${above}px`, paddingBottom: `${below}px` }}
    >
      {Array.from({ length: last - first }, (_, at) => draw(first + at))}
    </ul>
  );
}

/** Follows the part of a list that is in view. */
function useView(list: RefObject<HTMLUListElement | null>, count: number): { top: number; bottom: number } {
  const [view, setView] = useState({ top: 0, bottom: 1400 });
  const look = () => {
    const page = list.current?.closest("main");
    if (list.current === null || page == null) return;
    const top = page.getBoundingClientRect().top - list.current.getBoundingClientRect().top;
    // Half a margin of movement needs no other rows.
    setView((before) =>
      Math.abs(before.top - top) < margin / 2 && before.bottom - before.top === page.clientHeight
        ? before
        : { top, bottom: top + page.clientHeight }
    );
  };
  useLayoutEffect(look, [count]);
  useEffect(() => {
    const page = list.current?.closest("main");
    if (page == null) return;
    page.addEventListener("scroll", look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(page);
    return () => {
      page.removeEventListener("scroll", look);
      observer.disconnect();
    };
  }, []);
  return view;
}

/** Finds the rows in view, and the heights of what is above and below them. */
function rowsIn(pixels: readonly number[], { top, bottom }: { top: number; bottom: number }) {
  let [at, first, above] = [0, 0, 0];
  for (; first < pixels.length - 1 && at + pixels[first]! < top - margin; first++) at += pixels[first]!;
  above = at;
  let last = first;
  for (; last < pixels.length && at < bottom + margin; last++) at += pixels[last]!;
  return { first, last, above, below: pixels.slice(last).reduce((sum, one) => sum + one, 0) };
}
