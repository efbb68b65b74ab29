import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { UsageRow } from "../../plugin-sdk/usage-row.ts";
import { axeFindings } from "./accessibility.ts";
import { closeConsole, openConsole, openWholeConsole, pictures, type WholeConsole } from "./console-fixture.ts";

let { host, browser, opened, page, close } = {} as WholeConsole;

beforeAll(async () => {
  ({ host, browser, opened, page, close } = await openWholeConsole());
  await mkdir(pictures, { recursive: true });
  const session = await host.client.start({ workdir: host.workdir, prompt: "Make tally return a text" }, {
    adapter: "works",
  });
  await session.result();
  await showWeeks(page);
});
afterAll(() => close?.());

/** Shows a page the spending of many days: a host of a test has none but today's. */
async function showWeeks(of: Page): Promise<void> {
  await of.route("**/v1/spend?*", async (route) => {
    const days = Number(new URL(route.request().url()).searchParams.get("days"));
    await route.fulfill({ json: { rows: await rowsOf(of, days) } });
  });
}

async function rowsOf(of: Page, days: number): Promise<UsageRow[]> {
  const names = await of.evaluate<string[]>(`Array.from({ length: ${days} }, (_, back) => {
    const day = new Date();
    day.setHours(12, 0, 0, 0);
    day.setDate(day.getDate() - back);
    return [day.getFullYear(), day.getMonth() + 1, day.getDate()].map((one) => String(one).padStart(2, "0")).join("-");
  })`);

  const row: UsageRow = {
    day: "",
    adapter_id: "works",
    model: "tide-2",
    basis: "reported",
    cost: 1,
    currency: "USD",
    tokens_in: 1000,
    tokens_out: 100,
    tokens_cached: null,
    sessions: 2,
    partial: 0,
    requests: null,
  };
  return names.flatMap((day, back) => [
    { ...row, day, cost: 2.5 + back % 3 },
    { ...row, day, adapter_id: "codexa", model: "gem-flash", cost: 0.75 + back % 4 * 0.5, sessions: 1 },
    ...(back % 2 === 0 ? [{ ...row, day, adapter_id: "kimi", basis: "estimated" as const, cost: 1.2 }] : []),
    ...(back === 1 ? [{ ...row, day, adapter_id: "quiet", cost: null, currency: null, sessions: 3 }] : []),
    ...(back === 2 ? [{ ...row, day, adapter_id: "plan", cost: 0, currency: null }] : []),
  ]);
}

const days = (of: Page) => of.getByRole("group", { name: "Days" }).getByRole("button", { name: /sessions/ });

test("each day is a bar with its weekday and its sum, stacked by agent, and costs stand apart by what is known of them", async () => {
  await opened.go("#/spend");
  await page.getByText("Cost per day, by agent").waitFor();
  expect(await days(page).count()).toBe(7);
  const last = days(page).last();
  const weekday = await page.evaluate<string>(`new Intl.DateTimeFormat("en", { weekday: "long" }).format(new Date())`);
  expect(await last.locator(".day-name").textContent()).toContain(weekday.slice(0, 3));
  expect(await last.locator(".hidden").textContent()).toBe(": 5 sessions, works $2.50, codexa $0.75, kimi ≈ $1.20");
  await last.hover();
  await page.locator(".day-facts").last().getByText(weekday).waitFor();
  expect(await last.locator(".day-sum").textContent()).toBe("$3.25≈ $1.20");
  expect(await last.locator(".day-stack rect").count()).toBe(3);
  const month = await page.evaluate<string>(`new Intl.DateTimeFormat("en", { month: "long" }).format(new Date())`);
  const line = (await page.locator(".month-line").innerText()).replace(/\s+/g, " ");
  expect(line).toMatch(new RegExp(`^${month} has cost .*\\$\\d+\\.\\d\\d and ≈ \\$\\d+\\.\\d\\d so far[.;]`));
  const tiles = await page.locator(".tile").allTextContents();
  expect(tiles).toEqual([
    expect.stringMatching(/^Reported\$\d+\.\d\d21 sessions$/),
    "Estimated$4.808 sessions",
    "Not billed$02 sessions: a plan covers them",
    "Unknown?3 sessions: their agents told no cost",
  ]);
});

