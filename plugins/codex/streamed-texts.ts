/** Texts that come in pieces, and then whole: gives each part of them once. */
export class StreamedTexts {
  readonly #given = new Map<string, string>();

  /** Takes a piece, and returns it. */
  add(id: string, piece: string): string {
    this.#given.set(id, (this.#given.get(id) ?? "") + piece);
    return piece;
  }

  /** Returns the rest of a text that is whole now; nothing where what was given reads otherwise. */
  end(id: string, text: string): string {
    const given = this.#given.get(id) ?? "";
    this.#given.delete(id);
    return text.startsWith(given) ? text.slice(given.length) : "";
  }

  /** Whether nothing of a text was given yet. */
  isNew(id: string): boolean {
    return !this.#given.has(id);
  }
}
