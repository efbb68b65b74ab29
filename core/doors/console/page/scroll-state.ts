import { HeightIndex } from "./height-index.ts";
import { type TimelineAim, TimelineLayout } from "./timeline-layout.ts";

/** Guessed height of a block that was never drawn. */
const guess = 420;
/** Pixels around the view that are drawn as well. */
const margin = 600;
/** Pixels above the view that are drawn while it follows the end: it moves away from them. */
const marginAtEnd = 120;
/** Pixels by which the field below may move the view while it is measured. */
const fieldPixels = 120;

interface BlockRange {
  first: number;
  last: number;
}

/** Place of a list of blocks, and which of them are drawn. */
export class ScrollState {
  heights: HeightIndex = new HeightIndex(guess);
  isAtEnd: boolean;
  #layout = new TimelineLayout([]);
  #aim: TimelineAim | null;
  #top = 0;
  #viewHeight = 800;
  #drawn: BlockRange = { first: 0, last: -1 };
  #isAsked = false;
  /** Pixels by which the view must move, since items came or went above it. */
  #moved = 0;
  #redraw: () => void;
  #element: HTMLElement | null = null;
  /** Blocks that were drawn with their events. */
  #settled = new Set<number>();
  /** First events of their first rows, by the numbers of blocks. */
  #firsts = new Map<number, string | undefined>();

  constructor(target: TimelineAim | null, redraw: () => void) {
    this.#aim = target;
    this.isAtEnd = target === null;
    this.#redraw = redraw;
  }

  draw(): BlockRange {
    return this.#drawn = this.#wanted();
  }

  /** Takes the items that there are now. Where others than the last ones came or went, what a person reads stays. */
  arrange(layout: TimelineLayout): void {
    const before = this.#layout;
    this.#layout = layout;
    if (layout.continues(before)) return this.heights.resize(layout.count);
    const known = this.heights;
    const settled = this.#settled;
    const numbers = layout.keys();
    this.heights = new HeightIndex(guess);
    this.heights.resize(layout.count);
    this.#settled = new Set();
    this.#firsts = new Map();
    for (let index = 0; index < before.count; index++) {
      const now = numbers.get(before.item(index).key);
      if (now === undefined) continue;
      this.heights.set(now, known.before(index + 1) - known.before(index));
      if (settled.has(index)) this.#settled.add(now);
    }
    for (let index = known.at(this.#top + this.#moved); index < before.count; index++) {
      const now = numbers.get(before.item(index).key);
      if (now === undefined) continue;
      this.#moved += this.heights.before(now) - known.before(index);
      return;
    }
  }

  aimAt(target: TimelineAim | null): void {
    this.#aim = target;
    if (target !== null) this.isAtEnd = false;
    this.#ask();
  }

  /** Takes the heights of the rows just drawn and puts the view where it belongs, in one layout. */
  place(element: HTMLElement): void {
    this.#element = element;
    this.#notice(element);
    const drawn = [...element.querySelectorAll<HTMLElement>(":scope > .block")].map((block) => ({
      index: Number(block.dataset["index"]),
      height: block.offsetHeight,
      isKnown: block.querySelector(":scope > .block-unknown") === null,
      first: block.querySelector<HTMLElement>(":scope > .row")?.dataset["seq"],
    }));
    if (this.#moved !== 0) this.#shift(this.#moved);
    this.#moved = 0;
    const shift = this.#keeping(element.scrollTop, () => {
      for (const { index, height, isKnown, first } of drawn) {
        this.heights.set(index, height);
        this.#firsts.set(index, first);
        if (isKnown) this.#settled.add(index);
        else this.#settled.delete(index);
      }
    }, drawn.map(({ index }) => index));
    if (this.#aim !== null) {
      const row = element.querySelector<HTMLElement>("[data-target]");
      // A row that goes on through several blocks stands in its first one.
      const block = row?.closest<HTMLElement>(".block")?.dataset["index"] ?? this.#layout.find(this.#aim);
      const inBlock = row === null ? 0 : row.offsetTop - 80;
      element.scrollTop = this.heights.before(Number(block)) + inBlock;
      this.#top = element.scrollTop;
    } else if (this.isAtEnd) {
      element.scrollTop = element.scrollHeight;
      this.#top = element.scrollTop;
    } else this.#shift(shift);
    this.#askIfOther();
  }

