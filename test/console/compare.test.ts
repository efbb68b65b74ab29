import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  bestIn,
  type ComparedAgent,
  comparedFiles,
  relationText,
} from "../../core/doors/console/page/compare/compared-agent.ts";
import { axeFindings } from "./accessibility.ts";
import { openWholeConsole, pictures, type WholeConsole } from "./console-fixture.ts";
import { git } from "./git.ts";

let { host, opened, page, close } = {} as WholeConsole;

beforeAll(async () => {
  ({ host, opened, page, close } = await openWholeConsole());
  await mkdir(pictures, { recursive: true });
});
afterAll(() => close?.());

async function compare(adapters: readonly string[]): Promise<string> {
  const body = { prompt: "Compare us", workdir: host.workdir, adapters };
  const { id, session_ids } = await host.call<{ id: string; session_ids: string[] }>("POST", "/v1/comparisons", body);
  for (const one of session_ids) await (await host.client.open(one)).result();
  return id;
}

const agent = (name: string, more: Partial<ComparedAgent>): ComparedAgent => ({
  name,
  session_id: name,
  adapter_id: name,
  outcome: "completed",
  stop_reason: "end_turn",
  duration_ms: 1000,
  cost: null,
  currency: null,
  tokens: null,
  files_changed: 1,
  lines_added: 1,
  lines_removed: 0,
  confidence: null,
  worktree: "open",
  answer: "",
  tests: [],
  files: [],
  ...more,
});
const file = (path: string, sha256: string) => ({ path, sha256, change: "modified", kind: "file", bytes: 1 }) as const;

test("bestIn marks the least cost among those that completed, in one currency, and nothing where all are alike", () => {
  const cheap = agent("cheap", { cost: 0.01, currency: "USD", outcome: "error", duration_ms: 10 });
  const fair = agent("fair", { cost: 0.02, currency: "USD" });
  const dear = agent("dear", { cost: 0.3, currency: "USD" });
  expect([...bestIn([cheap, fair, dear], "cost")]).toEqual(["fair"]);
  expect([...bestIn([cheap, fair, dear], "outcome")]).toEqual(["fair", "dear"]);
  expect([...bestIn([fair, dear], "duration_ms")]).toEqual([]);
  expect([...bestIn([fair, agent("euro", { cost: 0.01, currency: "EUR" })], "cost")]).toEqual([]);
  expect([...bestIn([fair], "cost")]).toEqual([]);
  // One amount that is known is no better than those that are not.
  expect([...bestIn([fair, agent("unknown", {})], "cost")]).toEqual([]);
  const ran = (passed: boolean) => [{ seq: 1, command: "npm test", passed, counts: null }];
  const fails = agent("fails", { tests: ran(false) });
  expect([...bestIn([fails, fair], "tests")]).toEqual([]);
  expect([...bestIn([fails, fair, agent("passes", { tests: ran(true) })], "tests")]).toEqual(["passes"]);
});

test("comparedFiles tells who left a file alike, and puts what differs first", () => {
  const agents = [
    agent("codexa", { files: [file("src/parse.ts", "1"), file("same.ts", "5")] }),
    agent("gem-flash", { files: [file("src/parse.ts", "1"), file("same.ts", "5")] }),
    agent("sonnet-coder", { files: [file("src/parse.ts", "2"), file("same.ts", "5"), file("own.ts", "9")] }),
  ];
  expect(comparedFiles(agents).map((one) => [one.path, relationText(one)])).toEqual([
    ["own.ts", "sonnet-coder changed it, codexa, gem-flash left it"],
    ["src/parse.ts", "codexa = gem-flash, sonnet-coder differs"],
    ["same.ts", "all alike"],
  ]);
});

