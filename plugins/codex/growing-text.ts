/** Texts that come whole, or grow with each line about them: gives each part of them once. */
export class GrowingTexts {
  readonly #given = new Map<string, string>();

  /** Returns the part of a text that was not given yet; all of it where it does not begin as before. */
  take(id: string, text: string): string {
    const given = this.#given.get(id) ?? "";
    this.#given.set(id, text);
    return text.startsWith(given) ? text.slice(given.length) : text;
  }

  /** No more of this text will come. */
  close(id: string): void {
    this.#given.delete(id);
  }
}
