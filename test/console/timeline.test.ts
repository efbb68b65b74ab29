import { afterAll, beforeAll, expect, test } from "vitest";
import { axeFindings } from "./accessibility.ts";
import { closeConsole, openConsole, openWholeConsole, pictures, type WholeConsole } from "./console-fixture.ts";

let { host, browser, opened, page, close } = {} as WholeConsole;

beforeAll(async () => void ({ host, browser, opened, page, close } = await openWholeConsole()));
afterAll(() => close?.());

async function said(prompt: string): Promise<string> {
  const session = await host.client.start({ workdir: host.workdir, prompt }, { adapter: "says", artifacts: "none" });
  if (!prompt.includes("wait")) await session.result();
  return session.id;
}

test("what an agent says is drawn as Markdown, and an address in it opens only after it was shown", async () => {
  await opened.go(`#/sessions/${await said("Say it")}`);
  const text = page.locator(".markdown.stdout");
  await text.getByRole("heading", { name: "Tally is done" }).waitFor();
  const count = (selector: string) => text.locator(selector).count();
  expect(await text.locator("ol > li").allInnerTexts()).toHaveLength(3);
  expect(await count("ol ul > li")).toBe(2);
  expect(await text.locator(".task-item").allInnerTexts()).toEqual(["[x] plurals", "[ ] fractions"]);
  expect(await text.locator("pre").innerText()).toContain("export function tally(words: string[]): string {\n  return");
  expect(await text.locator("td").allInnerTexts()).toEqual([
    "counts words",
    "3 ms",
    "ok",
    "knows plurals",
    "12 ms",
    "fails",
  ]);
  for (const selector of ["code", "strong", "em", "del", "blockquote", "hr"]) {
    expect(await count(selector), selector).toBeGreaterThan(0);
  }
  expect(await count("a, img, script")).toBe(0);
  expect(await text.innerText()).not.toMatch(/\*\*|~~|```|# |\|/);
  await page.locator(".finished strong", { hasText: "done" }).waitFor();
  for (const [name, url] of [["the rules", "rules?of=tally"], ["https://example.com/bare", "bare"]] as const) {
    await text.getByRole("button", { name }).click();
    expect(await page.locator(".whole-address").innerText()).toBe(`https://example.com/${url}`);
    await page.getByRole("button", { name: "Stay here" }).click();
  }
});

test("a text that goes on keeps the elements of its finished blocks, and is never shown as plain text meanwhile", async () => {
  // Loaded by now: no later text is plain at first.
  await page.locator(".markdown.stdout").first().waitFor();
  await page.evaluate(`globalThis.seen = { kept: 0, other: 0, plain: 0, first: null, at: location.hash };
    new MutationObserver(() => {
      const block = document.querySelector(".markdown.stdout > h3");
      if (block?.textContent === "Tally is done" && location.hash !== seen.at) {
        if (seen.first === null) seen.first = block;
        if (seen.first === block) seen.kept++; else seen.other++;
      }
      if (location.hash !== seen.at && document.querySelector(".row-text pre.stdout")) seen.plain++;
    }).observe(document.body, { childList: true, subtree: true, characterData: true });`);
  const id = await said("30 wait");
  await opened.go(`#/sessions/${id}`);
  await page.locator(".markdown.stdout", { hasText: "It ends here." }).waitFor();
  const seen = await page.evaluate<{ kept: number; other: number; plain: number }>(`({ ...seen, first: null })`);
  expect(seen).toMatchObject({ other: 0, plain: 0 });
  expect(seen.kept).toBeGreaterThan(2);
  await host.call("POST", `/v1/sessions/${id}/interrupt`);
});

test("a row has its local time beside it: the minute where it is another one, and all of it on hover and focus", async () => {
  const id = await said("Say it");
  const other = await openConsole(browser, host, { timezoneId: "Asia/Tokyo" });
  await other.go(`#/sessions/${id}`);
  const clocks = other.page.locator(".row .clock");
  await other.page.locator(".ended").waitFor();
  const at = new Date((await host.client.list({ limit: 1 }))[0]!.started_at);
  const text = at.toLocaleTimeString("en", { timeZone: "Asia/Tokyo", hourCycle: "h23" });
  expect(await clocks.first().textContent()).toBe(text);
  expect(await clocks.first().getAttribute("title")).toContain(String(at.getFullYear()));
  const seen = (at: number) =>
    other.page.evaluate<string>(`getComputedStyle(document.querySelectorAll(".row .clock")[${at}]).opacity`);
  await other.page.mouse.move(0, 0);
  expect([await seen(0), await seen(1)]).toEqual(["1", "0"]);
  await other.page.locator(".row").nth(1).hover();
  expect(await seen(1)).toBe("1");
  await other.page.mouse.move(0, 0);
  await other.page.locator(".row .seq").nth(1).focus();
  expect(await seen(1)).toBe("1");
  await closeConsole(other);
});