test("agents stand in one table, each file is compared between two, and one is adopted while the others go", async () => {
  const id = await compare(["works", "fails", "differs"]);
  await opened.go(`#/compare`);
  await page.locator(".session-row", { hasText: "works" }).filter({ hasText: "differs" }).waitFor();
  await opened.go(`#/compare/${id}`);
  const facts = page.getByRole("region", { name: "Facts of each agent" });
  const row = (name: string) => facts.locator("tr", { has: page.getByRole("rowheader", { name, exact: true }) });
  await row("Outcome").waitFor();
  const names = await facts.locator("thead th").allTextContents();
  const at = (name: string) => names.findIndex((one) => one.startsWith(name)) - 1;
  expect(await row("Outcome").locator("td.best").count()).toBe(2);
  expect(await row("Lines").locator("td").nth(at("works")).textContent()).toMatch(/\+3 −1/);
  expect(await row("Tests").locator("td").nth(at("works")).textContent()).toContain("✕ failed");
  expect(await row("Answer").locator("td").nth(at("works")).textContent()).toContain("One test about plurals");
  expect(await facts.textContent()).not.toMatch(/\?|undefined|null/);
  // A against B: the lines of one are those that the other has not.
  const list = page.locator(".compared-file", { hasText: "src/tally.js" });
  expect(await list.textContent()).toMatch(/works changed it, differs differs|differs changed it, works differs/);
  await list.click();
  const versus = page.locator(".versus");
  await versus.getByLabel("From").selectOption({ label: "works" });
  await versus.getByLabel("to").selectOption({ label: "differs" });
  await versus.locator("tr.removed", { hasText: "// Words, as a text." }).waitFor();
  await versus.locator("tr.added", { hasText: "export const tally" }).waitFor();
  await versus.getByLabel("From").selectOption({ label: "before" });
  await versus.locator("tr.removed", { hasText: "return words.length;" }).waitFor();
  for (const [name, width, height] of [["wide", 1440, 900], ["middle", 1024, 800], ["narrow", 390, 844]] as const) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(200);
      expect(await axeFindings(page)).toEqual([]);
      await page.screenshot({ path: join(pictures, `compare-${name}-${colorScheme}.png`) });
    }
  }
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.emulateMedia({ colorScheme: "light" });
  const adopt = row("Go on").locator("td").nth(at("works")).getByRole("button", { name: "Adopt …" });
  await adopt.click();
  const dialog = page.getByRole("dialog", { name: "Adopt the changes of works?" });
  await expect.poll(() => dialog.getByRole("listitem").allTextContents()).toEqual(["differs: 1 file (+1 −3)"]);
  await dialog.getByRole("button", { name: "Adopt works, discard 1 other" }).click();
  await page.screenshot({ path: join(pictures, "compare-undo.png") });
  await page.getByRole("status").getByRole("button", { name: "Undo" }).click();
  expect(await readFile(join(host.workdir, "src/tally.js"), "utf8")).not.toContain("// Words, as a text.");
  await adopt.click();
  await dialog.getByRole("button", { name: "Adopt works, discard 1 other" }).click();
  await page.getByText("The others are discarded.").waitFor({ timeout: 15_000 });
  expect(await readFile(join(host.workdir, "src/tally.js"), "utf8")).toContain("// Words, as a text.");
  await facts.getByText("adopted").waitFor();
  await facts.getByText("discarded").waitFor();
  const states = (await host.client.workspaces.list()).map(({ state }) => state).sort();
  expect(states).toEqual(["applied", "discarded", "discarded"]);
  await git(host.workdir, "checkout", "-q", "--", ".");
});

test("an adoption that meets a conflict discards nothing", async () => {
  const id = await compare(["works", "differs"]);
  await git(host.workdir, "rm", "-q", "src/tally.js");
  await git(host.workdir, "commit", "-q", "-m", "remove");
  await opened.go(`#/compare/${id}`);
  await page.getByRole("button", { name: "Adopt …" }).first().click();
  await page.getByRole("button", { name: /discard 1 other/ }).click();
  // To go away does not take it back.
  await opened.go("#/compare");
  await expect.poll(() => page.url()).toContain("#/review/");
  const open = (await host.client.workspaces.list()).filter(({ state }) => state === "open");
  expect(open).toHaveLength(2);
});
