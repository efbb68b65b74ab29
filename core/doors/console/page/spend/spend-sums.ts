import { costKind, type UsageRow } from "../../../../../plugin-sdk/usage-row.ts";

/** One bar: a day, or a week from its Monday. Its days are written as in `UsageRow.day`. */
export interface DaySpan {
  first: string;
  last: string;
  /** Day of the week, month and day; of a week those of its first day. */
  names: [weekday: string, month: string, day: string];
  /** The whole name, for a heading. */
  title: string;
}

/** Costs of some rows in one currency. Costs of different kinds are never added up. */
export interface Costs {
  /** Of tokens that the host counted itself. */
  wire: number;
  reported: number;
  estimated: number;
}

/** Usage of some rows. */
export interface UsageSum extends Costs {
  sessions: number;
  /** Sessions by what is known of their cost. */
  by: Record<ReturnType<typeof costKind>, number>;
  /** Null where no agent told them. */
  tokens_in: number | null;
  tokens_out: number | null;
  tokens_cached: number | null;
  requests: number | null;
  partial: number;
}

/** Bars beyond this many are weeks: else none is wide enough to be pointed at. */
const mostDays = 31;

const weekdays = new Intl.DateTimeFormat("en", { weekday: "short" });
const months = new Intl.DateTimeFormat("en", { month: "short" });
const dates = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const wholes = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long" });

/** Returns the bars of the last days, the oldest first. Days begin here, not in UTC. */
export function spansOf(days: number, now: Date = new Date()): DaySpan[] {
  const all = Array.from({ length: days }, (_, at) => {
    // Noon: a day of 23 hours must not be left out.
    return new Date(now.getFullYear(), now.getMonth(), now.getDate() - (days - 1 - at), 12);
  });
  if (days <= mostDays) return all.map((day) => spanOf(day, day));
  const mondays = all.filter((day, at) => at === 0 || day.getDay() === 1);
  return mondays.map((monday, at) => {
    const next = mondays[at + 1];
    return spanOf(monday, next === undefined ? all.at(-1) ?? monday : new Date(next.getTime() - 24 * 3_600_000));
  });
}

function spanOf(first: Date, last: Date): DaySpan {
  const isDay = first === last;
  return {
    first: dayName(first),
    last: dayName(last),
    names: [isDay ? weekdays.format(first) : "from", months.format(first), String(first.getDate())],
    title: isDay ? wholes.format(first) : `${dates.format(first)} to ${dates.format(last)}`,
  };
}

/** Returns the bar of one day, by its name as in `UsageRow.day`. */
export function dayOf(name: string): DaySpan {
  // Noon, so that no zone makes it another day.
  const day = new Date(`${name}T12:00:00`);
  return spanOf(day, day);
}

/** Names a local day as `UsageRow.day` does. */
export function dayName(day: Date): string {
  const two = (number: number) => String(number).padStart(2, "0");
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

/** Whether a row is of a span. */
export function isIn({ day }: Pick<UsageRow, "day">, { first, last }: Pick<DaySpan, "first" | "last">): boolean {
  return first <= day && day <= last;
}

/** Adds up rows. Costs count where they are in this currency. */
export function sumOf(rows: readonly UsageRow[], currency: string | null): UsageSum {
  const sum: UsageSum = {
    wire: 0,
    reported: 0,
    estimated: 0,
    sessions: 0,
    by: { wire: 0, reported: 0, estimated: 0, not_billed: 0, unknown: 0 },
    tokens_in: null,
    tokens_out: null,
    tokens_cached: null,
    requests: null,
    partial: 0,
  };
  for (const row of rows) {
    const kind = costKind(row);
    sum.sessions += row.sessions;
    sum.by[kind] += row.sessions;
    sum.partial += row.partial;
    if (isCost(kind) && row.currency === currency) sum[kind] += row.cost ?? 0;
    for (const name of ["tokens_in", "tokens_out", "tokens_cached", "requests"] as const) {
      if (row[name] !== null) sum[name] = (sum[name] ?? 0) + row[name];
    }
  }
  return sum;
}

function isCost(kind: ReturnType<typeof costKind>): kind is keyof Costs {
  return kind === "wire" || kind === "reported" || kind === "estimated";
}

/** Returns the length of a bar: the kinds stand on one another. */
export function heightOf({ wire, reported, estimated }: Costs): number {
  return wire + reported + estimated;
}

/** Returns the currencies of the rows, the one with the most sessions first. */
export function currenciesOf(rows: readonly UsageRow[]): string[] {
  const counts = new Map<string, number>();
  for (const { currency, cost, sessions } of rows) {
    if (currency !== null && cost !== null) counts.set(currency, (counts.get(currency) ?? 0) + sessions);
  }
  return [...counts].sort((a, b) => b[1] - a[1]).map(([currency]) => currency);
}

/** Puts rows together by a name of theirs, the most expensive first, then the one with the most sessions. */
export function grouped(
  rows: readonly UsageRow[],
  nameOf: (row: UsageRow) => string | null,
  currency: string | null,
): { name: string | null; sum: UsageSum }[] {
  const groups = new Map<string | null, UsageRow[]>();
  for (const row of rows) groups.set(nameOf(row), [...groups.get(nameOf(row)) ?? [], row]);
  return [...groups].map(([name, some]) => ({ name, sum: sumOf(some, currency) })).sort((a, b) =>
    heightOf(b.sum) - heightOf(a.sum) || b.sum.sessions - a.sum.sessions ||
    (a.name ?? "").localeCompare(b.name ?? "")
  );
}
