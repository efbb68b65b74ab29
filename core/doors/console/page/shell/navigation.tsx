import { useEffect, useRef, useState } from "preact/hooks";
import { type Console, useConsole } from "../console-context.ts";
import { paletteKey } from "../keys.ts";
import { addressOf, screens } from "../route.ts";
import { dropKey } from "./page-key.ts";
import { ThemeSwitch } from "./theme-switch.tsx";

/** The way to every screen: a column beside the page, or a menu above it where the window is narrow. */
export function Navigation(
  { place, screen, find, help }: { place: string; screen: string; find: () => void; help: () => void },
) {
  const found = useConsole();
  const { isOpen, setIsOpen, element, button, onKey, onLeave } = useMenu(place);
  const count = found.waiting.blocking.value.length;
  const here = screen === "start" ? "sessions" : screen;
  return (
    <nav class="nav" aria-label="Screens" ref={element} onKeyDown={onKey} onFocusOut={onLeave}>
      <Brand />
      <button
        type="button"
        class="menu-button"
        ref={button}
        aria-expanded={isOpen}
        aria-controls="screens"
        onClick={() => setIsOpen(!isOpen)}
      >
        <span class="hidden">Menu:</span>
        {screens.find(({ name }) => name === here)?.title ?? "Screens"}
        {count > 0 && here !== "needs-you" && <Badge count={count} />}
        <span aria-hidden="true">{isOpen ? "▴" : "▾"}</span>
      </button>
      <div id="screens" class={isOpen ? "nav-links open" : "nav-links"}>
        <button
          type="button"
          class="nav-link nav-find"
          onClick={() => (setIsOpen(false), button.current?.focus(), find())}
        >
          Go to … <kbd>{paletteKey}</kbd>
        </button>
        <Links here={here} go={() => setIsOpen(false)} />
        <button type="button" class="nav-link menu-only" onClick={() => void signOut(found)}>Sign out</button>
        <ThemeSwitch />
      </div>
      <End help={help} />
    </nav>
  );
}

function Links({ here, go }: { here: string; go: () => void }) {
  const count = useConsole().waiting.blocking.value.length;
  return (
    <>
      {screens.map(({ name, title }) => (
        <a class="nav-link" href={addressOf(name)} aria-current={here === name ? "page" : undefined} onClick={go}>
          {title}
          {name === "needs-you" && count > 0 && <Badge count={count} />}
        </a>
      ))}
    </>
  );
}

/** A menu that closes at Escape, where the focus leaves it, and on another screen. */
function useMenu(place: string) {
  const [isOpen, setIsOpen] = useState(false);
  const element = useRef<HTMLElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => setIsOpen(false), [place]);
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !isOpen) return;
    event.preventDefault();
    setIsOpen(false);
    button.current?.focus();
  };
  const onLeave = ({ relatedTarget }: FocusEvent) => {
    if (!element.current?.contains(relatedTarget as Node | null)) setIsOpen(false);
  };
  return { isOpen, setIsOpen, element, button, onKey, onLeave };
}

function Brand() {
  return (
    <a class="brand" aria-label="Bulkhead" href={addressOf("needs-you")}>
      <img src="/console/icon.svg" alt="" width="22" height="22" />
      <span>Bulkhead</span>
    </a>
  );
}

/** State of the connection to the host, what this page may do, the help, and the way out. */
function End({ help }: { help: () => void }) {
  const found = useConsole();
  const line = found.live.line.value.state;
  return (
    <div class="nav-end">
      <ThemeSwitch />
      <span class={`line line-${line}`} role="status">
        {line === "open" ? "Live" : line === "opening" ? "Connecting" : "Offline"}
      </span>
      {!found.canRun && <span class="tag" title="The key of this page can look, and change nothing">Read only</span>}
      <button type="button" class="plain" onClick={help}>
        Keys <kbd>?</kbd>
      </button>
      <button type="button" class="plain sign-out" onClick={() => void signOut(found)}>Sign out</button>
    </div>
  );
}

/** Ends the key of this page at the host, and forgets it here. */
async function signOut({ api, live }: Pick<Console, "api" | "live">): Promise<void> {
  const isEnded = await api.send("DELETE", "/v1/console/tokens").then(() => true, () => false);
  dropKey();
  live.end(
    isEnded ? "You have signed out." : "You have signed out here. The host was not reached: its key ends by itself.",
  );
}

function Badge({ count }: { count: number }) {
  return (
    <span class="badge">
      {count}
      <span class="hidden">wait</span>
    </span>
  );
}
