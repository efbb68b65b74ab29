import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeFindings } from "./accessibility.ts";
import { closeConsole, openConsole, openWholeConsole, pictures, type WholeConsole } from "./console-fixture.ts";

let { host, browser, close } = {} as WholeConsole;
let whole = "";

beforeAll(async () => {
  ({ host, browser, close } = await openWholeConsole());
  const request = { workdir: host.workdir, prompt: "Delegate it" };
  const session = await host.client.start(request, { adapter: "delegates", artifacts: "none" });
  await session.result();
  whole = session.id;
});
afterAll(() => close?.());

/** Goes through a timeline from its beginning to its end; returns each row's class with its first event, once. */
async function allRows(page: Page): Promise<string[]> {
  await page.locator(".timeline .row").first().waitFor();
  return await page.evaluate<string[]>(`new Promise((done) => {
    const list = document.querySelector(".timeline");
    const seen = new Set();
    list.scrollTop = 0;
    let still = 0;
    const look = () => {
      for (const row of list.querySelectorAll(".block > .row")) seen.add(row.className.split(" ")[1] + " " + row.dataset.seq);
      const before = list.scrollTop;
      if (!list.querySelector(".block-unknown")) list.scrollTop += 300;
      still = list.scrollTop === before ? still + 1 : 0;
      if (still > 20) done([...seen].sort((a, b) => a.split(" ")[1] - b.split(" ")[1]));
      else setTimeout(look, 30);
    };
    setTimeout(look, 300);
  })`);
}

const rowsOf = (rows: readonly string[], kind: string) => rows.filter((row) => row.startsWith(`row-${kind} `));

test("a plan, an agent's agent, reads and a text are one row each, however many events lie between", async () => {
  const one = await openConsole(browser, host);
  await one.go(`#/sessions/${whole}`);
  const rows = await allRows(one.page);
  expect(rowsOf(rows, "plan")).toHaveLength(1);
  expect(rowsOf(rows, "agent")).toEqual([]);
  // The answer, far below, stands with its call.
  expect(rowsOf(rows, "tool")).toHaveLength(1);
  expect(rowsOf(rows, "reads")).toHaveLength(1);
  expect(rowsOf(rows, "text")).toHaveLength(1);
  const plan = one.page.locator(".row-plan");
  await plan.getByText("3 of 5 done").waitFor();
  await plan.getByText("Change the test", { exact: true }).first().waitFor();
  await plan.getByText("5 updates").waitFor();
  expect(await one.page.locator(".row-text td").count()).toBe(60);
  await closeConsole(one);
});

test("the row of an agent's agent tells how it ended, and has all that it did when it is opened", async () => {
  const one = await openConsole(browser, host);
  await one.go(`#/sessions/${whole}`);
  await allRows(one.page);
  await one.page.locator(".timeline").evaluate((list: { scrollTop: number }) => void (list.scrollTop = 2000));
  const agent = one.page.locator(".tool-agents > details");
  await agent.locator("summary").getByText("130 calls").waitFor();
  await one.page.locator(".row-tool > .row-body > .tool-ok", { hasText: "Task" }).waitFor();
  expect(await agent.getAttribute("class")).toContain("tool-ok");
  await agent.locator("summary").first().click();
  await agent.getByText("caller-1", { exact: true }).waitFor();
  await agent.getByRole("button", { name: "Show more of it" }).click();
  await agent.getByText("caller-130", { exact: true }).waitFor();
  await agent.getByText("There are 130 callers.").waitFor();
  expect(await agent.locator(".row-tool").count()).toBe(130);
  expect(await agent.getByRole("button", { name: "Show more of it" }).count()).toBe(0);
  await closeConsole(one);
});

