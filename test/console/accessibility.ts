import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const axeFile = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
let axe: Promise<string> | undefined;

interface AxeRun {
  violations: { id: string; impact: string | null; nodes: { target: unknown; failureSummary?: string }[] }[];
}

/** Serious and critical findings of axe on a page, each a sentence; of the size of what is clicked on request. */
export async function graveFindings(page: Page, { targets = false }: { targets?: boolean } = {}): Promise<string[]> {
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
    `axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: ${targets} } } })`,
  ) as AxeRun;
  await session.detach();
  return run.violations.filter(({ impact }) => impact === "serious" || impact === "critical").flatMap(({ id, nodes }) =>
    nodes.slice(0, 4).map(({ target, failureSummary }) =>
      `${id} at ${String(target)}: ${failureSummary?.split("\n").slice(1).join(" ").trim() ?? ""}`
    )
  );
}
