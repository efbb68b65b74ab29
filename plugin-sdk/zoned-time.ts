/** Year, month from 0, day, hour, minute and second on a clock. */
type ClockFields = readonly [number, number, number, number, number, number];

/** Zone of a clock: minutes east of Greenwich, the name of a zone, or this machine's zone. */
export type Zone = number | string | "local";

/** A time of day, the text after it, and the text after its zone. */
export interface ClockReading {
  hour: number;
  minutes: number;
  seconds: number;
  rest: string;
  after: string;
}

const clock =
  /^\s{0,2}(?:(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s{0,2}([ap])\.?m\b\.?|(\d{1,2}):(\d\d)(?::(\d\d))?(?!\d)(?:\.\d{1,9})?|(noon|midnight)\b)/i;
const offset = /^\s{0,2}\(?(?:utc|gmt)?\s?([+-])(\d\d?)(?::?(\d\d))?(?!\d)\)?/i;
const zulu = /^\s{0,2}\(?(?:utc|gmt|z)\b\)?/i;
const named = /^\s{0,2}\(?([a-z_]{2,20}\/[a-z_]{2,30}(?:[-/][a-z_]{2,30})?)\)?/i;
const short =
  /^\s{0,2}\(?((?:Pacific|Mountain|Central|Eastern)(?= |\)|$)|[A-Z]{1,4}T\b)(?: (?:standard |daylight )?time)?\)?/;
const unknown = /^\s{0,2}\([A-Z]{2,5}\)/;

/** Zones by the short names that people know them by, without those that stand for several. */
const zones: Readonly<Record<string, Zone>> = {
  PT: "America/Los_Angeles",
  Pacific: "America/Los_Angeles",
  PST: -480,
  PDT: -420,
  MT: "America/Denver",
  Mountain: "America/Denver",
  MST: -420,
  MDT: -360,
  CT: "America/Chicago",
  Central: "America/Chicago",
  CST: -360,
  CDT: -300,
  ET: "America/New_York",
  Eastern: "America/New_York",
  EST: -300,
  EDT: -240,
  WET: 0,
  CET: 60,
  CEST: 120,
  EET: 120,
  EEST: 180,
  SGT: 480,
  HKT: 480,
  JST: 540,
  KST: 540,
  AEST: 600,
  AEDT: 660,
};

/** Reads "12:29am", "3 pm", "15:04" or "midnight" at the beginning of a text; null if there is none. */
export function readClock(text: string): ClockReading | null {
  const found = clock.exec(text);
  if (!found) return null;
  const rest = text.slice(found[0].length);
  const of = (hour: number, minutes = 0, seconds = 0) => ({ hour, minutes, seconds, rest, after: afterZone(rest) });
  if (found[8]) return of(found[8].toLowerCase() === "noon" ? 12 : 0);
  const half = found[4]?.toLowerCase();
  const hour = Number(found[1] ?? found[5]);
  const minutes = Number(found[2] ?? found[6] ?? 0);
  const seconds = Number(found[3] ?? found[7] ?? 0);
  if (minutes > 59 || seconds > 60 || (half ? hour < 1 || hour > 12 : hour > 23 && !(hour === 24 && minutes === 0))) {
    return null;
  }
  return of(half ? (hour % 12) + (half === "p" ? 12 : 0) : hour, minutes, seconds);
}

/**
 * Reads "Z", "(UTC)", "+02:00", "PST" or "(Europe/Berlin)" at the beginning of a text; null for the short name of a
 * zone that is not known, and this machine's zone where none is named.
 */
export function readZone(text: string): Zone | null {
  const found = offset.exec(text);
  if (found) return (found[1] === "-" ? -1 : 1) * (Number(found[2]) * 60 + Number(found[3] ?? 0));
  if (zulu.test(text)) return 0;
  const name = named.exec(text)?.[1];
  if (name !== undefined) return name;
  const abbreviation = short.exec(text)?.[1];
  if (abbreviation !== undefined) return Object.hasOwn(zones, abbreviation) ? zones[abbreviation]! : null;
  return unknown.test(text) ? null : "local";
}

function afterZone(text: string): string {
  const found = offset.exec(text) ?? zulu.exec(text) ?? named.exec(text) ?? short.exec(text);
  return text.slice(found?.[0].length ?? 0);
}

/** Returns the milliseconds since 1970 at which a clock in that zone shows the fields; null for an unknown zone. */
export function zonedTime(fields: ClockFields, zone: Zone): number | null {
  const asUtc = finite(Date.UTC(...fields));
  if (asUtc === null) return null;
  if (zone === "local") return finite(new Date(...fields).getTime());
  if (typeof zone === "number") return asUtc - zone * 60_000;
  const shown = shownIn(zone, asUtc);
  if (shown === null) return null;
  // On the day on which the clocks change, the zone's offset at that instant counts.
  const near = asUtc - (shown - asUtc);
  const there = shownIn(zone, near);
  return there === null ? null : near + asUtc - there;
}

/** Returns the time that a clock in the zone shows at that instant, as if it were UTC. */
function shownIn(timeZone: string, at: number): number | null {
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    const parts = new Map(format.formatToParts(at).map((part) => [part.type, Number(part.value)]));
    const of = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
    return finite(Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second")));
  } catch {
    // An unknown zone, or a compartment without Intl.
    return null;
  }
}

function finite(time: number): number | null {
  return Number.isFinite(time) ? time : null;
}
