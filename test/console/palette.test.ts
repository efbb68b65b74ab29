import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ConsolePage, openConsole, openWholeConsole, type WholeConsole } from "./console-fixture.ts";

let { host, browser, opened, page, close } = {} as WholeConsole;
let plural = "";

beforeAll(async () => {
  ({ host, browser, opened, page, close } = await openWholeConsole());
  for (const prompt of ["Round exactly", "Look at plurals"]) {
    const session = await host.client.start({ workdir: host.workdir, prompt }, { adapter: "works" });
    await session.result();
    plural = session.id;
  }
});
afterAll(() => close?.());

const partsOf = ({ page: of }: Pick<ConsolePage, "page">) => ({
  field: of.getByRole("combobox", { name: "Screen, session or action" }),
  options: of.getByRole("option"),
  dialog: of.getByRole("dialog", { name: "Go to" }),
});

/** Opens the palette, and types into it. */
async function ask(words: string, of: Pick<ConsolePage, "page"> = { page }): Promise<ReturnType<typeof partsOf>> {
  const parts = partsOf(of);
  await parts.dialog.waitFor({ state: "detached" });
  await of.page.keyboard.press("Control+k");
  await parts.field.waitFor();
  await of.page.keyboard.type(words);
  return parts;
}

test("a screen is two letters and Enter away, also while a person types elsewhere", async () => {
  await opened.go("#/history");
  await page.getByLabel("Search all sessions").focus();
  await ask("wal");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Walls" }).waitFor();
  expect(await partsOf({ page }).dialog.count()).toBe(0);
});

test("Escape closes it, and the focus goes back to where it was", async () => {
  const keys = page.getByRole("button", { name: /^Keys/ });
  for (const words of ["spe", "", "w", "nothing"]) {
    await keys.focus();
    const { dialog } = await ask(words);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await expect.poll(() => page.evaluate("document.activeElement.textContent")).toMatch(/^Keys/);
  }
  expect(page.url()).toContain("#/walls");
  // Keys of the page are letters while it is open, and keys again after it.
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await page.getByRole("heading", { level: 1, name: "Spend" }).waitFor();
});

test("the arrows go round, and a screen reader hears the current entry", async () => {
  const { options } = await ask("");
  const current = () =>
    page.evaluate<string>(
      "document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent",
    );
  expect(await current()).toContain("Needs you");
  await page.keyboard.press("ArrowDown");
  expect(await current()).toContain("Sessions");
  expect(await page.locator("[role=option][aria-selected=true]").allTextContents()).toEqual([await current()]);
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  expect(await current()).toBe((await options.allTextContents()).at(-1));
  await page.keyboard.press("Escape");
});

test.each([["title", () => "plurals LOOK"], ["beginning of the id", () => plural.slice(0, 8)]])(
  "a session is found by its %s among all of the host's, not only those on the page",
  async (_, words) => {
    const other = await openConsole(browser, host);
    // The page knows none: its own list is empty.
    await other.page.route(
      "**/v1/sessions?limit=100",
      (route) => route.fulfill({ json: { sessions: [], next: null } }),
    );
    await other.page.reload();
    await other.page.getByText("Live", { exact: true }).waitFor();
    const { options } = await ask(words(), other);
    await options.filter({ hasText: "Look at plurals" }).waitFor();
    expect(await options.count()).toBe(1);
    await other.page.keyboard.press("Enter");
    await other.page.waitForURL((url) => url.hash === `#/sessions/${plural}`);
    await closeConsole(other);
  },
);

test("what nothing has is said, and Enter does nothing", async () => {
  const { dialog } = await ask("nothing has these words");
  await dialog.getByText("Nothing has these words.").waitFor();
  await page.keyboard.press("Enter");
  await dialog.waitFor();
  await page.keyboard.press("Escape");
});

test("actions: start, another theme, and stop all, which can be taken back", async () => {
  await ask("start a");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Start a session" }).waitFor();
  await ask("theme dark");
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
  await ask("theme system");
  await page.keyboard.press("Enter");
  await ask("stop all");
  await page.keyboard.press("Enter");
  await page.getByText("No session runs.").waitFor();
  const running = await host.client.start({ workdir: host.workdir, prompt: "Edit it", answer_timeout_ms: 600_000 }, {
    adapter: "edits",
  });
  await ask("stop all");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: "1 session is stopped in" }).getByRole("button", { name: "Undo" })
    .click();
  expect((await running.summary()).state).toBe("running");
  await running.interrupt();
});

test("a page that can only look offers no start and no stop", async () => {
  const reader = await openConsole(browser, host, { scope: "read" });
  const { options } = await ask("", reader);
  const words = (await options.allTextContents()).join("\n");
  expect(words).toContain("Walls");
  expect(words).not.toMatch(/Start a session|Stop all/);
  await closeConsole(reader);
});

test("on a Mac it is Command-K, and Control-K stays the system's; it is loaded when it is asked for", async () => {
  const script = `Object.defineProperty(navigator, "platform", { get: () => "MacIntel" })`;
  const mac = await openConsole(browser, host, { script });
  const loaded = () =>
    mac.page.evaluate<string[]>("performance.getEntriesByType('resource').map(({ name }) => name)")
      .then((names) => names.filter((name) => name.includes("palette")).length);
  await mac.page.keyboard.press("Control+k");
  await mac.page.getByRole("button", { name: "Go to … ⌘K" }).waitFor();
  expect([await partsOf(mac).dialog.count(), await loaded()]).toEqual([0, 0]);
  await mac.page.keyboard.press("Meta+k");
  await partsOf(mac).field.waitFor();
  expect(await loaded()).toBe(1);
  await closeConsole(mac);
});

test("a tap in the menu of a narrow window opens it", async () => {
  const one = await openConsole(browser, host, { viewport: { width: 390, height: 700 } });
  await one.page.getByRole("button", { name: /^Menu:/ }).click();
  await one.page.getByRole("button", { name: /^Go to …/ }).click();
  const { field, options, dialog } = partsOf(one);
  await field.fill("e");
  const box = (await dialog.boundingBox())!;
  expect([box.x >= 0, box.x + box.width <= 390, box.y + box.height <= 700]).toEqual([true, true, true]);
  await options.filter({ hasText: "Review" }).click();
  await one.page.getByRole("heading", { level: 1, name: "Review" }).waitFor();
  await closeConsole(one);
});
