import { useEffect, useRef } from "preact/hooks";

type KeyActions = Readonly<Record<string, () => unknown>>;

/**
 * Gives keys a meaning while a part is shown; never while a person types, and never with a modifier.
 * @param options.first before every part that is not
 */
export function useKeys(actions: KeyActions, { first = false }: { first?: boolean } = {}): void {
  const current = useRef(actions);
  current.current = actions;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || event.defaultPrevented) return;
      const act = current.current[event.key];
      if (act === undefined || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKey, first);
    return () => removeEventListener("keydown", onKey, first);
  }, []);
}

const isMac = /^(Mac|iP)/.test(navigator.platform);

/** The keys that open the palette, for the eye. */
export const paletteKey = isMac ? "⌘K" : "Ctrl K";

/** The keys that send a form, for the eye. */
export const sendKey = isMac ? "⌘Enter" : "Ctrl Enter";

/** Opens the palette at its keys, also while a person types. */
export function usePaletteKey(open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
      if (key.toLowerCase() !== "k" || altKey || shiftKey || (isMac ? !metaKey || ctrlKey : !ctrlKey || metaKey)) {
        return;
      }
      event.preventDefault();
      if (document.querySelector("dialog[open]") === null) open();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName);
}
