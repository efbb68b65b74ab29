import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeFindings } from "./accessibility.ts";
import { closeConsole, openConsole, openWholeConsole, type WholeConsole } from "./console-fixture.ts";

let { host, browser, close } = {} as WholeConsole;

beforeAll(async () => void ({ host, browser, close } = await openWholeConsole()));
afterAll(() => close?.());

/** Whether the ground of the page is dark. */
async function isDark(page: Page): Promise<boolean> {
  const [red = 255] = (await page.evaluate<string>("getComputedStyle(document.body).backgroundColor"))
    .match(/\d+/g)!.map(Number);
  return red < 128;
}

const choose = (page: Page, name: string) =>
  page.getByRole("group", { name: "Theme" }).getByRole("button", { name }).click();

test("a theme is the system's until a person chooses one, and stays over a reload, in every tab", async () => {
  const opened = await openConsole(browser, host, { colorScheme: "light" });
  const { page } = opened;
  expect(await isDark(page)).toBe(false);
  await choose(page, "Dark");
  expect(await isDark(page)).toBe(true);
  const other = await openConsole(browser, host, { beside: opened });
  expect(await isDark(other.page)).toBe(true);
  await choose(other.page, "Light");
  await expect.poll(() => isDark(page)).toBe(false);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.reload();
  await page.getByText("Live", { exact: true }).waitFor();
  expect(await isDark(page)).toBe(false);
  await choose(page, "System");
  expect(await isDark(page)).toBe(true);
  expect(await page.evaluate("Object.keys(localStorage)")).toEqual([]);
  await other.page.close();
  await closeConsole(opened);
});

test("the first picture has the theme: it does not wait for the page's own script", async () => {
  const opened = await openConsole(browser, host, { colorScheme: "light" });
  const { page } = opened;
  await choose(page, "Dark");
  await page.route("**/console/app.js", () => {});
  await page.reload({ waitUntil: "commit" });
  await expect.poll(() => isDark(page)).toBe(true);
  expect(await page.locator("body > *:not(noscript)").count()).toBe(0);
  await closeConsole(opened);
});

test("what a storage has that is no theme is left alone", async () => {
  const script = `localStorage["bulkhead-theme"] = "none; color: red"`;
  const opened = await openConsole(browser, host, { colorScheme: "light", script });
  expect(await isDark(opened.page)).toBe(false);
  expect(await opened.page.evaluate("document.documentElement.hasAttribute('data-theme')")).toBe(false);
  await closeConsole(opened);
});

test.each([1440, 1024, 390])("the switch is in reach and axe finds nothing, at %i px", async (width) => {
  for (const [colorScheme, name] of [["light", "Dark"], ["dark", "Light"]] as const) {
    const opened = await openConsole(browser, host, { colorScheme, viewport: { width, height: 860 } });
    const { page } = opened;
    if (width === 390) await page.getByRole("button", { name: /^Menu:/ }).click();
    await choose(page, name);
    expect(await isDark(page)).toBe(name === "Dark");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    expect(await axeFindings(page)).toEqual([]);
    await closeConsole(opened);
  }
});
