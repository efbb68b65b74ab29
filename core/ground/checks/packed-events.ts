import type { OutputEvent, ThinkingEvent } from "../../../plugin-sdk/events.ts";

/**
 * A packed list of events is JSON in which a string stands for the event before it with that text instead of its own:
 * `[{"type":"output","stream":"stdout","data":"one"},"two"]` is two pieces of output. Most events of an agent are such
 * pieces, and to read a string takes a fifth of the time of a whole event. A string after anything else stands for itself.
 */

/** An event that is a text and little more. */
type Piece = OutputEvent | ThinkingEvent;

/** JSON of a piece, in two parts. */
export interface PieceJson {
  /** All before its text; after the text, only a brace is left. */
  head: string;
  /** Its text, as a JSON string. */
  text: string;
}

const heads = {
  stdout: '{"type":"output","stream":"stdout","data":',
  stderr: '{"type":"output","stream":"stderr","data":',
  thinking: '{"type":"thinking","content":',
};

/** JSON of a plain piece of at most `most` characters; null for others. A stranger's object may run its own code. */
export function pieceJson(value: unknown, most: number = Infinity): PieceJson | null {
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return null;
  const keys = Object.keys(value);
  const { type } = value as Partial<Piece>;
  if (keys[0] !== "type") return null;
  if (type === "output" && keys.length === 3 && keys[1] === "stream" && keys[2] === "data") {
    const { stream, data } = value as OutputEvent;
    if (typeof data !== "string" || data.length > most || (stream !== "stdout" && stream !== "stderr")) return null;
    return { head: stream === "stdout" ? heads.stdout : heads.stderr, text: JSON.stringify(data) };
  }
  if (type === "thinking" && keys.length === 2 && keys[1] === "content") {
    const { content } = value as ThinkingEvent;
    if (typeof content === "string" && content.length <= most) {
      return { head: heads.thinking, text: JSON.stringify(content) };
    }
  }
  return null;
}

/** Writes the items of packed lists, in order. */
export class EventPacker {
  /** Head of the piece before; empty when no string may follow. */
  #head = "";

  /** Returns the list's next item for an event. */
  event(event: object): string {
    const piece = pieceJson(event);
    if (piece !== null) return this.piece(piece);
    this.restart();
    return JSON.stringify(event);
  }

  /** Returns the list's next item for a piece. */
  piece({ head, text }: PieceJson): string {
    if (head === this.#head) return text;
    this.#head = head;
    return `${head}${text}}`;
  }

  /** Tells that the next item begins a list, or follows one that was not made here. */
  restart(): void {
    this.#head = "";
  }
}

/**
 * Replaces the strings of a packed list with whole events.
 * @returns characters that the list's JSON would have more without packing
 */
export function unpackEvents(list: unknown[]): number {
  let piece: Piece | null = null;
  let saved = 0;
  for (let at = 0; at < list.length; at++) {
    const item = list[at];
    if (typeof item !== "string") piece = isPiece(item) ? item : null;
    else if (piece !== null) {
      list[at] = withText(piece, item);
      saved += (piece.type === "output" ? heads.stdout : heads.thinking).length + 1;
    }
  }
  return saved;
}

/** Nothing large may stand in it but its text: every string after it would hold that as well. */
function isPiece(item: unknown): item is Piece {
  if (typeof item !== "object" || item === null || !("type" in item)) return false;
  if (item.type === "thinking") return true;
  return item.type === "output" && "stream" in item && (item.stream === "stdout" || item.stream === "stderr");
}

function withText(piece: Piece, text: string): Piece {
  return piece.type === "output"
    ? { type: "output", stream: piece.stream, data: text }
    : { type: "thinking", content: text };
}
