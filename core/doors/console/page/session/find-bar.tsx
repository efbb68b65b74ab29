import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useConsole } from "../console-context.ts";
import { useKeys } from "../keys.ts";
import { plainText } from "../shown-text.ts";
import { type Search, TextSearch } from "./find.ts";

interface FindBarProps {
  /** The sessions to look through, in order. */
  ids: readonly string[];
  go(place: { session_id: string; seq: number }): void;
}

/** Finds a text in the whole conversation, and goes from place to place. */
export function FindBar({ ids, go }: FindBarProps) {
  const { api } = useConsole();
  const field = useRef<HTMLInputElement>(null);
  const finder = useMemo(() => new TextSearch(api), [ids.join()]);
  useEffect(() => () => finder.close(), [finder]);
  const [at, setAt] = useState(-1);
  const search = finder.search.value;
  const hits = search?.hits ?? [];
  const move = (by: number) => {
    if (hits.length === 0) return;
    const next = at < 0 ? (by > 0 ? 0 : hits.length - 1) : (at + by + hits.length) % hits.length;
    setAt(next);
    go(hits[next]!);
  };
  useKeys({ "/": () => field.current?.focus() });
  const onKey = (event: KeyboardEvent & { currentTarget: HTMLInputElement }) => {
    if (event.key === "Enter") move(event.shiftKey ? -1 : 1);
    if (event.key !== "Escape") return;
    event.stopPropagation();
    event.currentTarget.value = "";
    finder.ask("", ids);
    event.currentTarget.blur();
  };
  return (
    <div class="find" role="search">
      <input
        ref={field}
        type="search"
        placeholder="Find in all of it"
        aria-label="Find in this session"
        onInput={({ currentTarget }) => (setAt(-1), finder.ask(currentTarget.value, ids))}
        onKeyDown={onKey}
      />
      {search !== null && <Places of={search} at={at} move={move} />}
    </div>
  );
}

/** How many places there are, which one is shown, and the ways to the others. */
function Places({ of: { hits, done, failed }, at, move }: { of: Search; at: number; move(by: number): void }) {
  const none = done < 1 ? "Looking …" : failed ?? "Not found";
  const isNone = hits.length === 0;
  const current = hits[at];
  return (
    <>
      <span class="find-count" role="status">
        {isNone ? none : `${at < 0 ? "" : `${at + 1} of `}${hits.length.toLocaleString("en")}`}
        {!isNone && done < 1 && ` · ${Math.floor(done * 100)} %`}
      </span>
      <button type="button" class="plain" disabled={isNone} aria-label="Place before" onClick={() => move(-1)}>
        ↑
      </button>
      <button type="button" class="plain" disabled={isNone} aria-label="Next place" onClick={() => move(1)}>↓</button>
      {current !== undefined && <span class="find-text one-line">{plainText(current.text, 160)}</span>}
    </>
  );
}
