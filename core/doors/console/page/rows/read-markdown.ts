import { Lexer, type MarkedToken, type Token, Tokenizer } from "marked";

/** Longer texts are shown plain: the time to read one grows faster than its length. */
const mostText = 12_288;
/** A longer paragraph, heading or cell has plain words alone. */
const mostInline = 2048;
/** Lists, quotes and emphasis inside one another; a text with more is shown plain. */
const mostDepth = 12;

/** Lines that open many lists and quotes at once: each would be a call inside the one before. */
const deepLine = new RegExp(`^[ \\t]*(?:(?:>|(?:[-+*]|\\d{1,9}[.)])(?=[ \\t]))[ \\t]*){${mostDepth + 1}}`, "m");

/** One block of a text with its part of the source. */
export interface MarkdownBlock {
  raw: string;
  token: MarkedToken;
}

/** A text that was read as Markdown. */
export interface ReadMarkdown {
  text: string;
  blocks: readonly MarkdownBlock[];
}

/**
 * Reads a text as Markdown, into tokens and never into markup. A text that continues the one before it keeps all blocks of that
 * but the last, which may go on.
 * @returns null for a text that the page shows plain
 */
export function readMarkdown(source: string, before: ReadMarkdown | null = null): ReadMarkdown | null {
  const text = source.replace(/\r\n?/g, "\n");
  // A terminal's text keeps its lines and colours.
  if (text.length > mostText || text.includes("\u001b")) return null;
  if (before !== null && before.text === text) return before;
  const kept = before !== null && text.startsWith(before.text) ? before.blocks.slice(0, -1) : [];
  const from = kept.reduce((sum, { raw }) => sum + raw.length, 0);
  const added = blocksOf(text.slice(from));
  return added === null ? null : { text, blocks: [...kept, ...added] };
}

function blocksOf(text: string): MarkdownBlock[] | null {
  if (deepLine.test(text)) return null;
  try {
    const blocks: MarkdownBlock[] = [];
    for (const token of tokensOf(text)) {
      const last = blocks.at(-1);
      // Empty lines belong to the block before them, so that the last block is one that may go on.
      if (token.type === "space" && last !== undefined) last.raw += token.raw;
      else blocks.push({ raw: token.raw, token: token as MarkedToken });
    }
    const last = blocks.at(-1);
    const before = blocks.slice(0, -1).map(({ raw }) => raw).join("");
    if (!text.startsWith(before) || isDeep(blocks.map(({ token }) => token))) return null;
    // The lexer trims a last line that has only begun.
    if (last !== undefined) last.raw = text.slice(before.length);
    return blocks;
  } catch {
    // The text is one that the lexer cannot read, as it is where its calls are too deep.
    return null;
  }
}

function tokensOf(text: string): readonly Token[] {
  const lexer = new Lexer({ gfm: true, breaks: true, tokenizer: new AgentTokenizer() });
  const tokens = lexer.blockTokens(text, lexer.tokens);
  for (let one = lexer.inlineQueue.shift(); one !== undefined; one = lexer.inlineQueue.shift()) {
    const { src, tokens } = one;
    if (src.length > mostInline) tokens.push({ type: "text", raw: src, text: src });
    else lexer.inlineTokens(src, tokens);
  }
  return tokens;
}

/** Leaves bare addresses to the page, which knows where one ends. */
class AgentTokenizer extends Tokenizer {
  override url(): undefined {
    return undefined;
  }
}

function isDeep(tokens: readonly Token[]): boolean {
  let level: readonly Token[] = tokens;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > 2 * mostDepth) return true;
    level = level.flatMap(childrenOf);
  }
  return false;
}

function childrenOf(token: Token): readonly Token[] {
  if (token.type === "list") return token["items"] as Token[];
  if (token.type !== "table") return "tokens" in token ? token.tokens ?? [] : [];
  const rows = [token["header"], ...token["rows"] as unknown[]] as { tokens: Token[] }[][];
  return rows.flat().flatMap(({ tokens }) => tokens);
}
