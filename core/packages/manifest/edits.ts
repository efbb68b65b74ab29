/** One replacement in a text: at `start`, `removed` characters give way to `inserted`. */
export interface Edit {
  start: number;
  removed: number;
  inserted: string;
}

/** The text with all edits made; they come in the order of the text and do not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { start, removed, inserted } of edits) {
    parts.push(text.slice(from, start), inserted);
    from = start + removed;
  }
  return parts.join("") + text.slice(from);
}

/** Maps an offset of the edited text back to the text before the edits. */
export function beforeEdits(offset: number, edits: readonly Edit[]): number {
  let shift = 0;
  for (const { start, removed, inserted } of edits) {
    if (start + shift + inserted.length > offset) return Math.min(offset - shift, start + removed);
    shift += inserted.length - removed;
  }
  return offset - shift;
}
