const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Form of a typed time: a number of milliseconds, or one with a unit, such as `90s`. */
export const timePattern: RegExp = /^(\d{1,12}(?:\.\d+)?)(ms|s|m|h|d)?$/;

/** Reads a time typed with its unit as whole milliseconds; null for another form, and for a number alone. */
export function readTimeWithUnit(typed: string): number | null {
  return /[a-z]$/.test(typed) ? readTime(typed) : null;
}

/** Reads a typed time as whole milliseconds; null for another form. */
export function readTime(typed: string): number | null {
  const [, count, unit = "ms"] = timePattern.exec(typed) ?? [];
  return count === undefined ? null : Math.round(Number(count) * units[unit]!);
}
