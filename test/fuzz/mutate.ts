import type { Random } from "./random.ts";

/** Longest input, in characters: most faults show on short ones, and the rest is tested by hand. */
const maxLength = 20_000;

/** Characters that parsers treat in ways of their own. */
const special = [
  ..."\0\t\n\r \"'`\\/{}[]()<>:;,.*?#!&|%@~^$-+=_0123456789aZ",
  "\u0085",
  "\u00a0",
  "\u00ad",
  "\u200b",
  "\u2028",
  "\u202e",
  "\ufeff",
  "\ud800",
  "\udc00",
  "\u{1f600}",
  "\u001b",
  "\u007f",
  "é",
  "ß",
  "İ",
];

/** Words that broke parsers elsewhere. */
const words = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "null",
  "true",
  "NaN",
  "-0",
  "1e999",
  "9007199254740993",
  "-1",
  "4294967296",
  "..",
  "../",
  "//",
  "\\\\",
  "{...}",
  "{*}",
  "{}",
  "%2e%2e",
  "%00",
  "&a",
  "*a",
  "<<: *a",
  "!!js/function",
  "${X}",
  "$(x)",
  "--",
  "@file",
];

/** Changes a text in some places. `tokens` are words of the language that it is in. */
export function mutateText(random: Random, { text, others, tokens }: MutateOptions): string {
  let mutated = text;
  for (let changes = 1 + random.below(random.once(8) ? 24 : 5); changes > 0; changes--) {
    mutated = change(random, mutated, { others, tokens });
  }
  return mutated.slice(0, maxLength);
}

/** What a text is changed with. */
export interface MutateOptions {
  text: string;
  /** Other inputs, pieces of which may come in. */
  others: readonly string[];
  tokens: readonly string[];
}

function change(random: Random, text: string, { others, tokens }: Omit<MutateOptions, "text">): string {
  const at = random.below(text.length + 1);
  const to = Math.min(text.length, at + 1 + random.below(random.once(4) ? text.length : 8));
  const put = (middle: string, upTo = at) => text.slice(0, at) + middle + text.slice(upTo);
  switch (random.below(10)) {
    case 0:
      return put("", to);
    case 1:
      return put(random.pick(special));
    case 2:
      return put(random.pick(special), to);
    case 3:
      return put(random.pick(tokens));
    case 4:
      return put(random.pick(tokens), to);
    case 5:
      return put(random.pick(words));
    case 6:
      return put(text.slice(at, to));
    case 7:
      return put(random.pick(random.once(2) ? tokens : special).repeat(1 + random.below(random.once(6) ? 2000 : 20)));
    case 8: {
      const other = random.pick(others);
      const from = random.below(other.length);
      return put(other.slice(from, from + 1 + random.below(other.length)));
    }
    default:
      return put(String.fromCharCode(random.below(random.once(2) ? 256 : 65_536)), Math.min(text.length, at + 1));
  }
}
