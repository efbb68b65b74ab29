import { readForeignSpan } from "./foreign-limits.ts";

// Every repeat below is bounded, so matching stays linear in the text.
const trigger = new RegExp(
  "(?:(?<after>\\bretry[-_ ]?after|ratelimit-reset(?:-after|(?=[\"']?\\s?[:=])))|ratelimit-reset-[a-z]{1,20}|\\b(?:quota[-_]?)?(?:retry|resets?)[-_]?delay(?:[\"']?\\s{0,2}:?\\s{0,2}\\{\\s{0,4}[\"']?(?<proto>seconds))?" +
    "|\\bwait(?:ing)?(?: for)?|\\b(?:retry|retrying|try|tried|available|resume[sd]?|come back|back|again)(?: again| (?:your |the |this )?request)? (?:in|after)" +
    "|\\b(?:resets?|renews?|renewed|refreshes|restored|lifted|unlocks?|until reset|expires?)[ _-]?(?:in|after)?" +
    "|\\b(?:backoff|back off|paused?|limited|blocked|cool[- ]?down)(?: of| for| period of)?)" +
    "[\"']?[\\s:=]{0,4}[\"']?(?:(?:at least|less than|under|within|about|around|another|approximately|approx\\.?|roughly|up to|in|for|a|an) |~|≈){0,2}",
  "gi",
);
/** A key that names its unit: `resets_in_seconds`, `retryAfterMs`. */
const keyed =
  /(?:retry|resets?|wait|delay|available|cooldown|backoff)(?:[-_]?(?:after|in|delay|time|for)){0,2}(?:[-_]?(ms|msecs?|millis|milliseconds|seconds|secs?|minutes|mins?|hours)|[-_](s))["']?\s{0,2}[:=]\s{0,2}["']?(\d{1,12}(?:\.\d{1,12})?)(?![\d.]*[\w:])/i;
/** A span before the words that tell what it leads to. */
const leading =
  /((?:\d{1,9}(?:\.\d{1,9})?[ ]?[a-z]{1,12}(?:,? and |,? |,)?){1,5}) ?(?:from now|until (?:the |your |it )?(?:next |limit |quota )?resets?|before (?:retrying|you (?:try|retry)|trying|the next))/gi;
const number = "(\\d{1,3}(?:,\\d{3}){1,2}(?![\\d.,])|\\d{1,9}(?:\\.\\d{1,12})?)";
const part = new RegExp(`^[\\s,]{0,3}(?:and |& )?${number}[ \\t-]{0,3}([a-zµ]{1,12})\\b\\.?`, "i");
// "7m12s" has no blank and no word boundary between its parts.
const compactPart = new RegExp(`^${number}(ms|mo|[smhdw])(?=[\\d\\s.,;)"']|$)`, "i");
const unknownPart = /^,? (?:and|&) \d{1,9} ?[a-z]/i;
const halfPart = /^half an? ([a-z]{3,12})\b/i;
/** ISO 8601: "PT1M30S". */
const isoPart = /^P(?:(\d{1,4})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,5})M)?(?:(\d{1,9})(?:\.\d{1,9})?S)?)?(?![\w:])/;
const clockPart = /^(\d{1,3}):([0-5]\d):([0-5]\d)(?![\d:])/;
const namedPart = new RegExp("^(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) ([a-z]{1,12})\\b", "i");
const bareNumber = new RegExp(`^${number}(?![\\w:/-]|\\.\\d|[ \\t]{1,3}[a-z]{1,20}(?![a-z]*[-:=_]))`, "i");

/** Larger counts of seconds are points in time. */
const unixNow = 1_000_000_000;
const words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

const secondsOf: ReadonlyMap<string, number> = new Map([
  ...names(["ms", "msec", "msecs", "millis", "millisecond", "milliseconds"], 0.001),
  ...names(["s", "sec", "secs", "second", "seconds"], 1),
  ...names(["m", "min", "mins", "minute", "minutes"], 60),
  ...names(["h", "hr", "hrs", "hour", "hours"], 3600),
  ...names(["d", "day", "days"], 86_400),
  ...names(["w", "wk", "wks", "week", "weeks"], 604_800),
  ...names(["mo", "month", "months"], 2_592_000),
]);

/**
 * Returns the seconds of the first wait that a text asks for: "wait 5 minutes", "try again in 1h 30m", "retry-after:
 * 30". Null if there is none, and for a span in a unit that is not known.
 */
export function readDuration(text: string): number | null {
  const [, unit, s, digits] = keyed.exec(text) ?? [];
  const told = Number(digits) * (secondsOf.get((unit ?? s ?? "").toLowerCase()) ?? 1);
  if (told < unixNow) return told;
  for (const found of text.matchAll(trigger)) {
    const rest = text.slice(found.index + found[0].length, found.index + found[0].length + 128);
    const seconds = readSpan(rest, /\ban? $/i.test(found[0])) ?? readBareSeconds(found, rest);
    if (seconds !== null) return seconds;
  }
  for (const [, before = ""] of text.matchAll(leading)) {
    const seconds = sumParts(before);
    if (seconds !== null) return seconds;
  }
  return readForeignSpan(text);
}

/** @param single whether "a" or "an" stands before it */
function readSpan(text: string, single: boolean): number | null {
  const unit = single ? secondsOf.get(/^[a-z]{3,12}\b/i.exec(text)?.[0].toLowerCase() ?? "") : undefined;
  if (unit !== undefined) return unit;
  const half = secondsOf.get(halfPart.exec(text)?.[1]?.toLowerCase() ?? "");
  if (half !== undefined) return half / 2;
  const iso = /^PT?\d/.test(text) ? isoPart.exec(text) : null;
  if (iso) return [86_400, 3600, 60, 1].reduce((sum, unit, at) => sum + Number(iso[at + 1] ?? 0) * unit, 0);
  const [, hours, minutes, seconds] = clockPart.exec(text) ?? [];
  if (hours !== undefined) return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  const [, word = "", named = ""] = namedPart.exec(text) ?? [];
  const inUnits = secondsOf.get(named.toLowerCase());
  if (inUnits !== undefined) return (words.indexOf(word.toLowerCase()) + 1) * inUnits;
  return sumParts(text);
}

function count(digits = ""): number {
  return Number(digits.replaceAll(",", ""));
}

function sumParts(text: string): number | null {
  let rest = text;
  let sum: number | null = null;
  for (;;) {
    const found = compactPart.exec(rest) ?? part.exec(rest);
    const unit = secondsOf.get(found?.[2]?.toLowerCase() ?? "");
    if (!found || unit === undefined) return unknownPart.test(rest) ? null : sum;
    sum = (sum ?? 0) + count(found[1]) * unit;
    rest = rest.slice(found[0].length);
  }
}

/**
 * Reads a number without a unit, which means seconds only after `retry-after`, as in RFC 9110 section 10.2.3. One
 * before another word has a unit that is not known.
 */
function readBareSeconds({ groups }: RegExpExecArray, rest: string): number | null {
  if (groups?.["after"] === undefined && groups?.["proto"] === undefined) return null;
  const found = bareNumber.exec(rest);
  return found ? count(found[1]) : null;
}

function names(words: readonly string[], seconds: number): [string, number][] {
  return words.map((word) => [word, seconds]);
}
