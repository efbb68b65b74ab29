import { Buffer } from "node:buffer";
import { shortestSecret } from "../../ground/log/redact.ts";
import { type SecretForm, secretForms } from "../../ground/log/secret-forms.ts";
import { indexForms, SecretScanner, type SoughtForms } from "../../ground/log/secret-scanner.ts";

/** Covers secrets in bytes that come in parts. The length stays, so that what tells a length before stays true. */
interface ByteCover {
  /** Takes the next part and returns the settled bytes; it holds back an end that may begin a secret. */
  push(piece: Buffer): Buffer[];
  /** Ends the bytes and returns the rest. */
  end(): Buffer;
}

/** Covers some secrets. */
export interface Cover {
  /** The text with every secret, in any of its forms, as asterisks. */
  text(text: string): string;
  stream(): ByteCover;
}

/** Pieces of a form that the quick search looks for: so many are rare by chance. */
const startPieces = 6;

/** Bytes that the exact search takes at once before it looks whether the quick one may go on. */
const exactBytes = 256;

/** Makes a cover for secrets of ASCII characters; those too short to be told from ordinary words are left out. */
export function createCover(secrets: readonly string[]): Cover {
  const forms = secrets.filter((value) => value.length >= shortestSecret).flatMap(secretForms);
  const index = indexForms(forms.map((form) => ({ form, label: null })));
  const starts = { pattern: new RegExp(forms.map(startOf).join("|"), "g"), reach: Math.max(0, ...forms.map(reachOf)) };
  return {
    text(text) {
      const scanner = new SecretScanner(index);
      return scanner.push(text) + scanner.end();
    },
    stream: () => forms.length === 0 ? new NoCover() : new FoundCover(index, starts),
  };
}

class NoCover implements ByteCover {
  push(piece: Buffer): Buffer[] {
    return [piece];
  }

  end(): Buffer {
    return Buffer.alloc(0);
  }
}

/** One expression finds where a form may begin, at two gigabytes a second; the scanner decides, at fifty megabytes. */
class FoundCover implements ByteCover {
  readonly #scanner: SecretScanner;
  readonly #starts: { pattern: RegExp; reach: number };

  constructor(index: SoughtForms, starts: { pattern: RegExp; reach: number }) {
    this.#scanner = new SecretScanner(index);
    this.#starts = starts;
  }

  push(piece: Buffer): Buffer[] {
    const text = piece.toString("latin1");
    const settled: Buffer[] = [];
    let isSame = this.#scanner.isIdle;
    for (let at = 0; at < text.length;) {
      if (this.#scanner.isIdle) {
        const from = this.#nextStart(text, at);
        if (from > at) settled.push(piece.subarray(at, from));
        at = from;
      }
      const next = text.slice(at, at + exactBytes);
      at += next.length;
      const given = this.#scanner.push(next);
      isSame &&= given === next;
      if (given !== "") settled.push(Buffer.from(given, "latin1"));
    }
    // One write takes less time than several.
    return isSame ? [piece] : settled;
  }

  end(): Buffer {
    return Buffer.from(this.#scanner.end(), "latin1");
  }

  /** The place where a form may begin: its first pieces are there, or the text ends before they could be. */
  #nextStart(text: string, at: number): number {
    const { pattern, reach } = this.#starts;
    pattern.lastIndex = at;
    return pattern.exec(text)?.index ?? Math.max(at, text.length - reach);
  }
}

function startOf({ pieces, breaks }: SecretForm): string {
  const between = breaks.length === 0 ? "" : `(?:${breaks.map(spelled).join("|")})?`;
  return pieces.slice(0, startPieces).map((ways) => `(?:${ways.map(spelled).join("|")})`).join(between);
}

function spelled(way: readonly string[]): string {
  return way.map((units) => `[${units.replace(/[\\\]^-]/g, "\\$&")}]`).join("");
}

/** Bytes that the first pieces may take. */
function reachOf({ pieces, breaks }: SecretForm): number {
  const longest = (ways: readonly (readonly string[])[]) => Math.max(0, ...ways.map((way) => way.length));
  return pieces.slice(0, startPieces).reduce((sum, ways) => sum + longest(ways) + longest(breaks), 0);
}
