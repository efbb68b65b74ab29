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

const day = (of: Page, at: number) => of.locator("tbody").getByRole("button").nth(at);
const plot = (of: Page) => of.locator(".cost-plot .u-over");
const caption = (of: Page) => of.locator(".day-bars figcaption");

/** The middle of a bar in the plot. */
async function middleOf(of: Page, { at, bars }: { at: number; bars: number }) {
  // Other days are another plot.
  await expect.poll(() => plot(of).boundingBox()).not.toBeNull();
  const { width, height } = (await plot(of).boundingBox())!;
  return { x: width * (at + 0.5) / bars, y: height * 0.9 };
}

/** Colours of a bar, the lowest first, and those of the legend. */
async function coloursOf(of: Page, { at, bars }: { at: number; bars: number }): Promise<[string[], string[]]> {
  return await of.evaluate<[string[], string[]]>(`(() => {
    const canvas = document.querySelector(".cost-plot canvas");
    const [field, over] = [canvas, document.querySelector(".u-over")].map((one) => one.getBoundingClientRect());
    const x = Math.round((over.x - field.x + over.width * ${(at + 0.5) / bars}) * devicePixelRatio);
    const bottom = Math.round((over.bottom - field.y) * devicePixelRatio) - 5;
    const pixels = canvas.getContext("2d").getImageData(x, 0, 1, bottom).data;
    const seen = [];
    for (let y = bottom - 1; y > 0; y--) {
      const [red, green, blue, alpha] = pixels.slice(4 * y, 4 * y + 4);
      if (alpha === 255) seen.push("rgb(" + [red, green, blue].join(", ") + ")");
    }
    // A frame's line is thin.
    const runs = seen.filter((one, at) => one !== seen[at - 1] && seen.slice(at, at + 8).every((next) => next === one));
    const legend = [...document.querySelectorAll(".day-legend rect")].map((one) => getComputedStyle(one).fill);
    return [runs, legend];
  })()`);
}

const longDay = (of: Page) =>
  of.evaluate<string>(
    `new Intl.DateTimeFormat("en", { weekday: "long", month: "long", day: "numeric" }).format(new Date())`,
  );

