/** A value that must not be shown, and what it is called. */
export interface Secret {
  name: string;
  value: string;
}

/** Values shorter than this are not redacted: they would hit ordinary words. In characters. */
export const shortestSecret = 8;

/** The text with every secret's value replaced by `[redacted NAME]`, longest values first. */
export function redact(text: string, secrets: readonly Secret[]): string {
  const known = secrets.filter(({ value }) => value.length >= shortestSecret);
  const longestFirst = known.sort((a, b) => b.value.length - a.value.length);
  return longestFirst.reduce((shown, { name, value }) => shown.replaceAll(value, `[redacted ${name}]`), text);
}
