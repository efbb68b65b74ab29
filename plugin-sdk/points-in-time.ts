import { readClock, readZone, zonedTime } from "./zoned-time.ts";

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const minute = 60_000;
const day = 86_400_000;

// Every repeat below is bounded, so matching stays linear in the text.
const trigger = /(?<![a-z])(?:resets?(?:at|time)?|retry(?:after)?|again|available|until|wait|reached(?=\|))(?![a-z])/gi;
const filler = new RegExp(
  "^(?:[-_\\s:=\"'|]{0,4}(?:resets?|time|timestamp|again|after|at|on|until|is|will|be|available)(?![a-z])){0,6}" +
    "[-_\\s:=\"'|(]{0,4}",
  "i",
);
const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)(?:(?:[t ]|,? at )(\d\d):(\d\d)(?::(\d\d))?(?:\.\d{1,9})?)?/i;
const httpDate = /^(?:mon|tue|wed|thu|fri|sat|sun), (\d\d) ([a-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) gmt/i;
const wordDate = /^([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?(?:,? (?:at )?)?/i;
const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const namedDay = /^((?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?),? (?:at )?/i;
const unixTime = /^(\d{10}|\d{13})(?!\d)/;

/**
 * Returns the first time at which a text says that a limit resets, in milliseconds since 1970: RFC 3339, an HTTP date
 * (RFC 9110), unix seconds or milliseconds, "12:29am (UTC)", "Nov 22nd, 2026 12:29 AM". A time without a zone is read
 * in this machine's zone; one without a date is the next such time after `now`. Null if there is none.
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
  return readHttpDate(text) ?? readRfc3339(text) ?? readWordDate(text, now) ?? readNamedDay(text, now) ??
    readTimeOfDay(text, now);
}

function readHttpDate(text: string): number | null {
  const found = httpDate.exec(text);
  if (!found) return null;
  const month = months.indexOf(found[2]!.toLowerCase());
  if (month < 0) return null;
  return Date.UTC(Number(found[3]), month, Number(found[1]), Number(found[4]), Number(found[5]), Number(found[6]));
}

function readRfc3339(text: string): number | null {
  const found = rfc3339.exec(text);
  if (!found) return null;
  const [year, month, date, hour, minutes, seconds] = found.slice(1).map((field) => Number(field ?? 0));
  const zone = readZone(text.slice(found[0].length));
  return zonedTime([year!, month! - 1, date!, hour!, minutes!, seconds!], zone);
}

function readWordDate(text: string, now: number): number | null {
  const found = wordDate.exec(text);
  const month = months.indexOf(found?.[1]?.slice(0, 3).toLowerCase() ?? "");
  if (!found || month < 0) return null;
  const clock = readClock(text.slice(found[0].length));
  const zone = readZone(clock?.rest ?? text.slice(found[0].length));
  const at = (year: number) =>
    zonedTime([year, month, Number(found[2]), clock?.hour ?? 0, clock?.minutes ?? 0, 0], zone);
  if (found[3]) return at(Number(found[3]));
  const year = new Date(now).getUTCFullYear();
  const thisYear = at(year);
  return thisYear !== null && thisYear < now - day ? at(year + 1) : thisYear;
}

/** Reads "Mon 12:00am (UTC)". */
function readNamedDay(text: string, now: number): number | null {
  const found = namedDay.exec(text);
  const clock = found && readClock(text.slice(found[0].length));
  if (!clock) return null;
  const zone = readZone(clock.rest);
  const weekday = days.indexOf(found[1]!.slice(0, 3).toLowerCase());
  for (let shift = -1; shift <= 8; shift++) {
    const fields = fieldsOn(now, clock, shift);
    const at = zonedTime(fields, zone);
    const isDay = new Date(Date.UTC(fields[0], fields[1], fields[2])).getUTCDay() === weekday;
    if (isDay && at !== null && at > now - minute) return at;
  }
  return null;
}

function readTimeOfDay(text: string, now: number): number | null {
  const clock = readClock(text);
  if (!clock) return null;
  const zone = readZone(clock.rest);
  // In the given zone it may still be yesterday or already tomorrow, so try three days and keep the first future one.
  for (const shift of [-1, 0, 1]) {
    const date = new Date(now + shift * day);
    const at = zonedTime(
      [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), clock.hour, clock.minutes, 0],
      zone,
    );
    // A time given to the minute may have passed seconds ago.
    if (at !== null && at > now - minute) return at;
  }
  return null;
}

function fieldsOn(now: number, clock: { hour: number; minutes: number }, shift: number) {
  const date = new Date(now + shift * day);
  return [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), clock.hour, clock.minutes, 0] as const;
}
