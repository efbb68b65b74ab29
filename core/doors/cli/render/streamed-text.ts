import { TextTail } from "../../../../plugin-sdk/text-tail.ts";

/** Characters that are kept and compared. Texts are compared by their ends, without their blanks. */
const keptCharacters = 65_536;
const comparedCharacters = 4096;

/** Remembers what sessions streamed, to tell whether the view has shown an answer already. */
export class StreamedText {
  readonly #texts = new Map<string, TextTail>();

  /** Adds text that a session streamed. */
  add(sessionId: string, text: string): void {
    const tail = this.#texts.get(sessionId) ?? new TextTail(keptCharacters);
    this.#texts.set(sessionId, tail);
    tail.add(withoutBlanks(text));
  }

  /** Whether a session streamed this text, whole or in pieces. */
  has(sessionId: string, text: string): boolean {
    return (this.#texts.get(sessionId)?.text ?? "").includes(withoutBlanks(text).slice(-comparedCharacters));
  }

  /** Forgets a session. */
  forget(sessionId: string): void {
    this.#texts.delete(sessionId);
  }
}

/** Adapters join pieces with other blanks than those that they streamed. */
function withoutBlanks(text: string): string {
  return text.replace(/\s+/g, "");
}
