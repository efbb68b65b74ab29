/** Year, month from 0, day, hour, minute and second on a clock. */
type ClockFields = readonly [number, number, number, number, number, number];

/** Zone of a clock: minutes east of Greenwich, the name of a zone, or this machine's zone. */
type Zone = number | string | "local";

/** A time of day and the text after it. */
interface ClockReading {
  hour: number;
  minutes: number;
  rest: string;
}

const clock = /^\s{0,2}(\d{1,2})(?::(\d\d))?(?::\d\d)?\s{0,2}([ap])\.?m\b\.?|^\s{0,2}(\d{1,2}):(\d\d)(?::\d\d)?(?!\d)/i;
const offset = /^\s{0,2}\(?(?:utc|gmt)?\s?([+-])(\d\d?)(?::?(\d\d))?(?!\d)/i;
const zulu = /^\s{0,2}\(?(?:utc|gmt|z)\b/i;
const named = /^\s{0,2}\(?([a-z_]{2,20}\/[a-z_]{2,30}(?:\/[a-z_]{2,30})?)/i;

/** Reads "12:29am", "3 pm" or "15:04" at the beginning of a text; null if there is none. */
export function readClock(text: string): ClockReading | null {
  const found = clock.exec(text);
  if (!found) return null;
  const half = found[3]?.toLowerCase();
  const hour = Number(found[1] ?? found[4]);
  const minutes = Number(found[2] ?? found[5] ?? 0);
  if (minutes > 59 || (half ? hour < 1 || hour > 12 : hour > 23)) return null;
  const shifted = half ? (hour % 12) + (half === "p" ? 12 : 0) : hour;
  return { hour: shifted, minutes, rest: text.slice(found[0].length) };
}

/**
 * Reads "Z", "(UTC)", "+02:00" or "(Europe/Berlin)" at the beginning of a text; otherwise returns this machine's zone.
 */
export function readZone(text: string): Zone {
  const found = offset.exec(text);
  if (found) return (found[1] === "-" ? -1 : 1) * (Number(found[2]) * 60 + Number(found[3] ?? 0));
  if (zulu.test(text)) return 0;
  return named.exec(text)?.[1] ?? "local";
}

/** Returns the milliseconds since 1970 at which a clock in that zone shows the fields; null for an unknown zone. */
export function zonedTime(fields: ClockFields, zone: Zone): number | null {
  const asUtc = finite(Date.UTC(...fields));
  if (asUtc === null) return null;
  if (zone === "local") return finite(new Date(...fields).getTime());
  if (typeof zone === "number") return asUtc - zone * 60_000;
  const shown = shownIn(zone, asUtc);
  return shown === null ? null : asUtc - (shown - asUtc);
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
