import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { BudgetReport } from "../../plugin-sdk/budget-report.ts";
import { axeFindings } from "./accessibility.ts";
import { closeConsole, openConsole, openWholeConsole, pictures, type WholeConsole } from "./console-fixture.ts";

let { host, browser, opened, page, close } = {} as WholeConsole;

beforeAll(async () => {
  ({ host, browser, opened, page, close } = await openWholeConsole());
  await mkdir(pictures, { recursive: true });
});
afterAll(() => close?.());

const whole: BudgetReport = {
  name: "everything",
  labels: {},
  per: "month",
  since: "2026-11-01T00:00:00.000Z",
  until: "2026-12-01T00:00:00.000Z",
  cost: 300,
  tokens: null,
  spent_cost: 123.4,
  spent_tokens: 9_000_000,
  currency: "USD",
  unpriced: 3,
  is_held: true,
};

const budgets: readonly BudgetReport[] = [
  whole,
  {
    ...whole,
    name: "team-a",
    labels: { team: "a", place: "<b>shore</b>" },
    per: "day",
    cost: 20,
    spent_cost: 21.5,
    tokens: 5_000_000,
    spent_tokens: 1_250_000,
    unpriced: 0,
  },
  { ...whole, name: "trial", per: null, since: null, until: null, spent_cost: 0, currency: null, unpriced: 0 },
  { ...whole, name: "fleet", is_held: false },
];

const showBudgets = (of: Page, shown = budgets) =>
  of.route("**/v1/budgets", (route) => route.fulfill({ json: { budgets: shown } }));
const section = (of: Page) => of.getByRole("region", { name: "Budgets" });
const words = async (of: Locator) => (await of.innerText()).replace(/\s+/g, " ");

test("Spend shows what is spent of each budget, in words and a bar, with its labels and its end", async () => {
  await showBudgets(page);
  await opened.go("#/spend");
  const items = section(page).getByRole("listitem");
  await expect.poll(() => items.count()).toBe(4);
  expect(await words(items.nth(0))).toMatch(
    /^everything this month all sessions At least \$123\.40 of \$300\.00 3 calls or sessions without a price Begins again .*(Nov|Dec).*$/,
  );
  const bars = section(page).getByRole("meter");
  expect(await bars.first().getAttribute("aria-label")).toBe("everything: $123.40 of $300.00");
  expect(
    await bars.first().evaluate((bar) => {
      const { value, max } = bar as unknown as { value: number; max: number };
      return value / max;
    }),
  ).toBeCloseTo(123.4 / 300);
  const spent = await words(items.nth(1));
  expect(spent).toMatch(
    /^team-a today team=a place=<b>shore<\/b> \$21\.50 of \$20\.00 1\.25 M of 5\.00 M tokens Spent:/,
  );
  expect(await words(items.nth(2))).toBe("trial all sessions $0 of $300.00");
  expect(await words(items.nth(3))).toBe(
    "fleet this month all sessions Not held: in a cluster no machine knows what the others spend.",
  );
  expect(await bars.count()).toBe(4);
});

test("without a budget there is none of it, and a read that failed starts again", async () => {
  const other = await openConsole(browser, host);
  let calls = 0;
  await other.page.route("**/v1/budgets", (route) => {
    calls++;
    return calls === 1 ? route.abort() : route.fulfill({ json: { budgets: calls === 2 ? budgets : [] } });
  });
  await other.go("#/spend");
  await other.page.getByRole("button", { name: "Retry" }).click();
  await section(other.page).getByText("team-a").waitFor();
  await other.go("#/walls");
  await other.go("#/spend");
  await other.page.getByText("No session has ended in these days").waitFor();
  await expect.poll(() => calls).toBe(3);
  expect(await section(other.page).count()).toBe(0);
  await closeConsole(other);
});

test("the budgets are those that the host reports from bulkhead.yaml", async () => {
  const file = join(host.folder, "bulkhead.yaml");
  const reef = "budgets: { reef: { labels: { team: reef }, per: day, tokens: 5000 } }\n";
  await writeFile(file, `${await readFile(file, "utf8")}${reef}`);
  await host.call("POST", "/v1/reload");
  const other = await openConsole(browser, host, { hash: "#/spend", scope: "read" });
  await section(other.page).getByText("0 of 5,000 tokens").waitFor();
  expect(await words(section(other.page).getByRole("listitem"))).toMatch(
    /^reef today team=reef 0 of 5,000 tokens Begins again /,
  );
  await closeConsole(other);
});

const side = (of: Page) => of.getByRole("complementary", { name: "About this session" });
const own = (of: Page) => side(of).getByRole("group", { name: "Budget of this session" });

