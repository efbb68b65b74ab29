import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { takeOwnEnvironment } from "./own-environment.ts";
import { skipLines } from "./skip-lines.ts";
import "./shared-scripts.ts";

/** Makes what all files of a run have in common; gives how to remove it. Vitest calls it for each project of a run. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const putBack = await takeOwnEnvironment();
  const scripts = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-scripts-")));
  project.provide("scripts", scripts);
  return async () => {
    await rm(scripts, { recursive: true, force: true });
    await putBack();
    tellSkips(project);
  };
}

/** Says at the end of a run, once for all its projects, what was skipped and why. */
function tellSkips(project: TestProject): void {
  const modules = project.vitest.state.getTestModules();
  const ran = new Set(modules.map((module) => module.project));
  // They are torn down in reverse order.
  if (project !== project.vitest.projects.find((one) => ran.has(one))) return;
  const tests = modules.flatMap((module) => [...module.children.allTests("skipped")]);
  for (const line of skipLines(tests.map((test) => test.meta()))) console.error(line);
}
