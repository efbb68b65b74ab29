/** Characters that are kept and compared. Texts are compared by their ends, without their blanks. */
const keptCharacters = 65_536;
const comparedCharacters = 4096;

/** Remembers what sessions streamed, to tell whether the view has shown an answer already. */
export class StreamedText {
  readonly #texts = new Map<string, string>();

  /** Adds text that a session streamed. */
  add(sessionId: string, text: string): void {
    const all = (this.#texts.get(sessionId) ?? "") + withoutBlanks(text);
    // Cut rarely: each cut copies the text.
    this.#texts.set(sessionId, all.length > 2 * keptCharacters ? all.slice(-keptCharacters) : all);
  }

  /** Whether a session streamed this text, whole or in pieces. */
  has(sessionId: string, text: string): boolean {
    return (this.#texts.get(sessionId) ?? "").includes(withoutBlanks(text).slice(-comparedCharacters));
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
