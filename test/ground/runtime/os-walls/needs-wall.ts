import type { TestContext } from "vitest";
import type { OsWallName } from "../../../../core/ground/runtime/os-walls/os-wall.ts";
import { probeOsWalls } from "../../../../core/ground/runtime/os-walls/probe.ts";

/** Skips the test where the machine lacks a mechanism, and says why: in the report too, where `.ci/sum.mjs` reads it. */
export async function needsWall(context: TestContext, name: OsWallName): Promise<void> {
  const wall = (await probeOsWalls()).get(name);
  if (wall?.active) return;
  const reason = `${name} is missing here: ${wall?.reason ?? "it is unknown."}`;
  Object.assign(context.task.meta, { skip_reason: reason });
  context.skip(reason);
}
