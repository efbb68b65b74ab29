import type { UsageRow } from "../../../../../plugin-sdk/usage-row.ts";
import { type Costs, dayName, isIn, sumOf } from "./spend-sums.ts";

/** Days whose cost is the pace. */
const paceDays = 7;

/** Costs of this month, and where they lead. Costs of different kinds are never added up. */
interface Forecast {
  /** Its name. */
  month: string;
  soFar: Costs;
  /** At its end, if every day that is left costs as much as one of the last seven. */
  end: Costs;
  /** Sessions of this month of unknown cost. */
  unknown: number;
}

const months = new Intl.DateTimeFormat("en", { month: "long" });

/** Returns how many days, today included, a forecast is made of. */
export function forecastDays(now: Date): number {
  return Math.max(paceDays, now.getDate());
}

/** Adds up this month and carries it on at the pace of the last seven days. Days begin here, not in UTC. */
export function forecastOf(
  rows: readonly UsageRow[],
  { currency, now }: { currency: string; now: Date },
): Forecast {
  const [year, month, date] = [now.getFullYear(), now.getMonth(), now.getDate()];
  // Noon: no change of the clock makes it another day.
  const name = (day: number) => dayName(new Date(year, month, day, 12));
  const between = (first: string) => sumOf(rows.filter((row) => isIn(row, { first, last: name(date) })), currency);
  const [soFar, pace] = [between(name(1)), between(name(date - paceDays + 1))];
  const left = new Date(year, month + 1, 0).getDate() - date;
  const endOf = (kind: keyof Costs) => soFar[kind] + pace[kind] / paceDays * left;
  return {
    month: months.format(now),
    soFar: { wire: soFar.wire, reported: soFar.reported, estimated: soFar.estimated },
    end: { wire: endOf("wire"), reported: endOf("reported"), estimated: endOf("estimated") },
    unknown: soFar.by.unknown,
  };
}
