import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { fieldsOf, listOf, parseJson, stringOf } from "../../../plugin-sdk/json-fields.ts";
import { beforeEdits, type Edit } from "../manifest/edits.ts";

/** Namespace of every module: with one of our own, the bundler reads no file by itself. */
export const moduleNamespace = "plugin";

/** A place in a file of the author's; both count from 1. */
export interface AuthorPosition {
  /** Relative to the package, or beginning with the name of the package it is in. */
  file: string;
  line: number;
  column: number;
}

/** A plugin's script, and what maps a position in it to the author's files. */
export interface MappedScript {
  /** The text that is evaluated. */
  text: string;
  /** The bundler's text, its source map, and what was changed afterwards. */
  bundled: string;
  sourceMap: string;
  edits: readonly Edit[];
}

/** A plugin writes its source map as long as it likes, and this one is read on the host's thread. */
const mostMapLength = 1_000_000;
const mostSources = 500;

const scriptPlaces = /(?:plugin:[a-z0-9-]{1,64}|<anonymous>):(\d{1,9}):(\d{1,9})/g;

/** Finds the author's places for places in the one script. */
export class ScriptPositions {
  readonly #options: MappedScript;
  #map: TraceMap | null = null;
  #starts: { bundled: number[]; text: number[] } | null = null;

  constructor(options: MappedScript) {
    this.#options = options;
  }

  /** For an offset in the bundler's text. */
  atBundledOffset(offset: number): AuthorPosition | null {
    const { bundled } = this.#lineStarts();
    const line = lineAt(bundled, offset);
    const { source, line: found, column } = originalPositionFor(this.#map ??= new TraceMap(this.#options.sourceMap), {
      line: line + 1,
      column: offset - bundled[line]!,
    });
    if (source === null || found === null || column === null) return null;
    return { file: authorFile(source), line: found, column: column + 1 };
  }

  /**
   * Rewrites what points into the script; engines name it by its source URL, or `<anonymous>` without one. Each instance
   * of a plugin evaluates the script under its own id.
   */
  mapStack(stack: string): string {
    return stack.replace(scriptPlaces, (place, line: string, column: string) => {
      const author = this.#atTextPlace(Number(line), Number(column));
      return author ? `${author.file}:${author.line}:${author.column}` : place;
    });
  }

  /** Returns the first modules' names, as the author knows them; none where reading the map would hold up the host. */
  sources(): string[] {
    const { sourceMap } = this.#options;
    if (sourceMap === "" || sourceMap.length > mostMapLength) return [];
    const sources = listOf(fieldsOf(parseJson(sourceMap))?.["sources"]).slice(0, mostSources).map(stringOf);
    return sources.filter((source) => source !== null).map(authorFile);
  }

  #atTextPlace(line: number, column: number): AuthorPosition | null {
    const start = this.#lineStarts().text[line - 1];
    if (start === undefined || column < 1) return null;
    return this.atBundledOffset(beforeEdits(start + column - 1, this.#options.edits));
  }

  #lineStarts(): { bundled: number[]; text: number[] } {
    this.#starts ??= { bundled: lineStarts(this.#options.bundled), text: lineStarts(this.#options.text) };
    return this.#starts;
  }
}

/** A module's name as the author knows it. A source map inside a package may name anything, so it is cleaned. */
export function authorFile(source: string): string {
  const name = source.startsWith(`${moduleNamespace}:`) ? source.slice(moduleNamespace.length + 1) : source;
  return name.replace(/\p{Cc}/gu, "?").slice(0, 256);
}

function lineStarts(text: string): number[] {
  const starts = [0];
  // As engines count lines in scripts.
  for (const match of text.matchAll(/\r\n|[\n\r\u2028\u2029]/g)) starts.push(match.index + match[0].length);
  return starts;
}

function lineAt(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length;
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle;
  }
  return low;
}
