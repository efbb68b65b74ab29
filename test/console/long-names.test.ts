import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { BudgetReport } from "../../plugin-sdk/budget-report.ts";
import { axeFindings } from "./accessibility.ts";
import { openWholeConsole, type WholeConsole } from "./console-fixture.ts";

let { host, opened, page, close } = {} as WholeConsole;

beforeAll(async () => void ({ host, opened, page, close } = await openWholeConsole()));
afterAll(() => close?.());

const widths = [1440, 1024, 390];
const prompt = `Rebuild ${"every-single-thing ".repeat(40)}שלום 👩‍👩‍👧 end`;

/** Texts that leave their card, and are not cut by it with a mark. */
const spills = (of: Page, cards: string): Promise<string[]> =>
  of.evaluate(`[...document.querySelectorAll(${JSON.stringify(cards)})].flatMap((card) => {
    const edge = card.getBoundingClientRect().right + 1;
    const isHeld = (one) => {
      for (let at = one.parentElement; at !== card.parentElement; at = at.parentElement)
        if (["auto", "scroll"].includes(getComputedStyle(at).overflowX) || getComputedStyle(at).textOverflow === "ellipsis") return true;
      return false;
    };
    return [...card.querySelectorAll("*")].filter((one) => one.getBoundingClientRect().right > edge && !isHeld(one))
      .map((one) => one.className + ": " + one.textContent.slice(0, 60));
  })`);

const isSideways = (of: Page) => of.evaluate("document.documentElement.scrollWidth > innerWidth");

async function inWidths(hash: string, ready: string, cards: string): Promise<void> {
  await opened.go(hash);
  for (const width of widths) {
    await page.setViewportSize({ width, height: 860 });
    await page.locator(ready).first().waitFor();
    expect(await page.locator(cards).count()).toBeGreaterThan(0);
    expect(await spills(page, cards), `${hash} at ${width}`).toEqual([]);
    expect(await isSideways(page), `${hash} at ${width}`).toBe(false);
  }
  await page.setViewportSize({ width: 1280, height: 860 });
}

test("a choice is read whole, on its card and beside the session, in every width", async () => {
  const request = { workdir: host.workdir, prompt, answer_timeout_ms: 600_000, workspace: "worktree" as const };
  const { id } = await host.client.start(request, { adapter: "wordy" });
  await inWidths("#/needs-you", ".item-permission .answers button", ".item-permission");
  const choice = page.locator(".item-permission").getByRole("button", { name: "and do not ask again" });
  expect(await choice.innerText()).toContain("end");
  await inWidths(`#/sessions/${id}`, ".side-waiting .answers button", ".side-part");
  expect(await axeFindings(page)).toEqual([]);
});

test("a long prompt is cut with a mark, and a figure never", async () => {
  await inWidths("#/review", ".worktree-list .session-title", ".worktree-list .session-row");
  await inWidths("#/sessions", ".session-line .line-cost", ".session-line");
  const cost = page.locator(".session-line .line-cost", { hasText: "$" }).first();
  for (const width of widths) {
    await page.setViewportSize({ width, height: 860 });
    expect(await cost.innerText()).toBe("$12,345.68");
    expect(
      await cost.evaluate((one: { scrollWidth: number; clientWidth: number }) => one.scrollWidth - one.clientWidth),
    )
      .toBeLessThanOrEqual(0);
  }
});

test("a session that waits for a slot stands clear of its agent, and an agent whose slots are taken can be used", async () => {
  for (const one of ["Hold", prompt]) {
    await host.client.start({ workdir: host.workdir, prompt: one }, { adapter: "single" });
  }
  const running = () => host.client.list({ state: "running", facts: true });
  await expect.poll(async () => (await running()).filter(({ facts }) => facts?.queued !== undefined).length).toBe(1);
  await opened.go("#/agents");
  const row = page.getByRole("region", { name: "Queue" }).getByRole("listitem");
  await row.waitFor();
  for (const width of widths) {
    await page.setViewportSize({ width, height: 860 });
    const [link, tag] = await Promise.all([row.getByRole("link").boundingBox(), row.locator(".tag").boundingBox()]);
    expect(link!.x + link!.width).toBeLessThanOrEqual(tag!.x);
  }
  await page.getByText("Asking the agents").waitFor({ state: "detached", timeout: 25_000 });
  expect(await page.locator(".agent-row", { hasText: "unrunnable" }).count()).toBe(0);
});

test("budgets of long names and labels stay in their tiles", async () => {
  const budget: BudgetReport = {
    name: "budget-of-a-very-long-name-that-goes-on",
    labels: { "a-label-of-a-long-name": "with-a-very-long-value-with-a-very-long-value" },
    per: "month",
    since: "2026-11-01T00:00:00.000Z",
    until: "2026-12-01T00:00:00.000Z",
    cost: 300,
    tokens: null,
    spent_cost: 12,
    spent_tokens: 9,
    currency: "USD",
    unpriced: 0,
    is_held: true,
  };
  await page.route(
    "**/v1/budgets",
    (route) => route.fulfill({ json: { budgets: [budget, { ...budget, name: "b" }] } }),
  );
  await inWidths("#/spend", ".budgets .tile", ".budgets .tile");
  await page.unroute("**/v1/budgets");
});
