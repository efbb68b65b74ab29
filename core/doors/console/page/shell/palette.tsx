import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { useConsole } from "../console-context.ts";
import { StandingMark } from "../parts.tsx";
import { goTo } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { folderName } from "../sessions/short-path.ts";
import { standingOf } from "../session-list.ts";
import { entriesOf, type PaletteEntry } from "./palette-entries.ts";

/** Sessions that are listed: the newest that match, and fewer before a person types. */
const mostFound = 20;
const mostRecent = 5;
/** Letters that come close together are one search. */
const typingMs = 120;

/** A field that finds screens, sessions and actions, and goes to one. */
export function Palette({ close }: { close: () => void }) {
  const found = useConsole();
  const [text, setText] = useState("");
  const { sessions, isSearching } = useSessions(text.trim());
  const all = [...entriesOf(found, text), ...sessions.map(sessionEntry)];
  // Before a person types, the newest sessions are nearer than what can be done.
  const isLast = ({ kind }: PaletteEntry) => Number(text === "" && kind === "action");
  const entries = all.toSorted((a, b) => isLast(a) - isLast(b));
  const { at, move, setAt } = useCurrent(entries, text);
  const id = useId();
  const choose = (entry: PaletteEntry | undefined) => {
    if (entry === undefined) return;
    close();
    entry.act();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) move(by);
    else if (event.key === "Enter") choose(entries[at]);
    else return;
    event.preventDefault();
  };
  const isSome = entries.length > 0;
  return (
    <div class="palette">
      <Field text={text} setText={setText} list={isSome ? id : undefined} at={at} onKeyDown={onKeyDown} />
      {isSome && <Entries id={id} entries={entries} at={at} choose={choose} point={setAt} />}
      <p class={isSome ? "hidden" : "quiet-line"} role="status">
        {isSome ? `${entries.length} found` : isSearching ? "Searching …" : "Nothing has these words."}
      </p>
    </div>
  );
}

interface FieldProps {
  text: string;
  setText(text: string): void;
  /** Id of the list; undefined where it is empty. */
  list: string | undefined;
  at: number;
  onKeyDown(event: KeyboardEvent): void;
}

function Field({ text, setText, list, at, onKeyDown }: FieldProps) {
  const field = useRef<HTMLInputElement>(null);
  // At once: a letter that is typed now must not get lost.
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <input
      ref={field}
      type="text"
      role="combobox"
      aria-label="Screen, session or action"
      aria-autocomplete="list"
      aria-expanded={list !== undefined}
      aria-controls={list}
      aria-activedescendant={list && `${list}-${at}`}
      placeholder="Screen, session or action …"
      autocomplete="off"
      spellcheck={false}
      value={text}
      onInput={({ currentTarget }) => setText(currentTarget.value)}
      onKeyDown={onKeyDown}
    />
  );
}

interface EntriesProps {
  id: string;
  entries: readonly PaletteEntry[];
  at: number;
  choose(entry: PaletteEntry): void;
  point(at: number): void;
}

function Entries({ id, entries, at, choose, point }: EntriesProps) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);
  return (
    <ul id={id} role="listbox" aria-label="Found" ref={list}>
      {entries.map((entry, index) => (
        <li
          key={entry.key}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          onPointerMove={() => index !== at && point(index)}
          onClick={() => choose(entry)}
        >
          {entry.session === undefined
            ? <span class="tag">{entry.kind}</span>
            : <StandingMark of={standingOf(entry.session)} short />}
          <span class="one-line">{entry.title}</span>
          <span class="palette-hint">{entry.hint}</span>
        </li>
      ))}
    </ul>
  );
}

/** The current entry: the first one again after each letter, and the same one while more are found. */
function useCurrent(entries: readonly PaletteEntry[], text: string) {
  const [current, setCurrent] = useState<{ key: string | undefined; text: string }>({ key: undefined, text });
  const known = current.text === text ? entries.findIndex(({ key }) => key === current.key) : -1;
  const at = Math.max(0, known);
  const setAt = (index: number) => setCurrent({ key: entries[index]?.key, text });
  const move = (by: number) => setAt((at + by + entries.length) % entries.length);
  return { at, move, setAt };
}

function sessionEntry(session: SessionSummary): PaletteEntry {
  const { session_id, title, adapter_id, workdir } = session;
  return {
    key: session_id,
    kind: "session",
    session,
    title: plainText(title === "" ? session_id : title, 160),
    hint: plainText([adapter_id ?? "no agent", folderName(workdir)].join(" · "), 60),
    act: () => goTo("sessions", session_id),
  };
}

/** The sessions with these words: at once those that the page knows, then all that the host finds. */
function useSessions(text: string): { sessions: readonly SessionSummary[]; isSearching: boolean } {
  const { api, sessions: { all } } = useConsole();
  const [answer, setAnswer] = useState<{ text: string; sessions: readonly SessionSummary[] }>({
    text: "",
    sessions: [],
  });
  useEffect(() => {
    if (text === "") return;
    const over = new AbortController();
    const take = (sessions: readonly SessionSummary[]) => over.signal.aborted || setAnswer({ text, sessions });
    const timer = setTimeout(() => {
      const query = { text: text.slice(0, 512), limit: mostFound };
      api.get<{ sessions: SessionSummary[] }>("/v1/sessions", query, over.signal)
        .then(({ sessions }) => take(sessions), () => take([]));
    }, typingMs);
    return () => (clearTimeout(timer), over.abort());
  }, [text]);
  if (text === "") return { sessions: all.value.slice(0, mostRecent), isSearching: false };
  const words = text.toLowerCase().split(/\s+/);
  const known = all.value.filter(({ title, session_id }) =>
    words.every((word) => title.toLowerCase().includes(word) || session_id.startsWith(word))
  );
  const isAnswered = answer.text === text;
  const both = new Map([...known, ...isAnswered ? answer.sessions : []].map((one) => [one.session_id, one]));
  return { sessions: [...both.values()].slice(0, mostFound), isSearching: !isAnswered };
}