test("a text that is found inside of a folded row is shown at its place", async () => {
  const one = await openConsole(browser, host);
  await one.go(`#/sessions/${whole}`);
  const find = one.page.getByRole("searchbox", { name: "Find in this session" });
  const target = one.page.locator(".row[data-target]").first();
  const found = async (text: string) => {
    await find.fill(text);
    await one.page.locator(".find-count", { hasText: /^\d/ }).waitFor();
    await find.press("Enter");
  };
  await found("needle of the explorer");
  await target.locator("summary", { hasText: "Agent Explorer" }).waitFor();
  // Its call is the last event of the block before.
  await target.locator(".row[data-target]", { hasText: "caller-67" }).waitFor();
  // The answer of a call, which stands in the row of the call.
  await found("130 callers");
  await target.locator("summary", { hasText: /Agent Explorer|Task/ }).first().waitFor();
  // A step of a plan as it was: the first hit is not the newest one.
  await found("Ask an explorer");
  await target.getByText("0 of 5 done").waitFor();
  await target.getByText("as it was here").waitFor();
  await closeConsole(one);
});

test("a plan that changes while a page follows the session has one row all the time", async () => {
  const request = { workdir: host.workdir, prompt: "Delegate it and wait" };
  const session = await host.client.start(request, { adapter: "delegates", artifacts: "none" });
  const one = await openConsole(browser, host);
  await one.go(`#/sessions/${session.id}`);
  await one.page.locator(".row-plan").first().waitFor();
  await one.page.waitForTimeout(500);
  const most = await one.page.evaluate<{ most: number; texts: number }>(`new Promise((done) => {
    const list = document.querySelector(".timeline");
    const texts = new Set();
    let most = 0;
    const watch = new MutationObserver(() => {
      const plans = list.querySelectorAll(".row-plan");
      most = Math.max(most, plans.length);
      for (const plan of plans) texts.add(plan.dataset.seq);
    });
    watch.observe(list, { childList: true, subtree: true, characterData: true });
    setTimeout(() => (watch.disconnect(), done({ most, texts: texts.size })), 3000);
  })`);
  expect(most.most).toBe(1);
  expect(most.texts).toBeGreaterThan(5);
  await session.interrupt();
  await closeConsole(one);
});

test("among rows of one kind, an agent's agent has a row in each place", async () => {
  const one = await openConsole(browser, host);
  await one.go(`#/sessions/${whole}`);
  await one.page.getByRole("button", { name: /^Tools/ }).click();
  const rows = await allRows(one.page);
  expect(rowsOf(rows, "agent").length).toBeGreaterThan(3);
  expect(rowsOf(rows, "plan")).toEqual([]);
  await closeConsole(one);
});

test.each([["light", 1440], ["dark", 1440], ["light", 390], ["dark", 390]] as const)(
  "folded rows have no finding of axe and fit, %s at %i px",
  async (colorScheme, width) => {
    const one = await openConsole(browser, host, { colorScheme, viewport: { width, height: 900 } });
    await one.go(`#/sessions/${whole}`);
    await one.page.locator(".ended").waitFor();
    await one.page.screenshot({ path: `${pictures}/folds-end-${width}-${colorScheme}.png` });
    await allRows(one.page);
    await one.page.locator(".timeline").evaluate((list: { scrollTop: number }) => void (list.scrollTop = 2000));
    await one.page.locator(".tool-agents summary").first().click();
    await one.page.locator(".tool-agents").getByText("caller-3", { exact: true }).waitFor();
    await one.page.screenshot({ path: `${pictures}/folds-${width}-${colorScheme}.png` });
    // No row is cut at the side, and the time stands where it is another than above.
    const cut = `(() => {
      const list = document.querySelector(".timeline").getBoundingClientRect();
      const rows = [...document.querySelectorAll(".timeline .row, .tool-agents > details")];
      return rows.filter((row) => row.getBoundingClientRect().right > list.right).length;
    })()`;
    expect(await one.page.evaluate(cut)).toBe(0);
    expect(await one.page.locator(".tool-agents .clock:not(.same)").count()).toBeLessThan(3);
    expect(await axeFindings(one.page)).toEqual([]);
    expect(await one.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    await closeConsole(one);
  },
);
