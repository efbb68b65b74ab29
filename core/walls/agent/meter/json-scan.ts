import { parseJson } from "../../../../plugin-sdk/json-fields.ts";
import type { Buffer } from "node:buffer";
import { GrownBytes } from "../../../ground/platform/files/grown-bytes.ts";

/** Bytes of a value that is taken out; of a longer one only the place is told. */
const mostBytes = 8192;

/** Characters of a key that can be wanted: of 32 letters, each of them escaped. */
const longestKey = 32 * 6;

/** Levels on which a wanted value may stand. */
const mostLevels = 3;

const [quote, backslash, comma, colon] = [34, 92, 44, 58];
const [openBrace, closeBrace, openBracket, closeBracket] = [123, 125, 91, 93];

/**
 * Takes a few values out of JSON texts that pass in pieces of any size, and keeps nothing else of them. A list at the top
 * counts as several texts. What is no JSON gives no values, or wrong ones, and costs no more.
 */
export class JsonScan {
  readonly #wanted: ReadonlySet<string>;
  readonly #found: (path: string, value: unknown) => void;
  #depth = 0;
  /** Depth of the text itself: one more in a list at the top. */
  #base = 0;
  /** By depth: the key whose value is read, `null` in a list. */
  #keys: (string | null)[] = [];
  #expectsKey = false;
  #inString = false;
  #isEscaped = false;
  /** The key that is read now; null while none is. */
  #key: string | null = null;
  /** The wanted value that is read now; without bytes once it is too long. */
  #taking: { path: string; depth: number; bytes: GrownBytes | null } | null = null;

  /**
   * @param wanted paths of at most three keys, joined by dots
   * @param found gets each value; undefined for one that is too long
   */
  constructor(wanted: readonly string[], found: (path: string, value: unknown) => void) {
    this.#wanted = new Set(wanted);
    this.#found = found;
  }

  /** Begins another text. */
  reset(): void {
    this.#depth = this.#base = 0;
    this.#keys = [];
    this.#expectsKey = this.#inString = this.#isEscaped = false;
    this.#key = this.#taking = null;
  }

  push(bytes: Buffer): void {
    let from = 0;
    for (let at = 0; at < bytes.length; at++) {
      if (this.#inString) {
        at = this.#passString(bytes, at);
        continue;
      }
      const byte = bytes[at]!;
      const ends = byte === comma || byte === closeBrace || byte === closeBracket;
      if (ends && this.#taking?.depth === this.#depth) this.#give(bytes.subarray(from, at));
      if (this.#read(byte)) from = at + 1;
    }
    if (this.#taking !== null) this.#keep(bytes.subarray(from));
  }

  /** Reads a byte outside of strings; true when a wanted value begins behind it. */
  #read(byte: number): boolean {
    switch (byte) {
      case quote:
        this.#inString = true;
        this.#key = this.#expectsKey && this.#isShallow ? "" : null;
        return false;
      case openBrace:
      case openBracket:
        this.#open(byte === openBrace);
        return false;
      case closeBrace:
      case closeBracket:
        this.#depth = Math.max(0, this.#depth - 1);
        this.#expectsKey = false;
        return false;
      case comma:
        this.#expectsKey = this.#isShallow && this.#keys[this.#depth] !== null;
        return false;
      case colon:
        this.#expectsKey = false;
        return this.#taking === null && this.#isShallow && this.#begin();
      default:
        return false;
    }
  }

  get #isShallow(): boolean {
    return this.#depth > this.#base && this.#depth - this.#base <= mostLevels;
  }

  #open(isObject: boolean): void {
    if (this.#depth === 0) this.#base = isObject ? 0 : 1;
    this.#depth++;
    if (this.#depth - this.#base <= mostLevels) this.#keys[this.#depth] = isObject ? "" : null;
    this.#expectsKey = isObject && this.#isShallow;
  }

  #begin(): boolean {
    const path = this.#keys.slice(this.#base + 1, this.#depth + 1).join(".");
    if (!this.#wanted.has(path)) return false;
    this.#taking = { path, depth: this.#depth, bytes: new GrownBytes() };
    return true;
  }

  /** Returns the place of the string's end, or the last of the bytes. */
  #passString(bytes: Buffer, from: number): number {
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) {
        this.#inString = false;
        break;
      }
    }
    if (this.#key === null) return at;
    const room = longestKey - this.#key.length + 1;
    this.#key += bytes.toString("latin1", from, Math.min(at, from + room));
    // No wanted value has a longer key.
    if (!this.#inString) {
      this.#keys[this.#depth] = this.#key.length > longestKey ? "" : unescaped(this.#key);
      this.#key = null;
    }
    return at;
  }

  #keep(bytes: Buffer): void {
    const taking = this.#taking;
    if (!taking?.bytes) return;
    if (taking.bytes.length + bytes.length > mostBytes) taking.bytes = null;
    else taking.bytes.push(bytes);
  }

  #give(rest: Buffer): void {
    this.#keep(rest);
    const { path, bytes } = this.#taking!;
    this.#taking = null;
    this.#found(path, bytes === null ? undefined : parseJson(new TextDecoder().decode(bytes.take())));
  }
}

function unescaped(key: string): string {
  return key.includes("\\") ? String(parseJson(`"${key}"`)) : key;
}
