import process from "node:process";
import type { TestContext } from "vitest";
import type { OsWallName } from "../../../../core/ground/platform/os-walls/os-wall.ts";
import { probeOsWalls } from "../../../../core/ground/platform/os-walls/probe.ts";
import { skipBecause } from "../../../skip-because.ts";

/**
 * Skips the test where the machine lacks a mechanism, and says why.
 * @throws {Error} where `BULKHEAD_EXPECT_WALLS`, a list with commas, names the mechanism: a machine that is there to prove
 *   that walls hold must not pass without them
 */
export async function needsWall(context: TestContext, name: OsWallName): Promise<void> {
  const wall = (await probeOsWalls()).get(name);
  if (wall?.active) return;
  const reason = wall?.reason ?? "it is unknown.";
  const expected = process.env["BULKHEAD_EXPECT_WALLS"]?.split(",") ?? [];
  if (expected.includes(name)) throw new Error(`"${name}" is expected here and is missing: ${reason}`);
  skipBecause(context, `${name} is missing here: ${reason}`);
}
