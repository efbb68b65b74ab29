/** The text, or its beginning and "…" where it is longer than this; never half a character. */
export function shortText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const end = /[\ud800-\udbff]/.test(text[maxLength - 2] ?? "") ? maxLength - 2 : maxLength - 1;
  return `${text.slice(0, end)}…`;
}
