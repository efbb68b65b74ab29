declare module "vitest" {
  interface TaskMeta {
    /** What the machine lacks; {@link skipBecause} sets it. */
    skip_reason?: string;
  }
}

/** One line for each reason that tests were skipped for, the most frequent first. */
export function skipLines(tests: readonly { skip_reason?: string }[]): string[] {
  const counts = new Map<string, number>();
  for (const { skip_reason } of tests) {
    if (skip_reason !== undefined) counts.set(skip_reason, (counts.get(skip_reason) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${count === 1 ? "1 test" : `${count} tests`} skipped: ${reason}`);
}
