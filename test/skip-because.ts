import type { TestContext } from "vitest";

/**
 * Skips a test for something that this machine lacks. The reason goes into the report as well: the end of a run counts the
 * tests skipped for each, and in `.ci/sum.mjs` a skip without one is red.
 */
export function skipBecause(context: TestContext, reason: string): never {
  Object.assign(context.task.meta, { skip_reason: reason });
  return context.skip(reason);
}