  viewResized(element: HTMLElement): void {
    this.#notice(element);
    this.#viewHeight = element.clientHeight;
    if (this.isAtEnd) element.scrollTop = element.scrollHeight;
    this.#top = element.scrollTop;
    this.#askIfOther();
  }

  /** A block became higher or lower by itself: a fold was opened, or the window is another. */
  resized = (index: number, height: number): void => {
    if (this.#element !== null) this.#notice(this.#element);
    const shift = this.#keeping(this.#top, () => this.heights.set(index, height));
    if (this.#aim === null && !this.isAtEnd) this.#shift(shift);
    else if (this.isAtEnd && this.#element !== null) {
      this.#element.scrollTop = this.#element.scrollHeight;
      this.#top = this.#element.scrollTop;
    }
    this.#askIfOther();
  };

  /**
   * A person has scrolled away from the end, and the event of it has not come yet: the view must not go back there. That the
   * view became lower or higher at the same time, as it does when the field below appears, takes nothing from it.
   */
  #notice(element: HTMLElement): void {
    const end = Math.min(this.#top, element.scrollHeight - element.clientHeight);
    if (!this.isAtEnd || element.scrollTop >= end - fieldPixels) return;
    this.#viewHeight = element.clientHeight;
    this.scrolled(element);
  }

  scrolled(element: HTMLElement): void {
    // A view that grows moves its content down without a person.
    if (element.clientHeight !== this.#viewHeight) return this.viewResized(element);
    const { scrollTop } = element;
    if (scrollTop === this.#top) return;
    const isUp = scrollTop < this.#top;
    const wasAtEnd = this.isAtEnd;
    this.#top = scrollTop;
    this.#aim = null;
    // Content that shrinks moves the view as well: it is then still at the very end.
    this.isAtEnd = element.scrollHeight - this.#viewHeight - scrollTop < (isUp ? 2 : 60);
    if (wasAtEnd !== this.isAtEnd) this.#ask();
    else this.#askIfOther();
  }

  /** A person has opened or closed a part: the view stays where it is. */
  letGo = (): void => {
    this.#aim = null;
    this.isAtEnd = false;
  };

  toEnd = (): void => {
    this.#aim = null;
    this.isAtEnd = true;
    this.#ask();
  };

  /**
   * Takes new heights; returns by how much the view must move, so that what a person reads stays in its place.
   * @param drawn blocks that are drawn, from above: one that was read before counts more than one that has just come
   */
  #keeping(top: number, setHeights: () => void, drawn: readonly number[] = []): number {
    const { heights } = this;
    const read = drawn.find((index) => this.#settled.has(index) && heights.before(index + 1) > top);
    const kept = read ?? heights.at(top);
    const places = [heights.before(kept), heights.before(kept + 1)] as const;
    const first = this.#firsts.get(kept);
    setHeights();
    // Its first rows may go on from a row above that has just come, and stand there now: then its end stays where it is.
    const isOther = first !== undefined && this.#firsts.get(kept) !== first;
    return isOther ? heights.before(kept + 1) - places[1] : heights.before(kept) - places[0];
  }

  // Rows above the view must not move the rows in it.
  #shift(by: number): void {
    if (by === 0 || this.#element === null) return;
    this.#element.scrollTop += by;
    this.#top = this.#element.scrollTop;
  }

  #wanted(): BlockRange {
    const { heights } = this;
    const top = this.#aim !== null
      ? heights.before(this.#layout.find(this.#aim))
      : this.isAtEnd
      ? Math.max(0, heights.total - this.#viewHeight)
      : this.#top + this.#moved;
    return {
      first: heights.at(Math.max(0, top - (this.isAtEnd ? marginAtEnd : margin))),
      last: Math.min(heights.at(top + this.#viewHeight + margin), heights.count - 1),
    };
  }

  #askIfOther(): void {
    const { first, last } = this.#wanted();
    if (first < this.#drawn.first || last > this.#drawn.last) this.#ask();
  }

  #ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    requestAnimationFrame(() => {
      this.#isAsked = false;
      this.#redraw();
    });
  }
}
