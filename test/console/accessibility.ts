import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const axeFile = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
let axe: Promise<string> | undefined;

interface AxeRun {
  violations: { id: string; impact: string | null; nodes: { target: unknown; failureSummary?: string }[] }[];
}

/** Returns all findings of axe on a page: also small ones, and what is too small to point at. */
export async function axeFindings(page: Page): Promise<string[]> {
  return sentences(await runAxe(page));
}

async function runAxe(page: Page): Promise<AxeRun["violations"]> {
  axe ??= readFile(axeFile, "utf8");
  // Through the debugger, so that the page's own policy stays in force.
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id });
  const inWorld = async (expression: string): Promise<unknown> => {
    const answer = await session.send("Runtime.evaluate", {
      expression,
      contextId: executionContextId,
      awaitPromise: true,
      returnByValue: true,
    });
    if (answer.exceptionDetails !== undefined) {
      throw new Error(answer.exceptionDetails.exception?.description ?? "axe failed");
    }
    return answer.result.value;
  };
  await inWorld(`${await axe};0`);
  const run = await inWorld(
    `axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } })`,
  ) as AxeRun;
  await session.detach();
  return run.violations;
}

function sentences(violations: AxeRun["violations"]): string[] {
  return violations.flatMap(({ id, nodes }) =>
    nodes.slice(0, 4).map(({ target, failureSummary }) =>
      `${id} at ${String(target)}: ${failureSummary?.split("\n").slice(1).join(" ").trim() ?? ""}`
    )
  );
}
