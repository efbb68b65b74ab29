import type { ComponentChild, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { MarkedToken, Token, Tokens } from "marked";
import type { MarkdownBlock, ReadMarkdown, readMarkdown } from "./read-markdown.ts";
import { useConsole } from "../console-context.ts";
import { plainText } from "../shown-text.ts";
import { isAddress, LongText, Text } from "../text.tsx";

/**
 * Shows an agent's text as Markdown, in the page's own elements. Plain until the lexer is loaded, and where a text is too long
 * or too deep. While a text goes on, only its last block is read and drawn again.
 */
export function MarkdownText({ of: text, class: look = "prose" }: { of: string; class?: string }) {
  const read = useReader();
  const before = useRef<ReadMarkdown | null>(null);
  const drawn = useRef<ReadonlyMap<MarkdownBlock, VNode>>(new Map());
  const now = read === null ? null : read(text, before.current);
  before.current = now;
  if (now === null) return <LongText of={text} class={look} />;
  const nodes = new Map(now.blocks.map((block) => [block, drawn.current.get(block) ?? <Block of={block.token} />]));
  drawn.current = nodes;
  return <div class={`markdown ${look}`}>{[...nodes.values()]}</div>;
}

type Reader = typeof readMarkdown;
let loading: Promise<Reader> | undefined;
let loaded: Reader | null = null;

/** Loads the lexer, which is a script of its own. */
export function loadMarkdown(): Promise<Reader> {
  loading ??= import("./read-markdown.ts").then(({ readMarkdown }) => loaded = readMarkdown);
  loading.catch(() => (loading = undefined));
  return loading;
}

function useReader(): Reader | null {
  const [found, setFound] = useState<Reader | null>(() => loaded);
  useEffect(() => {
    if (found !== null) return;
    let isHere = true;
    loadMarkdown().then((read) => isHere && setFound(() => read), () => {});
    return () => void (isHere = false);
  }, []);
  return found;
}

function Block({ of: token }: { of: MarkedToken }): VNode {
  return <>{drawn(token)}</>;
}

function All({ of: tokens = [] }: { of: readonly Token[] | undefined }): VNode {
  return <>{tokens.map(drawn)}</>;
}

function drawn(token: Token): ComponentChild {
  const draw: ((token: never) => ComponentChild) | undefined = kinds[token.type as MarkedToken["type"]];
  // A kind that the page does not know is shown as it was written.
  return draw === undefined ? <Text of={token.raw} links /> : draw(token as never);
}

/** Each kind of token as it is shown. Markup and pictures are shown as they were written. */
const kinds: { readonly [T in MarkedToken["type"]]: (token: Extract<MarkedToken, { type: T }>) => ComponentChild } = {
  space: () => null,
  def: ({ raw }) => (
    <p>
      <Text of={raw} links />
    </p>
  ),
  hr: () => <hr />,
  br: () => <br />,
  heading: ({ depth, tokens }) => <Heading depth={depth} of={tokens} />,
  paragraph: ({ tokens }) => (
    <p>
      <All of={tokens} />
    </p>
  ),
  blockquote: ({ tokens }) => (
    <blockquote>
      <All of={tokens} />
    </blockquote>
  ),
  code: (token) => <pre class="text code-block"><Text of={token.text} /></pre>,
  list: (token) => <List of={token} />,
  list_item: ({ tokens }) => (
    <li>
      <All of={tokens} />
    </li>
  ),
  checkbox: ({ checked }) => <span class="task">{checked ? "[x] " : "[ ] "}</span>,
  table: (token) => <Table of={token} />,
  strong: ({ tokens }) => (
    <strong>
      <All of={tokens} />
    </strong>
  ),
  em: ({ tokens }) => (
    <em>
      <All of={tokens} />
    </em>
  ),
  del: ({ tokens }) => (
    <del>
      <All of={tokens} />
    </del>
  ),
  codespan: ({ text }) => (
    <code>
      <Text of={text} />
    </code>
  ),
  link: (token) => <Link of={token} />,
  image: ({ raw }) => <Text of={raw} links />,
  html: ({ raw, block }) =>
    block
      ? (
        <p class="markup">
          <Text of={raw.trimEnd()} links />
        </p>
      )
      : <Text of={raw} links />,
  escape: ({ text }) => <Text of={text} />,
  text: ({ text, tokens }) => tokens === undefined ? <Text of={text} links /> : <All of={tokens} />,
};

/** A heading of a text, below those of the page. */
function Heading({ depth, of: tokens }: { depth: number; of: readonly Token[] }) {
  const Level = depth === 1 ? "h3" : depth === 2 ? "h4" : depth === 3 ? "h5" : "h6";
  return (
    <Level>
      <All of={tokens} />
    </Level>
  );
}

function List({ of: { ordered, start, items, loose } }: { of: Tokens.List }) {
  const all = items.map((item) => (
    <li class={item.task ? "task-item" : undefined}>
      <All of={item.tokens} />
    </li>
  ));
  const look = loose ? "loose" : undefined;
  // A number that no list begins with in a sane text would push the words out of view.
  if (ordered) return <ol class={look} start={typeof start === "number" && start < 10_000 ? start : 1}>{all}</ol>;
  return <ul class={look}>{all}</ul>;
}

function Table({ of: { header, rows } }: { of: Tokens.Table }) {
  const look = ({ align }: Tokens.TableCell) => align === null ? undefined : `align-${align}`;
  return (
    <div class="markdown-table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map((cell) => (
              <th scope="col" class={look(cell)}>
                <All of={cell.tokens} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td class={look(cell)}>
                  <All of={cell.tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A link with its own words: the address is shown whole before it opens. What leads to no address is text. */
function Link({ of: { href, text, tokens } }: { of: Tokens.Link }) {
  const { address } = useConsole();
  if (!isAddress(href)) {
    return (
      <>
        <All of={tokens} /> {href !== text && (
          <span class="quiet-line">
            (<Text of={plainText(href, 2000)} />)
          </span>
        )}
      </>
    );
  }
  return (
    <button type="button" class="address" title={plainText(href, 300)} onClick={() => (address.value = href)}>
      <All of={tokens} />
    </button>
  );
}
