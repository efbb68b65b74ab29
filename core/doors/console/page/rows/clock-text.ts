const clock = new Intl.DateTimeFormat("en", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const toTheMinute = { day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;

/** Writes a time with its day, in short: "Sun, Nov 29, 14:05". */
export const shortTimes = new Intl.DateTimeFormat("en", { weekday: "short", month: "short", ...toTheMinute });

/** Writes a time with its day, in full. */
export const longTimes = new Intl.DateTimeFormat("en", { weekday: "long", month: "long", ...toTheMinute });

const days = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const wholes = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

/** The local time of a row, and what of it differs from the row above. */
interface RowTime {
  /** Hour and minute. */
  minute: string;
  /** The seconds, with the sign before them. */
  seconds: string;
  day: string;
  isNewDay: boolean;
  isNewMinute: boolean;
  whole: string;
}

/**
 * Returns the local time of a row.
 * @param above time of the row above it; null where that is not known
 */
export function clockOf(at: string, above: string | null): RowTime {
  const time = Date.parse(at);
  if (Number.isNaN(time)) {
    return { minute: "", seconds: "", day: "", isNewDay: false, isNewMinute: false, whole: at.slice(0, 64) };
  }
  const before = above === null ? Number.NaN : Date.parse(above);
  const text = clock.format(time);
  const isKnown = !Number.isNaN(before);
  return {
    minute: text.slice(0, 5),
    seconds: text.slice(5),
    day: days.format(time),
    isNewDay: isKnown && days.format(before) !== days.format(time),
    isNewMinute: !isKnown || clock.format(before).slice(0, 5) !== text.slice(0, 5) || Math.abs(time - before) > 60_000,
    whole: wholes.format(time),
  };
}
