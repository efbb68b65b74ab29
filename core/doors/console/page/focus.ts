import { useLayoutEffect, useRef } from "preact/hooks";

/** A ref for the first field of a part that opens in the page: it gets the focus at once, which goes back when the part closes. */
export function useFocusInto<T extends HTMLElement>(): { current: T | null } {
  const field = useRef<T>(null);
  // Before the page is drawn: what is typed next is meant for the field.
  useLayoutEffect(() => {
    const before = document.activeElement;
    field.current?.focus();
    return () => before instanceof HTMLElement && before.isConnected && before.focus();
  }, []);
  return field;
}

/** A ref for a button whose place a part of the page takes: it has the focus again when that part closed with it. */
export function useFocusBack(isOpen: boolean): { current: HTMLButtonElement | null } {
  const button = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(isOpen);
  useLayoutEffect(() => {
    if (wasOpen.current && !isOpen && document.activeElement === document.body) button.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  return button;
}

/** Closes a part of the page at Escape, which then means nothing more to the page around it. */
export function onEscape(close: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    close();
  };
}
