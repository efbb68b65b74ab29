import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** How long an act that was confirmed can be taken back. Milliseconds. */
const undoMs = 5000;

/** Does something in a few seconds, unless a person takes it back; the focus is on the button for that. */
export function useTakeBack(act: () => void) {
  const button = useRef<HTMLButtonElement>(null);
  const isSettled = useRef(false);
  const latest = useRef(act);
  latest.current = act;
  const [left, setLeft] = useState(undoMs / 1000);
  const settle = () => {
    if (isSettled.current) return;
    isSettled.current = true;
    latest.current();
  };
  // Before the page is drawn: a person may press a key, or go to another screen, at once.
  useLayoutEffect(() => {
    button.current?.focus();
    const tick = setInterval(() => setLeft((seconds) => Math.max(1, seconds - 1)), 1000);
    const timer = setTimeout(settle, undoMs);
    return () => {
      clearInterval(tick);
      clearTimeout(timer);
      // A person who goes to another screen has confirmed it; only "Undo" takes it back.
      settle();
    };
  }, []);
  return { button, left, drop: () => void (isSettled.current = true) };
}