test("the lexer is a script of its own, which comes with the first session", async () => {
  const other = await openConsole(browser, host);
  const scripts = () =>
    other.page.evaluate<string[]>(`performance.getEntriesByType("resource").map(({ name }) => name.split("/").at(-1))`);
  expect(await scripts()).not.toContainEqual(expect.stringMatching(/^read-markdown/));
  await other.go(`#/sessions/${await said("Say it")}`);
  await other.page.locator(".markdown.stdout").waitFor();
  expect(await scripts()).toContainEqual(expect.stringMatching(/^read-markdown/));
  await closeConsole(other);
});

test("filters show what the whole session has of a kind, with counts, and a key leads from failure to failure", async () => {
  const request = { workdir: host.workdir, prompt: "Stumble" };
  const session = await host.client.start(request, { adapter: "stumbles", artifacts: "none" });
  await session.result();
  const other = await openConsole(browser, host);
  await other.go(`#/sessions/${session.id}`);
  const bar = other.page.getByRole("group", { name: "Show of this session" });
  const rows = other.page.locator(".timeline .row");
  await bar.getByText("Failures 3").waitFor();
  const words = (await bar.getByRole("button").allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  expect(words).toEqual(["All", "Said 5", "Tools 3", "Edits 0", "Failures 3", "Asked 0", "Next failure n"]);
  await bar.getByRole("button", { name: /Failures/ }).click();
  await expect.poll(() => rows.allInnerTexts()).toHaveLength(3);
  expect((await rows.allInnerTexts()).map((text) => /npm test -- \d+/.exec(text)?.[0])).toEqual(
    [300, 1500, 2600].map((at) => `npm test -- ${at}`),
  );
  await bar.getByRole("button", { name: /Said/ }).click();
  await expect.poll(async () => (await rows.locator("strong").allInnerTexts()).join()).toBe("300,1500,2600");
  await bar.getByRole("button", { name: "All" }).click();
  for (const at of [300, 1500, 2600, 300]) {
    await other.page.keyboard.press("n");
    await other.page.locator("[data-target]", { hasText: `npm test -- ${at}` }).waitFor();
  }
  await other.page.keyboard.press("f");
  await expect.poll(() => bar.getByRole("button", { name: /Said/ }).getAttribute("aria-pressed")).toBe("true");
  // A link to an event shows it, also where the filter would not.
  await other.go(`#/sessions/${session.id}/1000`);
  await other.page.locator("[data-target]", { hasText: /step \d+/ }).waitFor();
  await closeConsole(other);
});

test("filters and their counts follow a session that runs", async () => {
  const id = await said("30 wait");
  const other = await openConsole(browser, host);
  await other.go(`#/sessions/${id}`);
  await other.page.getByRole("button", { name: /^Said\s*2$/ }).click();
  await other.page.locator(".markdown", { hasText: "It ends here." }).waitFor();
  await host.call("POST", `/v1/sessions/${id}/interrupt`);
  await other.page.getByRole("button", { name: /^Failures\s*[1-9]/ }).click();
  await other.page.locator(".timeline .ended").waitFor();
  await closeConsole(other);
});

test.each([["light", 1440], ["dark", 1440], ["light", 390], ["dark", 390]] as const)(
  "a session of Markdown has no finding of axe and fits, %s at %i px",
  async (colorScheme, width) => {
    const id = await said("Say it");
    const one = await openConsole(browser, host, { colorScheme, viewport: { width, height: 900 } });
    await one.go(`#/sessions/${id}`);
    await one.page.locator(".ended").waitFor();
    await one.page.locator(".timeline").evaluate((list: { scrollTop: number }) => void (list.scrollTop = 0));
    await one.page.locator(".markdown.stdout").waitFor();
    await one.page.screenshot({ path: `${pictures}/markdown-${width}-${colorScheme}.png` });
    expect(await axeFindings(one.page)).toEqual([]);
    expect(await one.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    await closeConsole(one);
  },
);
