import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { ansiRuns } from "./ansi.ts";
import { useConsole } from "./console-context.ts";
import { mostShown, textPieces } from "./shown-text.ts";

// Only addresses that a browser would open; what follows an address in a sentence is no part of it.
const address =
  // deno-lint-ignore no-control-regex
  /https?:\/\/[^\s<>"'`\u0000-\u0020\u007f-\u00a0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]{1,2000}[^\s<>"'`.,;:!?)\]}\u0000-\u0020\u007f-\u00a0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Whether a text is one whole address that a browser would open. */
export function isAddress(text: string): boolean {
  return text.match(address)?.[0] === text;
}

/** A text of an agent: characters that act are shown by name, and addresses open only after they were shown. */
export function Text({ of: text, links = false }: { of: string; links?: boolean }) {
  if (!links || !text.includes("://")) return <Visible text={text} />;
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const match of text.matchAll(address)) {
    if (match.index > at) parts.push(<Visible text={text.slice(at, match.index)} />);
    parts.push(<Address of={match[0]} />);
    at = match.index + match[0].length;
  }
  parts.push(<Visible text={text.slice(at)} />);
  return <>{parts}</>;
}

/** A long text in a block: its beginning, and more of it on demand. */
export function LongText({ of: text, class: look = "" }: { of: string; class?: string }) {
  const [most, setMost] = useState(mostShown);
  const shown = text.length > most ? text.slice(0, most) : text;
  // One that scrolls is scrolled by keys as well.
  const scrolls = /json|command-text/.test(look) && (shown.length > 600 || shown.split("\n", 17).length > 16);
  return (
    <>
      <pre class={`text ${look}`} tabIndex={scrolls ? 0 : undefined}>
        {ansiRuns(shown).map(({ text, look }) => look === "" ? <Text of={text} links /> : <span class={look}><Text of={text} links /></span>)}
      </pre>
      {text.length > most && (
        <button type="button" class="more" onClick={() => setMost(most * 8)}>
          Show more ({(text.length - most).toLocaleString("en")} characters left)
        </button>
      )}
    </>
  );
}

/** Any JSON value as text. */
export function JsonText({ of: value }: { of: unknown }) {
  return <LongText of={typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? ""} class="json" />;
}

function Visible({ text }: { text: string }) {
  const pieces = textPieces(text);
  if (pieces.length === 1 && typeof pieces[0] === "string") return <>{text}</>;
  return (
    <>
      {pieces.map((piece) =>
        typeof piece === "string"
          ? piece
          : <span class="acting" title="A character that is not shown but acts on the text">{piece.name}</span>
      )}
    </>
  );
}

function Address({ of: url }: { of: string }) {
  const { address } = useConsole();
  return <button type="button" class="address" onClick={() => (address.value = url)}>{url}</button>;
}

/** One line that opens; what is in it is made when it is opened first, since most folds never are. */
export function FoldRow(
  { class: look, line, isOpen = false, children }: {
    class: string;
    line: ComponentChildren;
    /** It has what a reader looks for. */
    isOpen?: boolean;
    children: () => ComponentChildren;
  },
) {
  const [wasOpened, setWasOpened] = useState(isOpen);
  const element = useRef<HTMLDetailsElement>(null);
  useLayoutEffect(() => {
    if (!isOpen || element.current === null) return;
    element.current.open = true;
    setWasOpened(true);
  }, [isOpen]);
  return (
    <details class={look} ref={element} onToggle={({ currentTarget }) => currentTarget.open && setWasOpened(true)}>
      <summary>{line}</summary>
      {wasOpened && children()}
    </details>
  );
}
