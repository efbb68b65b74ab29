import { expect, test } from "vitest";
import { ScrollState } from "../../../../core/doors/console/page/scroll-state.ts";
import type { SessionEvents } from "../../../../core/doors/console/page/session-events.ts";
import { TimelineLayout, type TimelinePart } from "../../../../core/doors/console/page/timeline-layout.ts";

Object.assign(globalThis, { requestAnimationFrame: () => 0 });

/** A view as a browser has it: its content has a height, and it scrolls no further than that. */
class View {
  clientHeight = 500;
  scrollHeight = 0;
  #top = 0;
  heights: number[] = [];

  get scrollTop(): number {
    return this.#top = Math.min(this.#top, Math.max(0, this.scrollHeight - this.clientHeight));
  }

  set scrollTop(top: number) {
    this.#top = Math.max(0, Math.min(top, this.scrollHeight - this.clientHeight));
  }

  querySelectorAll(): object[] {
    return this.heights.map((offsetHeight, index) => ({ dataset: { index }, offsetHeight, querySelector: () => null }));
  }

  querySelector(): null {
    return null;
  }
}

const head = (key: string): TimelinePart => ({ key, kind: "head", draw: () => null });
const block: TimelinePart = {
  key: "a-1",
  kind: "events",
  events: { last: { value: 30 } } as unknown as SessionEvents,
  place: { session_id: "a", isDivided: false },
  from: 1,
  to: null,
};

/** Draws a timeline at its end. */
function drawn() {
  const state = new ScrollState(null, () => {});
  const view = new View();
  const element = view as unknown as HTMLElement;
  const draw = (parts: readonly TimelinePart[], heights: number[]) => {
    state.arrange(new TimelineLayout(parts));
    state.draw();
    view.heights = heights;
    view.scrollHeight = heights.reduce((sum, height) => sum + height, 0);
    state.place(element);
  };
  state.viewResized(element);
  draw([block], [1200]);
  return { state, view, element, draw };
}

test("ScrollState follows the end when heads come above what is in view", () => {
  const { state, view, draw } = drawn();
  expect(view.scrollTop).toBe(700);
  // A head that was never drawn has a guessed height: the view would move by that, and no person moved it.
  draw([head("turn-1"), block, head("turn-2")], [60, 1180, 460]);
  expect(state.isAtEnd).toBe(true);
  expect(view.scrollTop).toBe(1200);
});

test.each([["lower", 360], ["higher", 640], ["as high", 500]])(
  "ScrollState lets go where a person scrolls while the view becomes %s",
  (_, height) => {
    const { state, view, element } = drawn();
    view.scrollTop = 0;
    view.clientHeight = height;
    state.viewResized(element);
    expect([state.isAtEnd, view.scrollTop]).toEqual([false, 0]);
    state.resized(0, 1300);
    expect([state.isAtEnd, view.scrollTop]).toEqual([false, 0]);
  },
);

test("ScrollState follows the end when the view becomes higher and lower without a person", () => {
  const { state, view, element } = drawn();
  for (const height of [640, 360, 500]) {
    view.clientHeight = height;
    state.scrolled(element);
    state.viewResized(element);
    expect([state.isAtEnd, view.scrollTop]).toEqual([true, 1200 - height]);
  }
});

test("ScrollState knows a scroll after a block became higher by itself", () => {
  const { state, view, element, draw } = drawn();
  draw([block], [400]);
  expect(view.scrollTop).toBe(0);
  view.scrollHeight = 1400;
  state.resized(0, 1400);
  expect(view.scrollTop).toBe(900);
  view.scrollTop = 0;
  state.scrolled(element);
  expect(state.isAtEnd).toBe(false);
});
