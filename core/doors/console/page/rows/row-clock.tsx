import { clockOf } from "./clock-text.ts";

/**
 * The local time of a row beside it. Shown where the minute is another than in the row above; in the rows between it shows
 * with its seconds once the pointer or the focus is on the row, and is there for a screen reader.
 */
export function RowClock({ at, above }: { at: string; above: string | null }) {
  const { minute, seconds, day, isNewDay, isNewMinute, whole } = clockOf(at, above);
  return (
    <time class={isNewMinute ? "clock" : "clock same"} dateTime={at} title={whole}>
      {isNewDay && <span class="clock-day">{day}</span>}
      {minute}
      <span class="clock-seconds">{seconds}</span>
    </time>
  );
}
