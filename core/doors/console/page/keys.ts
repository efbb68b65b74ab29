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

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName);
}
