import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import "./shared-scripts.ts";

/** Makes what all files of a run have in common; gives how to remove it. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const scripts = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-scripts-")));
  project.provide("scripts", scripts);
  return () => rm(scripts, { recursive: true, force: true });
}
