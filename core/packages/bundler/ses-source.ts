import { type Node, parse } from "acorn";
import type { Edit } from "../manifest/edits.ts";

/** Something a compartment refuses and that no rewriting can mend. */
interface Unmendable {
  /** Offset in the text. */
  start: number;
  message: string;
}

/**
 * The edits after which a compartment takes the script. A compartment refuses text that looks like a dynamic import,
 * a direct eval or an HTML comment wherever it stands, so in literals one character of it is written as an escape,
 * which means the same.
 */
export function mendForCompartment(text: string): { edits: Edit[]; faults: Unmendable[] } {
  const matches = [...findMatches(text)];
  if (matches.length === 0) return { edits: [], faults: [] };
  const tokens = readHolders(text);
  if ("message" in tokens) return { edits: [], faults: [tokens] };
  const edits: Edit[] = [];
  const faults: Unmendable[] = [];
  for (const match of matches) {
    const mended = mend(text, match, tokens.holding(match.start));
    if ("message" in mended) faults.push(mended);
    else edits.push(mended);
  }
  return { edits, faults };
}

type Kind = "import" | "eval" | "open" | "close";
interface Match {
  kind: Kind;
  /** Offset of the word or the sign itself. */
  start: number;
}

// As the SES shim has them, with what stands before the word in a look-behind so that matches may touch.
const patterns: [Kind, RegExp][] = [
  ["import", /(?<=^|[^.]|\.\.\.)\bimport(?=\s*(?:\(|\/[/*]))/g],
  ["eval", /(?<=^|[^.])\beval(?=\s*\()/g],
  ["open", /<!--/g],
  ["close", /-->/g],
];

function findMatches(text: string): Match[] {
  return patterns
    .flatMap(([kind, pattern]) => [...text.matchAll(pattern)].map((match) => ({ kind, start: match.index })))
    .sort((a, b) => a.start - b.start);
}

/** Syntax that a match stands in. */
type Holder = "string" | "template" | "tagged template" | "regexp" | "name" | "private name" | "property" | "code";

function mend(text: string, match: Match, { holder, start }: { holder: Holder; start: number }): Edit | Unmendable {
  const { kind } = match;
  switch (holder) {
    case "string":
    case "template":
      return escapeLiteral(text, match);
    case "regexp":
      return escapeRegexp(text, match, start);
    case "tagged template":
      return {
        start: start - 1,
        message: `a tagged template holds "${excerpts[kind]}", which cannot be written another way; put it into \${}`,
      };
    case "property":
    case "private name":
      return escapeName(match);
    case "name":
      // Part of a longer name, such as $import; the whole names are syntax and stay.
      return match.start === start ? syntaxFault(match) : escapeName(match);
    case "code":
      if (kind === "close") return { start: match.start + 2, removed: 0, inserted: " " };
      if (kind === "open") return { start: match.start + 2, removed: 0, inserted: " " };
      return syntaxFault(match);
  }
}

function syntaxFault({ kind, start }: Match): Unmendable {
  const message = kind === "eval"
    ? "eval() does not exist in a plugin"
    : "a plugin is one script, so imports stand at the top of a module, not in import()";
  return { start, message };
}

const excerpts: Record<Kind, string> = { import: "import(", eval: "eval(", open: "<!--", close: "-->" };

/** The character to escape: the first of a word or `<!--`, the last of `-->`. */
function escapeLiteral(text: string, match: Match): Edit {
  const at = match.kind === "close" ? match.start + 2 : match.start;
  const code = `x${text.charCodeAt(at).toString(16)}`;
  // After a backslash the character is escaped already, and that backslash serves.
  return { start: at, removed: 1, inserted: isEscaped(text, at) ? code : `\\${code}` };
}

function escapeRegexp(text: string, match: Match, regexpStart: number): Edit {
  // In the look-behind `(?<!--` it is the first hyphen that stands for itself, not the sign before it.
  const behind = match.kind === "open" && text.slice(match.start - 2, match.start) === "(?" &&
    !isEscaped(text, match.start - 2) && !inClass(text, regexpStart, match.start);
  if (behind) return { start: match.start + 2, removed: 1, inserted: "\\x2d" };
  return escapeLiteral(text, match);
}

function escapeName({ start, kind }: Match): Edit {
  return { start, removed: 1, inserted: kind === "eval" ? "\\u0065" : "\\u0069" };
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - 1 - slashes] === "\\") slashes++;
  return slashes % 2 === 1;
}

function inClass(text: string, from: number, to: number): boolean {
  let depth = 0;
  for (let at = from; at < to; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "[") depth = 1;
    else if (text[at] === "]") depth = 0;
  }
  return depth > 0;
}

/** As a module, because that is strict, as compartments are, and knows no HTML comments. */
function readHolders(text: string): Holders | Unmendable {
  try {
    return new Holders(parse(text, { ecmaVersion: "latest", sourceType: "module" }));
  } catch (error) {
    if (!(error instanceof SyntaxError) || !("pos" in error) || typeof error.pos !== "number") throw error;
    return { start: error.pos, message: `a compartment cannot read this: ${error.message}` };
  }
}

interface Span {
  start: number;
  end: number;
  holder: Holder;
}

/** Finds what an offset stands in: a literal or a name, else code. */
class Holders {
  readonly #spans: Span[] = [];

  constructor(program: Node) {
    this.#visit(program);
    this.#spans.sort((a, b) => a.start - b.start);
  }

  holding(offset: number): { holder: Holder; start: number } {
    let low = 0;
    let high = this.#spans.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#spans[middle]!.start <= offset) low = middle + 1;
      else high = middle;
    }
    const span = this.#spans[low - 1];
    return span && offset < span.end ? span : { holder: "code", start: offset };
  }

  /** With a list of its own: chains of operators are nested as deep as they are long. */
  #visit(root: Node): void {
    const open: { node: Node; as: Holder | null }[] = [{ node: root, as: null }];
    const tagged = new Set<Node>();
    for (let next = open.pop(); next; next = open.pop()) {
      const { node, as } = next;
      const holder = as ?? holderOf(node);
      if (holder) this.#spans.push({ start: node.start, end: node.end, holder });
      for (const [key, child] of children(node)) open.push({ node: child, as: roleOf(node, key, { child, tagged }) });
    }
  }
}

function holderOf(node: Node): Holder | null {
  if (node.type === "Literal") {
    if ("regex" in node && node.regex) return "regexp";
    return "value" in node && typeof node.value === "string" ? "string" : null;
  }
  if (node.type === "TemplateElement") return "template";
  if (node.type === "Identifier") return "name";
  return node.type === "PrivateIdentifier" ? "private name" : null;
}

/** Returns the role that a child has because of its position; null for none. */
function roleOf(parent: Node, key: string, { child, tagged }: { child: Node; tagged: Set<Node> }): Holder | null {
  if (parent.type === "TemplateLiteral" && tagged.has(parent)) {
    return child.type === "TemplateElement" ? "tagged template" : null;
  }
  if (parent.type === "TaggedTemplateExpression" && key === "quasi") tagged.add(child);
  const computed = "computed" in parent && parent.computed === true;
  const named = key === "key" || (parent.type === "MemberExpression" && key === "property");
  return named && !computed && child.type === "Identifier" ? "property" : null;
}

function* children(node: Node): Generator<[string, Node]> {
  for (const [key, value] of Object.entries(node)) {
    if (Array.isArray(value)) {
      for (const item of value as unknown[]) if (isNode(item)) yield [key, item];
    } else if (isNode(value)) {
      yield [key, value];
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string" &&
    "start" in value;
}