test("each day is a bar of its agents' colours; the pointed one tells its day and sums, and costs stand apart by what is known of them", async () => {
  await opened.go("#/spend");
  await page.getByText("Cost per day, by agent").waitFor();
  await plot(page).hover({ position: await middleOf(page, { at: 6, bars: 7 }) });
  await expect.poll(() => caption(page).textContent()).toBe(`${await longDay(page)}: $3.25 and ≈ $1.20 · 5 sessions`);
  expect(await page.locator(".day-legend .chip").allTextContents()).toEqual([
    " works$2.50",
    " codexa$0.75",
    " kimi≈ $1.20",
    " quiet—",
    " plan—",
  ]);
  await page.mouse.move(0, 0);
  await page.getByText("Cost per day, by agent").waitFor();
  const [bar, legend] = await coloursOf(page, { at: 6, bars: 7 });
  const sheet = await page.locator(".day-bars").evaluate((node) =>
    (globalThis as unknown as { getComputedStyle(of: unknown): { backgroundColor: string } }).getComputedStyle(node)
      .backgroundColor
  );
  expect(bar.slice(0, 3)).toEqual([legend[0], legend[1], sheet]);
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

test("the tiles leave no hole, however many fit beside each other", async () => {
  const phone = await openConsole(browser, host, { viewport: { width: 390, height: 844 }, hash: "#/spend" });
  await phone.page.locator(".tile").nth(2).waitFor();
  for (const width of [390, 560, 1440]) {
    await phone.page.setViewportSize({ width, height: 844 });
    const [last, all] = await phone.page.evaluate<[number, number]>(`(() => {
      const tiles = document.querySelector(".tiles");
      return [tiles.lastElementChild, tiles].map((one) => Math.round(one.getBoundingClientRect().right));
    })()`);
    expect(last).toBe(all);
  }
  await closeConsole(phone);
});

test("the bars follow the look of the page", async () => {
  const whole = await openConsole(browser, host, { colorScheme: "light" });
  await showWeeks(whole.page);
  await whole.go("#/spend");
  await plot(whole.page).waitFor();
  const bottom = async () => (await coloursOf(whole.page, { at: 6, bars: 7 })).map(([first]) => first);
  const [light, inLegend] = await bottom();
  expect(light).toBe(inLegend);
  await whole.page.emulateMedia({ colorScheme: "dark" });
  await expect.poll(async () => (await bottom())[0]).not.toBe(light);
  const [dark, nowInLegend] = await bottom();
  expect(dark).toBe(nowInLegend);
  await whole.page.getByRole("button", { name: "Light", exact: true }).click();
  await expect.poll(async () => (await bottom())[0]).toBe(light);
  await closeConsole(whole);
});

test("the plot is loaded with this screen, and not before", async () => {
  const whole = await openConsole(browser, host);
  const scripts: string[] = [];
  whole.page.on("request", (request) => void scripts.push(new URL(request.url()).pathname));
  await whole.page.reload();
  await whole.page.getByText("Live", { exact: true }).waitFor();
  expect(scripts.filter((path) => path.includes("/spend-"))).toEqual([]);
  await whole.go("#/spend");
  await whole.page.getByText("No session has ended").or(whole.page.locator(".cost-plot")).first().waitFor();
  expect(scripts.filter((path) => path.includes("/spend-"))).toHaveLength(1);
  await closeConsole(whole);
});

test("a day and an agent narrow the figures and lead to their sessions, by mouse and by keys", async () => {
  await opened.go("#/spend");
  await plot(page).click({ position: await middleOf(page, { at: 6, bars: 7 }) });
  await page.getByRole("status").getByText("$3.25 and ≈ $1.20").waitFor();
  expect(await caption(page).textContent()).toContain(await longDay(page));
  await page.getByRole("link", { name: "Make tally return a text" }).waitFor();
  expect(await page.locator("tbody th").allTextContents()).toHaveLength(1);
  await page.getByRole("group", { name: "Agents" }).getByRole("button", { name: "kimi" }).click();
  await page.getByRole("status").getByText("≈ $1.20").waitFor();
  await page.getByRole("link", { name: "Make tally return a text" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Show all" }).click();
  // The same by keys: the days of the table are buttons.
  const name = await day(page, 1).textContent();
  await page.getByRole("button", { name: "By day" }).focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  expect(await page.evaluate(`document.activeElement.textContent`)).toBe(name);
  await page.keyboard.press("Enter");
  expect(await page.locator("tbody th").allTextContents()).toEqual([name]);
  expect(await day(page, 0).getAttribute("aria-pressed")).toBe("true");
  await page.keyboard.press("Enter");
  expect(await page.locator("tbody th").allTextContents()).toHaveLength(7);
  expect(await page.evaluate(`document.activeElement.textContent`)).toBe(name);
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
  await plot(page).click({ position: await middleOf(page, { at: 2, bars: 14 }) });
  await page.getByRole("status").getByText(/ to /).waitFor();
  await expect.poll(() => page.locator("tbody th").count()).toBe(7);
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
  const looks = [
    ...[1440, 1024, 390].flatMap((width) => [{ width, colorScheme: "light" }, { width, colorScheme: "dark" }] as const),
    // A window of 1440 pixels at 200 %.
    { width: 720, colorScheme: "light", deviceScaleFactor: 2 },
    { width: 1440, colorScheme: "dark", forcedColors: "active" },
  ] as const;
  for (const { width, ...look } of looks) {
    const hasTouch = width === 390;
    const whole = await openConsole(browser, host, { viewport: { width, height: 900 }, hasTouch, ...look });
    const name = [width, ...Object.values(look)].join("-");
    await showWeeks(whole.page);
    await whole.go("#/spend");
    await plot(whole.page).waitFor();
    for (const [days, bars] of [[30, 30], [7, 7]] as const) {
      await whole.page.getByRole("button", { name: `${days} days` }).click();
      await whole.page.locator("tbody th").nth(days - 1).waitFor();
      const position = await middleOf(whole.page, { at: bars - 2, bars });
      await (hasTouch ? plot(whole.page).tap({ position }) : plot(whole.page).click({ position }));
      await whole.page.locator(".spend-chosen").waitFor();
      await whole.page.screenshot({ path: join(pictures, `spend-${days}-${name}.png`) });
      const [bar, legend] = await coloursOf(whole.page, { at: bars - 2, bars });
      if (bar[0] !== legend[0] || bar[1] !== legend[1]) findings.push(`${name}: ${bar.join(" ")}`);
    }
    const wide = await whole.page.evaluate<number>(
      `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("main"))`,
    );
    if (wide > 1) findings.push(`${name}: ${wide} pixels too wide`);
    findings.push(...(await axeFindings(whole.page)).map((finding) => `${name}: ${finding}`));
    await closeConsole(whole);
  }
  expect(findings).toEqual([]);
}, 240_000);
