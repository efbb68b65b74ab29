// Every repeat below is bounded, so matching stays linear in the text.
const trigger = new RegExp(
  "(?:\\bretry[-_ ]?after(?<ms>[-_]ms)?|\\bretry[-_]?delay|\\bresets?_in_seconds|\\bwait(?:ing)?(?: for)?" +
    "|\\bretry(?:ing)?(?: again)? in|\\btry again (?:in|after)|\\bagain in|\\bavailable in|\\bresets? (?:in|after)" +
    "|\\bbackoff(?: of| for)?)" +
    "[\"']?[\\s:=]{0,4}[\"']?(?:at least |about |another |approximately |~)?",
  "gi",
);
const part = /^[\s,]{0,3}(?:and )?(\d{1,9}(?:\.\d{1,9})?)\s{0,3}([a-z]{1,12})\b/i;
// "7m12s" has no blank and no word boundary between its parts.
const compactPart = /^(\d{1,9}(?:\.\d{1,9})?)(ms|[smhdw])(?=[\d\s.,;)"']|$)/i;
const bareNumber = /^(\d{1,9}(?:\.\d{1,9})?)(?![\w:/-])(?!\.\d)(?!\s{1,3}[a-z])/i;

const secondsOf: ReadonlyMap<string, number> = new Map([
  ...names(["ms", "msec", "msecs", "millisecond", "milliseconds"], 0.001),
  ...names(["s", "sec", "secs", "second", "seconds"], 1),
  ...names(["m", "min", "mins", "minute", "minutes"], 60),
  ...names(["h", "hr", "hrs", "hour", "hours"], 3600),
  ...names(["d", "day", "days"], 86_400),
  ...names(["w", "wk", "wks", "week", "weeks"], 604_800),
]);

/**
 * Returns the seconds of the first wait that a text asks for: "wait 5 minutes", "try again in 1h 30m", "retry-after:
 * 30". Null if there is none.
 */
export function readDuration(text: string): number | null {
  for (const found of text.matchAll(trigger)) {
    const rest = text.slice(found.index + found[0].length, found.index + found[0].length + 128);
    const seconds = sumParts(rest) ?? readBareNumber(found, rest);
    if (seconds !== null) return seconds;
  }
  return null;
}

function sumParts(text: string): number | null {
  let rest = text;
  let sum: number | null = null;
  for (;;) {
    const found = compactPart.exec(rest) ?? part.exec(rest);
    const unit = secondsOf.get(found?.[2]?.toLowerCase() ?? "");
    if (!found || unit === undefined) return sum;
    sum = (sum ?? 0) + Number(found[1]) * unit;
    rest = rest.slice(found[0].length);
  }
}

/**
 * Reads a number without a unit: seconds after `retry-after` (RFC 9110 section 10.2.3) and `resets_in_seconds`,
 * milliseconds after `retry-after-ms`. One before another word has a unit that is not known.
 */
function readBareNumber(found: RegExpExecArray, rest: string): number | null {
  if (!/retry[-_ ]?after|_in_seconds/i.test(found[0])) return null;
  const number = bareNumber.exec(rest);
  if (!number) return null;
  return Number(number[1]) * (found.groups?.["ms"] ? 0.001 : 1);
}

function names(words: readonly string[], seconds: number): [string, number][] {
  return words.map((word) => [word, seconds]);
}