test("a session shows what is spent of its own budget, and by whose figures", async () => {
  const budget = { cost: 1, tokens: 20_000 };
  const request = { workdir: host.workdir, prompt: "Work on a budget", budget, best_effort: true };
  const session = await host.client.start(request, { adapter: "works" });
  await session.result();
  await opened.go(`#/sessions/${session.id}`);
  await own(page).waitFor();
  expect(await words(own(page))).toBe(
    "Budget $0.08 of $1.00 20.1 k of 20.0 k tokens By the agent's own figures, which come late: a turn may pass it.",
  );
  expect(await own(page).getByRole("meter").first().getAttribute("aria-label")).toBe(
    "Budget of this session: $0.08 of $1.00",
  );
  const free = await host.client.start({ workdir: host.workdir, prompt: "Work without" }, { adapter: "works" });
  await free.result();
  await opened.go(`#/sessions/${free.id}`);
  await side(page).getByText("20.1 k tokens").waitFor();
  expect(await own(page).count()).toBe(0);
});

test("while it runs it shows what is spent so far, and limits that cannot be held", async () => {
  const budget = { cost: 0.5, turns: 9 };
  const request = { workdir: host.workdir, prompt: "Work on", budget, best_effort: true };
  const session = await host.client.start(request, { adapter: "busy", artifacts: "none" });
  const other = await openConsole(browser, host, { hash: `#/sessions/${session.id}` });
  await own(other.page).getByText("$0.12 of $0.50").waitFor();
  expect(await words(own(other.page))).toBe(
    "Budget $0.12 of $0.50 By the agent's own figures, which come late: a turn may pass it. Not held: budget.turns",
  );
  await closeConsole(other);
  const seen = await openConsole(browser, host);
  await showCalls(seen.page, session.id);
  await seen.go(`#/sessions/${session.id}`);
  await own(seen.page).getByText("of 5,000 tokens").waitFor();
  await expect.poll(() => words(own(seen.page))).toBe(
    "Budget At least $0.03 of $0.50 At least 2,400 of 5,000 tokens Up to 7 turns Counted by the host in every call.",
  );
  await closeConsole(seen);
  await session.interrupt();
});

/** Shows a page a running session whose calls the host sees: of two calls, one broke off. */
async function showCalls(of: Page, id: string): Promise<void> {
  await of.route(`**/v1/sessions/${id}/events?*`, async (route) => {
    const answer = await route.fetch();
    const events = (await answer.text()).split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
    const first = events.find(({ event }) => event.type === "session_started");
    if (first !== undefined) {
      first.event.effective.budget = { cost: 0.5, tokens: 5000, turns: 7 };
      first.event.effective.budget_basis = "wire";
      first.event.effective.unenforced = [];
    }
    const { searchParams } = new URL(route.request().url());
    const call = { type: "model_call", model: "tide-2", status: 200, tokens_cached: null, currency: "USD" };
    const calls = searchParams.getAll("type").includes("model_call")
      ? [
        { ...call, tokens_in: 1000, tokens_out: 200, cost: 0.02 },
        { ...call, tokens_in: 1200, tokens_out: null, cost: 0.01, partial: true },
      ].map((event, at) => ({ ...events.at(-1), seq: events.at(-1).seq + at + 1, event }))
      : [];
    await route.fulfill({
      response: answer,
      body: [...events, ...calls].map((one) => `${JSON.stringify(one)}\n`).join(""),
    });
  });
}

test("they fit at every width and in every look, and axe finds nothing", async () => {
  const findings: string[] = [];
  const budget = { cost: 1, tokens: 20_000 };
  const request = { workdir: host.workdir, prompt: "Work on a budget", budget, best_effort: true };
  const session = await host.client.start(request, { adapter: "works" });
  await session.result();
  const looks = [
    ...[1440, 390].flatMap((width) => [{ width, colorScheme: "light" }, { width, colorScheme: "dark" }] as const),
    { width: 1440, colorScheme: "dark", forcedColors: "active" },
  ] as const;
  for (const { width, ...how } of looks) {
    const other = await openConsole(browser, host, { viewport: { width, height: 900 }, ...how });
    const name = [width, ...Object.values(how)].join("-");
    await showBudgets(other.page);
    await other.go("#/spend");
    await section(other.page).getByText("team-a").waitFor();
    await other.page.screenshot({ path: join(pictures, `budgets-${name}.png`) });
    const wide = await other.page.evaluate<number>(
      `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("main"))`,
    );
    if (wide > 1) findings.push(`${name}: ${wide} pixels too wide`);
    const look = async () => findings.push(...(await axeFindings(other.page)).map((finding) => `${name}: ${finding}`));
    await look();
    await other.go(`#/sessions/${session.id}`);
    await own(other.page).waitFor();
    await own(other.page).scrollIntoViewIfNeeded();
    await other.page.screenshot({ path: join(pictures, `own-budget-${name}.png`) });
    await look();
    await closeConsole(other);
  }
  expect(findings).toEqual([]);
}, 120_000);
