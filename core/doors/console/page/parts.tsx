import { plainText } from "./shown-text.ts";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import type { Outcome, StopReason } from "../../../../plugin-sdk/result.ts";
import { unreachableText } from "./api.ts";
import { noticeOf, useConsole } from "./console-context.ts";
import { onEscape, useFocusBack, useFocusInto } from "./focus.ts";
import { ageText } from "./sessions/age-text.ts";
import { type Standing, standings } from "./session-list.ts";
import { Text } from "./text.tsx";

/** Rises every second, for what runs and ends soon. */
const now = signal(Date.now());
setInterval(() => document.hidden || (now.value = Date.now()), 1000);
/** Rises each half minute, for ages: hundreds of them may be on a screen. */
const slowNow = signal(Date.now());
setInterval(() => document.hidden || (slowNow.value = Date.now()), 30_000);
document.addEventListener("visibilitychange", () => document.hidden || (now.value = slowNow.value = Date.now()));

/** A screen with its heading, and what can be done there. */
export function Screen(
  { title, lead, actions, children }: {
    title: ComponentChildren;
    lead?: ComponentChildren;
    actions?: ComponentChildren;
    children: ComponentChildren;
  },
) {
  return (
    <section class="screen">
      <header class="screen-head">
        <div class="screen-title">
          <h1>{title}</h1>
          {lead !== undefined && <div class="lead">{lead}</div>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

/** A screen without content: it says what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** A command that a person may type. */
export function Command({ text }: { text: string }) {
  return <code class="command">{text}</code>;
}

/** A failure in the host's words. What may go well later has a way to try it; while the host is away its banner is enough. */
export function Failure(
  { text, hint, isPassing = text === unreachableText }: {
    text: string;
    hint?: string | undefined;
    isPassing?: boolean | undefined;
  },
) {
  const { live, reads } = useConsole();
  if (text === unreachableText && live.line.value.state === "lost") {
    return <p class="quiet-line" role="status">It is read again when the host is back.</p>;
  }
  return (
    <div class="failure" role="alert">
      <strong>{text}</strong>
      {hint !== undefined && <span>{hint}</span>}
      {isPassing && <button type="button" class="retry" onClick={() => reads.value++}>Retry</button>}
    </div>
  );
}

/** A call that failed, in the way of every screen. */
export function Failed({ of: error }: { of: unknown }) {
  return <Failure {...noticeOf(error)} />;
}

/** How a session stands: a shape and a word, so that no colour is needed to tell. */
export function StandingMark({ of: standing, short = false }: { of: Standing; short?: boolean }) {
  return (
    <span class={`standing standing-${standing}`} title={standings[standing]}>
      <svg class="shape" viewBox="0 0 12 12" aria-hidden="true">{shapes[standing]}</svg>
      <span class={short ? "hidden" : undefined}>{standings[standing]}</span>
    </span>
  );
}

const shapes: Readonly<Record<Standing, ComponentChildren>> = {
  waiting: <path d="M6 1 11 10.5H1Z" />,
  running: <circle cx="6" cy="6" r="4.5" />,
  queued: <circle cx="6" cy="6" r="4" class="open" />,
  kept: (
    <>
      <circle cx="6" cy="6" r="4" class="open" />
      <circle cx="6" cy="6" r="1.5" />
    </>
  ),
  done: <path d="M1.5 6.5 4.5 9.5 10.5 2.5" class="open" />,
  blocked: <path d="M2 4.5h8v3H2Z" />,
  failed: <path d="M2 2 10 10M10 2 2 10" class="open" />,
  stopped: <path d="M2.5 2.5h7v7h-7Z" />,
};

const outcomes: Readonly<Record<Outcome, { text: string; look: string }>> = {
  completed: { text: "Done", look: "tag-done" },
  blocked: { text: "Blocked", look: "tag-failed" },
  error: { text: "Failed", look: "tag-failed" },
};

/** How a session ended, in the words of the list of sessions, and why where that says more. */
export function OutcomeMark({ of: outcome, why }: { of: Outcome; why: StopReason }) {
  const { text, look } = outcomes[outcome];
  const isStopped = why === "interrupted";
  return (
    <>
      <span class={`tag ${look}`}>{isStopped ? standings.stopped : text}</span>
      {why !== "end_turn" && !isStopped && <span class="quiet-line">{why.replaceAll("_", " ")}</span>}
    </>
  );
}

const changes: Readonly<Record<string, "added" | "changed" | "deleted" | "moved">> = {
  create: "added",
  created: "added",
  untracked: "added",
  modify: "changed",
  modified: "changed",
  delete: "deleted",
  deleted: "deleted",
  rename: "moved",
  renamed: "moved",
};

/** One word for a change of a file, which agents and git call by several. */
export function ChangeMark({ of: change }: { of: string }) {
  const word = changes[change] ?? change;
  return <span class={`change change-${changes[change] ?? "other"}`}>{word}</span>;
}

/** How long ago something was, or how long it is until then. */
export function Ago({ at, until = false }: { at: string; until?: boolean }) {
  return (
    <time class="ago" dateTime={at} title={new Date(at).toLocaleString()}>
      {until ? untilText(Date.parse(at)) : sinceText(slowNow.value - Date.parse(at))}
    </time>
  );
}

function sinceText(ms: number): string {
  if (ms < -skewMs) return `${durationText(-ms)} ahead of the clock`;
  return ms < 60_000 ? "just now" : `${ageText(ms)} ago`;
}

function untilText(end: number): string {
  const left = end - slowNow.value;
  // Seconds say something in the last minutes alone.
  const ms = left < 10 * 60_000 ? end - now.value : Math.floor(left / 60_000) * 60_000;
  return ms <= 0 ? "no time" : durationText(ms).replace(/ 0 (s|min)$/, "");
}

/** Clocks of two machines differ by so much without a word. Milliseconds. */
const skewMs = 60_000;

/** Time that passes since a moment. */
export function Since({ at }: { at: string }) {
  const ms = now.value - Date.parse(at);
  return <>{ms < -skewMs ? `${durationText(-ms)} ahead of the clock` : durationText(Math.max(0, ms))}</>;
}

/** A duration in its two largest units. */
export function durationText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor(seconds / 3600) % 24} h`;
}

/** Name of a client that said something; this page and its person are "you". */
export function ClientName({ of: client }: { of: string }) {
  const own = useConsole().client;
  if (client === own) return <>you</>;
  // Pages and tokens have ids that say nothing.
  if (/^[0-9a-f]{32}$/.test(client)) return <span title={client}>client {client.slice(0, 6)}</span>;
  return <Text of={plainText(client, 60)} />;
}

/** A modal question or form; Escape closes it. The focus goes back to where it was. */
export function Dialog(
  { title, close, children }: { title: string; close: () => void; children: ComponentChildren },
) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    // Where it has to scroll, it begins at its title.
    element.current?.scrollTo(0, 0);
    // The element goes before it is closed, and the browser gives the focus back only at a close.
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={close} onCancel={close}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/** A choice that is on or off. */
export function Choice(
  { is, choose, children }: { is: boolean; choose: (is: boolean) => void; children: ComponentChildren },
) {
  return (
    <label class="choice">
      <input type="checkbox" checked={is} onChange={({ currentTarget }) => choose(currentTarget.checked)} />
      {children}
    </label>
  );
}

/** A button that asks once more before it acts. */
export function Sure({ label, question, act }: { label: string; question: string; act: () => unknown }) {
  const [asks, setAsks] = useState(false);
  const button = useFocusBack(asks);
  if (!asks) return <button ref={button} type="button" onClick={() => setAsks(true)}>{label}</button>;
  return (
    <span class="sure" role="group" aria-label={question} onKeyDown={onEscape(() => setAsks(false))}>
      <span>{question}</span>
      <button type="button" class="danger" onClick={() => (setAsks(false), act())}>{label}</button>
      <Keep keep={() => setAsks(false)} />
    </span>
  );
}

/** The way out of a question. It has the focus: a key that is pressed twice changes nothing. */
function Keep({ keep }: { keep: () => void }) {
  return <button ref={useFocusInto<HTMLButtonElement>()} type="button" onClick={keep}>Keep</button>;
}

/** Something read from the host: `undefined` while it is read. */
type Loaded<T> = { value: T } | { failed: unknown } | undefined;

/**
 * Reads something when the keys change, and when a failure may have passed; `again` reads it once more, and resolves when the
 * page has what was read.
 */
export function useLoaded<T>(
  read: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
): [Loaded<T>, () => Promise<void>] {
  const [loaded, setLoaded] = useState<Loaded<T>>();
  const waiters = useRef<(() => void)[]>([]);
  const [round, setRound] = useState(0);
  const { reads } = useConsole();
  const isFailed = loaded !== undefined && "failed" in loaded;
  useEffect(() => {
    if (!isFailed) return;
    const seen = reads.peek();
    return reads.subscribe((count) => count !== seen && setRound((before) => before + 1));
  }, [isFailed]);
  useEffect(() => {
    const over = new AbortController();
    const take = (now: Loaded<T>) => {
      if (over.signal.aborted) return;
      setLoaded(now);
      for (const go of waiters.current.splice(0)) go();
    };
    read(over.signal).then((value) => take({ value }), (failed: unknown) => take({ failed }));
    return () => over.abort();
  }, [...keys, round]);
  const again = () => {
    setRound((count) => count + 1);
    return new Promise<void>((resolve) => waiters.current.push(resolve));
  };
  return [loaded, again];
}

/** A row of a list of sessions, worktrees or comparisons, with its facts as children. */
export function ListRow(
  { mark, href, title, at, usage, children }: {
    mark: ComponentChildren;
    href: string;
    title: string;
    at: string;
    usage?: ComponentChildren;
    children: ComponentChildren;
  },
) {
  return (
    <li class="session-row">
      {mark}
      <div class="session-main">
        <a class="session-title" href={href}>{plainText(title, 160)}</a>
        <span class="session-facts">{children}</span>
      </div>
      <span class="session-usage">{usage}</span>
      <span class="session-time">
        <Ago at={at} />
      </span>
    </li>
  );
}

/** A set of ids with this one put in, or taken out where it was in. */
export function toggled<T>(set: ReadonlySet<T>, id: T): Set<T> {
  const next = new Set(set);
  if (!next.delete(id)) next.add(id);
  return next;
}

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