test("a day and an agent narrow the figures and lead to their sessions, by mouse and by keys", async () => {
  await opened.go("#/spend");
  await days(page).last().click();
  await page.getByRole("status").getByText("$3.25 and ≈ $1.20").waitFor();
  await page.getByRole("link", { name: "Make tally return a text" }).waitFor();
  expect(await page.locator("tbody th").allTextContents()).toHaveLength(1);
  await page.getByRole("group", { name: "Agents" }).getByRole("button", { name: "kimi" }).click();
  await page.getByRole("status").getByText("≈ $1.20").waitFor();
  await page.getByRole("link", { name: "Make tally return a text" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Show all" }).click();
  await days(page).last().focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  expect(await days(page).nth(5).getAttribute("aria-pressed")).toBe("true");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  expect(await days(page).first().getAttribute("aria-pressed")).toBe("true");
  await page.keyboard.press("Enter");
  expect(await page.locator(".spend-chosen").count()).toBe(0);
});

test("sums are by day, agent, model or label, and many days are weeks", async () => {
  await opened.go("#/spend");
  await page.getByRole("button", { name: "By agent" }).click();
  expect(await page.locator("tbody th").allTextContents()).toEqual(["works", "codexa", "kimi", "quiet", "plan"]);
  await page.getByRole("button", { name: "By model" }).click();
  expect(await page.locator("tbody th").allTextContents()).toEqual(["tide-2", "gem-flash"]);
  await page.getByRole("button", { name: "90 days" }).click();
  await page.getByText("Cost per week, by agent").waitFor();
  expect(await days(page).count()).toBeLessThan(15);
  await page.getByRole("button", { name: "7 days" }).click();
});

test("the host adds up by the values of a label", async () => {
  const session = await host.client.start({
    workdir: host.workdir,
    prompt: "Make tally return a text",
    labels: { team: "shore" },
  }, { adapter: "works" });
  await session.result();
  const whole = await openConsole(browser, host, { hash: "#/spend" });
  await whole.page.getByRole("button", { name: "By team" }).click();
  const row = whole.page.getByRole("row", { name: "shore" });
  await row.waitFor();
  expect(await row.locator("td").first().textContent()).toBe("1");
  expect(await whole.page.getByRole("row", { name: "without it" }).locator("td").first().textContent()).toBe("1");
  await closeConsole(whole);
});

test("the picture fits at every width and in every look, and axe finds nothing", async () => {
  const findings: string[] = [];
  for (const width of [1440, 1024, 390]) {
    for (const colorScheme of ["light", "dark"] as const) {
      const whole = await openConsole(browser, host, { viewport: { width, height: 900 }, colorScheme });
      await showWeeks(whole.page);
      await whole.go("#/spend");
      await whole.page.getByText("Cost per day, by agent").waitFor();
      await whole.page.getByRole("button", { name: "30 days" }).click();
      await whole.page.locator(".many").waitFor();
      await whole.page.screenshot({ path: join(pictures, `spend-30-${width}-${colorScheme}.png`) });
      await whole.page.getByRole("button", { name: "7 days" }).click();
      await days(whole.page).nth(5).hover();
      await whole.page.screenshot({ path: join(pictures, `spend-7-${width}-${colorScheme}.png`) });
      const wide = await whole.page.evaluate<number>(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("main"))`,
      );
      if (wide > 1) findings.push(`${width}: ${wide} pixels too wide`);
      findings.push(...(await axeFindings(whole.page)).map((finding) => `${width} ${colorScheme}: ${finding}`));
      await closeConsole(whole);
    }
  }
  expect(findings).toEqual([]);
}, 240_000);
