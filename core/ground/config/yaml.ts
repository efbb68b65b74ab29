import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import {
  type FileErrorCode,
  type KeyPath,
  pathText,
  type Position,
  type Problem,
  problemsError,
} from "./yaml-problems.ts";

interface ParseYamlOptions {
  /** Name of the file, for errors. */
  file: string;
  /** UTF-8 bytes the text may have; also the number of values it may expand to. */
  maxBytes: number;
  maxAliases: number;
  /** Code of the errors; default `invalid_manifest`. */
  code?: FileErrorCode;
}

/** A YAML file that was read, with the place of every value in it. */
export interface ParsedYaml {
  file: string;
  source: string;
  /** Plain JSON data. */
  value: unknown;
  /** Position of a value or its key; where it is missing, that of its nearest existing ancestor. */
  locate(path: KeyPath, of?: "value" | "key"): Position;
  /** The tree with its comments, for edits. */
  document: Document;
}

const maxDepth = 16;
const forbiddenKeys = ["__proto__", "constructor", "prototype"];
const coreTags = ["str", "int", "float", "bool", "null", "map", "seq"].map((name) => `tag:yaml.org,2002:${name}`);
// C0 and C1 controls but tab and line ends, a byte order mark inside, and halves of surrogate pairs.
// deno-lint-ignore no-control-regex -- control characters are what it looks for
const badCharacter = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff\ud800-\udfff]/u;

/**
 * Reads one YAML 1.2 document (core schema) strictly: ambiguous YAML is an error here.
 * @throws {BulkheadError} `options.code`, with file, line and column
 */
export function parseYaml(text: string, options: ParseYamlOptions): ParsedYaml {
  const { file, maxBytes, code = "invalid_manifest" } = options;
  const lines = new LineCounter();
  const body = text.startsWith("\ufeff") ? text.slice(1) : text;
  const fail: Fail = (offset, path, words) => {
    throw problemsError(code, [problemAt(lines, file, { offset, path, ...words })], body);
  };
  checkSize(body, maxBytes, fail);
  checkCharacters(body, lines, fail);
  const document = compose(body, { lines, fail, file, code });
  const walk = new Walk(document, options, fail);
  const root = walk.read(document.contents as Node | null, [], 0);
  return {
    file,
    source: body,
    value: root.value,
    document,
    locate: (path, of = "value") => lineOf(lines, offsetOf(root.place, path, of)),
  };
}

interface Place {
  offset: number;
  key: number;
  children: Map<string | number, Place>;
}
type Fail = (offset: number, path: KeyPath, words: { expected: string; found: string; hint?: string }) => never;

function checkSize(text: string, maxBytes: number, fail: Fail): void {
  // A UTF-16 unit is at most three bytes, so most texts need no count.
  if (text.length * 3 <= maxBytes) return;
  const bytes = text.length > maxBytes ? text.length : new TextEncoder().encode(text).length;
  if (bytes > maxBytes) {
    fail(0, [], { expected: `at most ${maxBytes} bytes`, found: `${text.length > maxBytes ? "more" : bytes}` });
  }
}

function checkCharacters(text: string, lines: LineCounter, fail: Fail): void {
  const bad = badCharacter.exec(text);
  if (!bad) return;
  lines.addNewLine(0);
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines.addNewLine(at + 1);
  fail(bad.index, [], { expected: "printable characters", found: `U+${hex(bad[0])}` });
}

function hex(character: string): string {
  return character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
}

interface ComposeOptions {
  lines: LineCounter;
  fail: Fail;
  file: string;
  code: FileErrorCode;
}

function compose(text: string, { lines, fail, file, code }: ComposeOptions): Document {
  const tokens = tokensOf(text, lines, fail);
  const composer = new Composer({
    version: "1.2",
    schema: "core",
    strict: true,
    uniqueKeys: false,
    logLevel: "silent",
  });
  const documents = [...composer.compose(tokens, true, text.length)] as Document[];
  const document = documents[0]!;
  if (document.directives?.yaml.version !== "1.2") {
    fail(Math.max(0, text.search(/^%YAML/m)), [], {
      expected: "YAML 1.2",
      found: `YAML ${document.directives?.yaml.version}`,
    });
  }
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    throw problemsError(
      code,
      faults.map((fault) => {
        const found = fault.message.split("\n")[0]!;
        const place = problemAt(lines, file, { offset: fault.pos[0], path: [], expected: "valid YAML", found });
        return { ...place, says: `not valid YAML: ${found}`, hint: quoteHint(found) };
      }).filter(({ line }, index, all) => all.findIndex((one) => one.line === line) === index),
      text,
    );
  }
  const second = documents[1];
  if (second) fail(second.contents?.range?.[0] ?? text.length, [], { expected: "one document", found: "a second one" });
  return document;
}

/** Messages of the parser on a value that YAML takes for something of its own. */
const wantsQuotes =
  /^(Plain value cannot start|Nested mappings|Block collections are not|Unresolved tag|Unexpected .* at node end)/;

function quoteHint(found: string): string | undefined {
  return wantsQuotes.test(found) ? needsQuotes : undefined;
}

const needsQuotes = "Put the whole value in quotes, as YAML gives its signs a meaning of their own";

/** Splits the text into tokens. Rejects deep nesting, because the parser and the composer are recursive. */
function tokensOf(text: string, lines: LineCounter, fail: Fail): CST.Token[] {
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    if (parser.stack.length <= maxDepth) continue;
    const open = parser.stack.filter((token) => "items" in token);
    if (open.length > maxDepth) {
      fail(open.at(-1)!.offset, [], { expected: `at most ${maxDepth} levels of nesting`, found: "one more" });
    }
  }
  tokens.push(...parser.end());
  return tokens;
}

