import { secretForms } from "./secret-forms.ts";
import { indexForms, SecretScanner } from "./secret-scanner.ts";

/** A value that must not be shown, and its name. */
export interface Secret {
  name: string;
  value: string;
}

/** Redacts secrets in text that comes in parts; a secret may be split over any of them. */
export interface StreamRedactor {
  /** Takes the next part and returns the settled text; it holds back an end that may begin a secret. */
  push(text: string): string;
  /** Ends the text and returns the rest. */
  end(): string;
}

/** Redacts the secrets of one session. */
export interface Redactor {
  /** The text with every secret, in any of its forms, replaced by `[redacted NAME]`. */
  text(text: string): string;
  /** JSON with every text in it redacted, keys too; the same value where nothing was redacted. */
  value<T>(value: T): T;
  stream(): StreamRedactor;
}

/** Values shorter than this are not redacted: they would hit ordinary words. In characters. */
export const shortestSecret = 8;

/** Nesting at which a value is cut off: deeper values would overflow the stack. */
const maxDepth = 256;

/** Makes a redactor; null when there is nothing to redact, so that the common case costs nothing. */
export function createRedactor(secrets: readonly Secret[]): Redactor | null {
  const known = secrets.filter(({ value }) => value.length >= shortestSecret);
  if (known.length === 0) return null;
  const sought = known.flatMap(({ name, value }) =>
    secretForms(value).map((form) => ({ form, label: `[redacted ${name}]` }))
  );
  const index = indexForms(sought);
  const text = (whole: string) => {
    if (whole.length < shortestSecret) return whole;
    const scanner = new SecretScanner(index);
    return scanner.push(whole) + scanner.end();
  };
  return {
    text,
    // The cast holds: the result has the shape of the input, because only texts are replaced, by texts.
    value: <T>(value: T) => redactValue(value, { text, depth: 0 }) as T,
    stream: () => new SecretScanner(index),
  };
}

/** The text with every secret's value, in any form, replaced by `[redacted NAME]`. */
export function redact(text: string, secrets: readonly Secret[]): string {
  return createRedactor(secrets)?.text(text) ?? text;
}

function redactValue(value: unknown, { text, depth }: { text(text: string): string; depth: number }): unknown {
  if (typeof value === "string") return text(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === maxDepth) return "[redacted: nested too deeply]";
  const deeper = { text, depth: depth + 1 };
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => redactValue(item, deeper));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const entries = Object.entries(value);
  const redacted = entries.map(([key, item]) => [text(key), redactValue(item, deeper)] as const);
  const changed = redacted.some(([key, item], index) => key !== entries[index]![0] || item !== entries[index]![1]);
  return changed ? Object.fromEntries(redacted) : value;
}
