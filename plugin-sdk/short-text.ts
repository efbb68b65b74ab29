/** Returns the text, or its beginning and "…" if it is longer than this; never cuts a character in half. */
export function shortText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const end = /[\ud800-\udbff]/.test(text[maxLength - 2] ?? "") ? maxLength - 2 : maxLength - 1;
  return `${text.slice(0, end)}…`;
}
