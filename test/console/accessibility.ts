import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const axeFile = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
let axe: Promise<string> | undefined;

interface AxeRun {
  violations: { id: string; impact: string | null; nodes: { target: unknown; failureSummary?: string }[] }[];
}

/** Returns all findings of axe on a page, or on a part of it: also small ones, and what is too small to point at. */
export async function axeFindings(page: Page, scope: Scope = {}): Promise<string[]> {
  return sentences(await runAxe(page, scope));
}

interface Scope {
  /** Selector of the part; absent: the whole page. */
  part?: string;
  /** Absent: all rules. */
  rules?: readonly string[];
}

type World = (expression: string) => Promise<unknown>;
const worlds = new WeakMap<Page, World>();

async function runAxe(page: Page, { part, rules }: Scope): Promise<AxeRun["violations"]> {
  const options = {
    resultTypes: ["violations"],
    ...(rules === undefined ? {} : { runOnly: rules }),
    rules: { "target-size": { enabled: true } },
  };
  const run = `axe.run(${part === undefined ? "document" : JSON.stringify(part)}, ${JSON.stringify(options)})`;
  const known = worlds.get(page);
  // It goes with a load of the page.
  const isThere = known !== undefined && await known("typeof axe").then((type) => type === "object", () => false);
  const world = isThere ? known : await openWorld(page);
  worlds.set(page, world);
  return (await world(run) as AxeRun).violations;
}

/** Opens a world with axe in it, beside the page's own: through the debugger, so that the page's policy stays in force. */
async function openWorld(page: Page): Promise<World> {
  axe ??= readFile(axeFile, "utf8");
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id });
  const inWorld: World = async (expression) => {
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
  return inWorld;
}

function sentences(violations: AxeRun["violations"]): string[] {
  return violations.flatMap(({ id, nodes }) =>
    nodes.slice(0, 4).map(({ target, failureSummary }) =>
      `${id} at ${String(target)}: ${failureSummary?.split("\n").slice(1).join(" ").trim() ?? ""}`
    )
  );
}