interface Read {
  value: unknown;
  place: Place;
}

/** Converts nodes to plain data and records their positions. */
class Walk {
  readonly #document: Document;
  readonly #options: ParseYamlOptions;
  readonly #fail: Fail;
  #values = 0;
  readonly #aliases = new Set<Node>();
  /** Lists and maps on the current path, to find aliases of an ancestor. */
  readonly #open = new Set<Node>();

  constructor(document: Document, options: ParseYamlOptions, fail: Fail) {
    this.#document = document;
    this.#options = options;
    this.#fail = fail;
  }

  read(node: Node | null, path: KeyPath, key: number): Read {
    const offset = node?.range?.[0] ?? key;
    const place: Place = { offset, key, children: new Map() };
    if (path.length > maxDepth) {
      this.#fail(offset, path, { expected: `at most ${maxDepth} levels of nesting`, found: "one more" });
    }
    if (++this.#values > this.#options.maxBytes) {
      this.#fail(offset, path, {
        expected: `at most ${this.#options.maxBytes} values`,
        found: "more, by way of aliases",
      });
    }
    if (isAlias(node)) return this.#alias(node, path, key);
    if (isScalar(node) || isCollection(node)) this.#checkTag(node, path);
    if (isCollection(node)) {
      this.#open.add(node);
      const value = isMap(node) ? this.#map(node, path, place) : this.#list(node as YAMLSeq, path, place);
      this.#open.delete(node);
      return { value, place };
    }
    if (!isScalar(node)) return { value: null, place };
    if (node.value === null && node.source === "") place.offset = key;
    if (typeof node.value === "string") this.#checkText(node.value, path, offset);
    return { value: node.value, place };
  }

  #alias(
    node: Node & { source: string; resolve(document: Document): Node | undefined },
    path: KeyPath,
    key: number,
  ): Read {
    const offset = node.range?.[0] ?? key;
    this.#aliases.add(node);
    const cap = this.#options.maxAliases;
    if (this.#aliases.size > cap) this.#fail(offset, path, { expected: `at most ${cap} aliases`, found: "one more" });
    const target = node.resolve(this.#document);
    if (!target) {
      const expected = `an anchor "${node.source}" before its alias`;
      return this.#fail(offset, path, { expected, found: "none", hint: needsQuotes });
    }
    if (this.#open.has(target)) {
      this.#fail(offset, path, { expected: "no alias that contains itself", found: `"*${node.source}"` });
    }
    return this.read(target, path, key);
  }

  #map(node: YAMLMap, path: KeyPath, place: Place): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (const { key: keyNode, value } of node.items) {
      const key = this.#key(keyNode, path, place.offset);
      const at = (keyNode as Node).range?.[0] ?? place.offset;
      if (Object.hasOwn(object, key)) {
        this.#fail(at, [...path, key], { expected: "each key once", found: `"${key}" a second time` });
      }
      const read = this.read(value as Node | null, [...path, key], at);
      object[key] = read.value;
      place.children.set(key, read.place);
    }
    return object;
  }

  #key(node: unknown, path: KeyPath, offset: number): string {
    const at = (node as Node | null)?.range?.[0] ?? offset;
    if (!isScalar(node)) {
      return this.#fail(at, path, { expected: "a string as key", found: isAlias(node) ? "an alias" : "a list or map" });
    }
    this.#checkTag(node, path);
    const key = node.value;
    if (typeof key !== "string") {
      return this.#fail(at, path, {
        expected: "a string as key (in quotes)",
        found: key === null ? "nothing" : `${typeof key} ${String(key)}`,
      });
    }
    if (key === "<<") this.#fail(at, path, { expected: "no merge keys", found: `"<<"` });
    if (forbiddenKeys.includes(key)) this.#fail(at, path, { expected: "another name for a key", found: `"${key}"` });
    this.#checkText(key, path, at);
    return key;
  }

  #list(node: YAMLSeq, path: KeyPath, place: Place): unknown[] {
    return node.items.map((item, index) => {
      const read = this.read(item as Node | null, [...path, index], place.offset);
      place.children.set(index, read.place);
      return read.value;
    });
  }

  #checkTag(node: { tag?: string; range?: [number, number, number] | null }, path: KeyPath): void {
    const known = node.tag === undefined || coreTags.includes(node.tag);
    if (!known) {
      this.#fail(node.range?.[0] ?? 0, path, { expected: "a tag of YAML's core schema", found: `"${node.tag}"` });
    }
  }

  /** Escapes in quotes can spell characters that the file itself must not contain. */
  #checkText(text: string, path: KeyPath, offset: number): void {
    const bad = badCharacter.exec(text);
    if (bad) this.#fail(offset, path, { expected: "printable characters", found: `an escaped U+${hex(bad[0])}` });
  }
}

function offsetOf(root: Place, path: KeyPath, of: "value" | "key"): number {
  let place = root;
  for (const [index, part] of path.entries()) {
    const child = place.children.get(part);
    if (!child) return place.offset;
    place = child;
    if (of === "key" && index === path.length - 1) return place.key;
  }
  return place.offset;
}

function problemAt(
  lines: LineCounter,
  file: string,
  fault: { offset: number; path: KeyPath; expected: string; found: string; hint?: string },
): Problem {
  const { offset, path, ...words } = fault;
  return { file, ...lineOf(lines, offset), path: pathText(path), ...words };
}

function lineOf(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return line === 0 ? { line: 1, column: Math.max(1, offset + 1) } : { line, column: col };
}
