import { type ClockReading, readClock, readZone, type Zone, zonedTime } from "./zoned-time.ts";

const months = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
];
const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const minute = 60_000;
const dayMs = 86_400_000;

// Every repeat below is bounded, so matching stays linear in the text.
const trigger =
  /(?<![a-z])(?:(?:quota)?resets?(?:at|on|time(?:stamp)?|date)?(?:_?ms)?|renews?|renewed|refreshes|restored|lifted|unlocks?|resumes?|retry(?:after)?|again|available|until|wait|back|access|(?:reached|exceeded|exhausted|hit)(?=\|)|(?=tomorrow(?:,| at)? \d))(?![a-z])|(?<=\btomorrow at )|\b(?:cycle|period) ends(?![a-z])|(?<![a-zà-ÿ])(?:um|a las?|à|às|alle)(?= \d{1,2}:\d\d)|将[在于]|リセット/gi;
const filler = new RegExp(
  "^(?:[-_\\s:=\"'|,]{0,4}(?:resets?|time|timestamp|date|again|after|at|on|until|is|will|be|available|restored|next|this" +
    "|from|by|around|about|approximately|or)(?![a-z])){0,6}[-_\\s:=\"'|(,]{0,4}",
  "i",
);
const yearFirst = /^(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?!\d)/;
const dayFirst = /^(\d{1,2})([./])(\d{1,2})\2(\d{4})(?!\d)/;
const weekday = /^([a-z]{3,9})\b\.?(?:,? (?:the )?|(?=[^a-z ]|$))/i;
const monthDay = /^([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?![\d:])(?:,? (\d{4})(?!\d))?/i;
const dayMonth = /^(\d{1,2})(?:st|nd|rd|th)? (?:of )?([a-z]{3,9})\b\.?(?:,? (\d{4})(?!\d))?/i;
const relative = /^(today|tonight|tomorrow)\b/i;
/** "Monday at 8": an hour of the day's 24. */
const bareHour = /^([\s,]{1,3}at )(\d{1,2})(?![\d:]|\.\d|\s{0,2}[ap]\.?m\b)/i;
const joint = /^(?:[\s,]{1,3}(?:at |@ ?|by )?|t(?=\d))/i;
const unixTime = /^(\d{10}|\d{13})(?!\d)/;

/** A day as a text names it; in words, the first such day from now. */
type Day =
  | { kind: "date"; year: number | null; month: number; date: number }
  | { kind: "weekday"; weekday: number }
  | { kind: "relative"; shift: number }
  | { kind: "next" };

/** A day, and the text after it. */
interface DayReading {
  day: Day;
  rest: string;
}

/**
 * Returns the first time at which a text says that a limit resets, in milliseconds since 1970: RFC 3339, an HTTP date
 * (RFC 9110), unix seconds or milliseconds, "12:29am (UTC)", "Nov 22nd, 2026 12:29 AM", "Monday 9am", "tomorrow at
 * 09:00". A time without a zone is read in this machine's zone; one without a date is the next such time after `now`,
 * and a day without a time begins at midnight. Null if there is none.
 */
export function readPointInTime(text: string, now: number): number | null {
  for (const found of text.matchAll(trigger)) {
    const start = found.index + found[0].length;
    const rest = text.slice(start, start + 160);
    const at = readMoment(rest.slice(filler.exec(rest)?.[0].length ?? 0), now);
    if (at !== null) return at;
  }
  return null;
}

function readMoment(text: string, now: number): number | null {
  const unix = unixTime.exec(text)?.[1];
  if (unix) return unix.length === 13 ? Number(unix) : Number(unix) * 1000;
  const named = readDay(text);
  const clock = readClock(named === null ? text : skip(named.rest.replace(bareHour, "$1$2:00"), joint));
  if (named === null && clock === null) return null;
  const zone = readZone(clock?.rest ?? named?.rest ?? "");
  if (zone === null) return null;
  const later = named === null && clock !== null ? readDay(skip(clock.after, /^[\s,]{0,2}(?:on )?/)) : null;
  return timeOf(named?.day ?? later?.day ?? { kind: "next" }, { clock, zone, now });
}

function skip(text: string, start: RegExp): string {
  return text.slice(start.exec(text)?.[0].length ?? 0);
}

function readDay(text: string): DayReading | null {
  const rest = (found: RegExpExecArray) => text.slice(found[0].length);
  const near = relative.exec(text);
  if (near) {
    return { day: { kind: "relative", shift: near[1]!.toLowerCase() === "tomorrow" ? 1 : 0 }, rest: rest(near) };
  }
  const ordered = yearFirst.exec(text);
  if (ordered) return date({ year: ordered[1], month: Number(ordered[3]) - 1, of: ordered[4] }, rest(ordered));
  const numbers = dayFirst.exec(text);
  if (numbers) return readNumbers(numbers, rest(numbers));
  const byMonth = monthDay.exec(text);
  const month = nameIn(months, byMonth?.[1]);
  if (byMonth && month >= 0) return date({ year: byMonth[3], month, of: byMonth[2] }, rest(byMonth));
  const byDay = dayMonth.exec(text);
  const itsMonth = nameIn(months, byDay?.[2]);
  if (byDay && itsMonth >= 0) return date({ year: byDay[3], month: itsMonth, of: byDay[1] }, rest(byDay));
  const named = weekday.exec(text);
  const index = nameIn(days, named?.[1]);
  if (!named || index < 0) return null;
  const after = readDay(rest(named));
  if (after?.day.kind === "date") return after;
  return { day: { kind: "weekday", weekday: index }, rest: text.slice(named[1]!.length) };
}

/** Reads "11/29/2026", which is American, and "29.11.2026". */
function readNumbers([, first = "", dot, second = "", year]: RegExpExecArray, rest: string): DayReading | null {
  const isDayFirst = dot === "." || Number(first) > 12;
  return date({ year, month: Number(isDayFirst ? second : first) - 1, of: isDayFirst ? first : second }, rest);
}

function date(
  { year, month, of }: { year: string | undefined; month: number; of: string | undefined },
  rest: string,
): DayReading | null {
  const dayOfMonth = Number(of);
  if (month < 0 || month > 11 || dayOfMonth < 1 || dayOfMonth > 31) return null;
  return { day: { kind: "date", year: year === undefined ? null : Number(year), month, date: dayOfMonth }, rest };
}

/** Returns the place of a name or its beginning of three letters or more; -1 for another word. */
function nameIn(names: readonly string[], word = ""): number {
  return word.length < 3 ? -1 : names.findIndex((name) => name.startsWith(word.toLowerCase()));
}

interface TimeOfDay {
  clock: ClockReading | null;
  zone: Zone;
  now: number;
}

function timeOf(day: Day, { clock, zone, now }: TimeOfDay): number | null {
  const { hour = 0, minutes = 0, seconds = 0 } = clock ?? {};
  const on = (year: number, month: number, date: number) =>
    zonedTime([year, month, date, hour, minutes, seconds], zone);
  if (day.kind === "date") return timeOfDate(day, on, now);
  const today = dateIn(zone, now);
  const shifted = (shift: number) => on(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate() + shift);
  if (day.kind === "relative") {
    const at = shifted(day.shift);
    // "Tonight at midnight" is the end of today.
    return at !== null && day.shift === 0 && hour === 0 && at < now ? shifted(1) : at;
  }
  for (let shift = 0; shift <= 7; shift++) {
    const isDay = day.kind === "next" || (today.getUTCDay() + shift) % 7 === day.weekday;
    const at = isDay ? shifted(shift) : null;
    // A time given to the minute may have passed seconds ago.
    if (at !== null && at > now - minute) return at;
  }
  return null;
}

/** Returns the time on a date; without a year, the next such date. */
function timeOfDate(
  { year, month, date }: Extract<Day, { kind: "date" }>,
  on: (year: number, month: number, date: number) => number | null,
  now: number,
): number | null {
  if (year !== null) return on(year, month, date);
  const thisYear = new Date(now).getUTCFullYear();
  const at = on(thisYear, month, date);
  return at !== null && at < now - dayMs ? on(thisYear + 1, month, date) : at;
}

/** Returns the date that the zone's calendar shows now, as if it were UTC. */
function dateIn(zone: Zone, now: number): Date {
  for (const shift of [1, 0]) {
    const date = new Date(now + shift * dayMs);
    const begins = zonedTime([date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), 0, 0, 0], zone);
    if (begins !== null && begins <= now) return date;
  }
  return new Date(now - dayMs);
}
