import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SessionSummary } from "../../plugin-sdk/session-summary.ts";
import { axeFindings } from "./accessibility.ts";
import { closeConsole, openConsole, openWholeConsole, pictures, type WholeConsole } from "./console-fixture.ts";

let { host, browser, opened, page, close } = {} as WholeConsole;

beforeAll(async () => {
  ({ host, browser, opened, page, close } = await openWholeConsole());
  await mkdir(pictures, { recursive: true });
  await work("Search for the word barnacle");
  await work("Look at plurals", { place: "last" });
  const other = await host.client.start({ workdir: host.workdir, prompt: "Say plurals" }, { adapter: "says" });
  await other.result();
});
afterAll(() => close?.());

async function work(prompt: string, labels: Record<string, string> = {}): Promise<string> {
  const session = await host.client.start({ workdir: host.workdir, prompt, labels }, { adapter: "works" });
  await session.result();
  return session.id;
}

const field = (name: string) => page.getByLabel(name, { exact: true });
const found = () => page.locator(".found-session");

test("places stand with their session's title, agent and repository, and lead to the event", async () => {
  await opened.go("#/history");
  await field("Search all sessions").fill("plurals");
  await found().first().locator("mark", { hasText: /plurals/i }).first().waitFor();
  expect(await found().count()).toBe(3);
  const last = found().filter({ hasText: "Look at plurals" });
  expect(await last.locator(".found-head").textContent()).toMatch(/Look at plurals.*works.*tidepool.*\d places/);
  await field("Label, as name=value").fill("place=last");
  await expect.poll(() => found().count()).toBe(1);
  await field("Label, as name=value").fill("place=nowhere");
  await page.getByText("No event has these words").waitFor();
  await field("Label, as name=value").fill("");
  await field("Agent").fill("says");
  await expect.poll(() => found().count()).toBe(1);
  await found().locator(".found-place").first().click();
  await page.waitForURL(/#\/sessions\/[^/]+\/\d+$/);
  await page.goBack();
  await page.waitForURL(/#\/history\/plurals$/);
  expect(await field("Search all sessions").inputValue()).toBe("plurals");
});

test("the session that changed a file is there after two actions: the screen and the name", async () => {
  await opened.go("#/needs-you");
  await page.getByRole("heading", { level: 1, name: "Needs you" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await page.locator("[type=search]:focus").waitFor();
  await page.keyboard.type("src/tally.js");
  await found().first().waitFor();
  const places = await found().first().locator(".found-place").allTextContents();
  expect(places[0]).toMatch(/^file.*src\/tally\.js/);
});

test("kinds narrow the places to files, words, commands or denials", async () => {
  await opened.go("#/history");
  await field("Search all sessions").fill("tally");
  await found().first().waitFor();
  const kinds = page.getByRole("group", { name: "Kinds of places" });
  for (const [name, word] of [["Files", "file"], ["Said", "said"], ["Commands", "command"]] as const) {
    await kinds.getByRole("button", { name }).click();
    await expect.poll(async () => [...new Set(await page.locator(".found-place .tag").allTextContents())]).toEqual([
      word,
    ]);
  }
  await kinds.getByRole("button", { name: "Denied" }).click();
  await page.getByText("No event has these words").waitFor();
  await field("Search all sessions").fill("registry");
  await page.locator(".found-denied").first().waitFor();
  await kinds.getByRole("button", { name: "All" }).click();
  // Each of the others has a word of a person, and is whole.
  await field("Search all sessions").fill("tally");
  const tags = page.locator(".found-place .tag");
  const others = page.locator(".found-place .found-other");
  await others.first().waitFor();
  const more = page.getByRole("button", { name: /more in this session/ });
  while (await more.count() > 0) await more.first().click();
  for (const word of await others.allTextContents()) expect(["tool", "result", "plan", "allowed"]).toContain(word);
  expect(
    await tags.evaluateAll((all) =>
      (all as unknown as { scrollWidth: number; clientWidth: number }[])
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length
    ),
  ).toBe(0);
});

/** Shows a page sessions of many days: those of a test's host are all of this minute. */
async function showDays(of: Page): Promise<void> {
  const [real] = (await host.call<{ sessions: SessionSummary[] }>("GET", "/v1/sessions?limit=1")).sessions;
  const begin = Date.now();
  const sessions = Array.from({ length: 160 }, (_, at): SessionSummary => {
    const started = begin - (at * 0.9 + Math.sin(at) * 2 + 3) * 3_600_000;
    return {
      ...real!,
      session_id: `made-${at}`,
      title: ["Make the rounding exact", "Clean up the flaky tests", "Publish a dry run"][at % 3]!,
      adapter_id: ["works", "codexa", "kimi"][at % 3]!,
      started_at: new Date(started).toISOString(),
      ended_at: new Date(started + (10 + at * 7 % 140) * 60_000).toISOString(),
    };
  });
  await of.route("**/v1/sessions?since=*", async (route) => {
    const since = new URL(route.request().url()).searchParams.get("since")!;
    await route.fulfill({ json: { sessions: sessions.filter((one) => one.started_at >= since), next: null } });
  });
}

test("the strip shows what ran when, and goes to any time by keys, by a click and by a day's name", async () => {
  const whole = await openConsole(browser, host);
  await showDays(whole.page);
  await whole.go("#/history");
  const strip = whole.page.getByRole("slider", { name: "Time" });
  await strip.waitFor();
  const said =
    async () => [await strip.getAttribute("aria-valuetext"), await whole.page.locator(".moment-head").textContent()];
  const now = Number(await strip.getAttribute("aria-valuenow"));
  await strip.focus();
  await whole.page.keyboard.press("PageUp");
  expect(Number(await strip.getAttribute("aria-valuenow"))).toBe(now - 24);
  await whole.page.keyboard.press("ArrowLeft");
  expect(Number(await strip.getAttribute("aria-valuenow"))).toBe(now - 25);
  const [text, head] = await said();
  expect(text).toMatch(/^[A-Z][a-z]+day, November \d+ at \d\d:00: \d+ ran$|^[A-Z][a-z]+day, .*\d\d:00: \d+ ran$/);
  const rows = await whole.page.locator(".session-row").count();
  expect(head).toContain(rows === 0 ? "nothing ran" : `${rows} session`);
  await whole.page.keyboard.press("Home");
  expect(await strip.getAttribute("aria-valuenow")).toBe("0");
  const box = (await strip.boundingBox())!;
  await whole.page.mouse.click(box.x + box.width * 0.5, box.y + 20);
  expect(Number(await strip.getAttribute("aria-valuenow"))).toBeCloseTo(84, -1);
  await whole.page.locator(".strip-days button").nth(2).click();
  expect(Math.floor(Number(await strip.getAttribute("aria-valuenow")) / 24)).toBe(2);
  await whole.page.locator(".session-row").first().getByRole("link").waitFor();
  await closeConsole(whole);
});

test("the time plays: it walks on, pauses, goes faster, takes Space on the strip, and stops at the end", async () => {
  const whole = await openConsole(browser, host);
  await showDays(whole.page);
  await whole.go("#/history");
  const strip = whole.page.getByRole("slider", { name: "Time" });
  const [play, pause] = ["Play", "Pause"].map((name) => whole.page.getByRole("button", { name, exact: true }));
  const at = async () => Number(await strip.getAttribute("aria-valuenow"));
  await strip.waitFor();
  const end = Number(await strip.getAttribute("aria-valuemax"));
  // It begins where something ran first, not at the end, where a person finds the strip.
  await play!.click();
  await expect.poll(at).toBeLessThan(60);
  const first = await at();
  await expect.poll(at).toBeGreaterThan(first + 2);
  // A screen reader is not told of each step.
  expect(await whole.page.locator(".moment-head").getAttribute("role")).toBe(null);
  await pause!.press("Enter");
  await play!.waitFor();
  const paused = await at();
  await whole.page.waitForTimeout(700);
  expect(await at()).toBe(paused);
  expect(await whole.page.locator(".moment-head").getAttribute("role")).toBe("status");
  await strip.focus();
  await whole.page.keyboard.press("Space");
  await expect.poll(at).toBeGreaterThan(paused);
  await whole.page.getByLabel("Speed").selectOption("5×");
  const [from, since] = [await at(), Date.now()];
  await expect.poll(at).toBeGreaterThan(from + 10);
  // At the first speed it would take more than 2 seconds.
  expect(Date.now() - since).toBeLessThan(2000);
  await strip.press("End");
  await strip.press("ArrowLeft");
  // On a busy machine it stops at the end before it is taken back by a step.
  if (await play!.isVisible() && await at() < end) await whole.page.keyboard.press("Space");
  await expect.poll(at).toBe(end);
  await play!.waitFor({ timeout: 10_000 });
  await closeConsole(whole);
});

test.each([["reduce", "0s"], ["no-preference", "0.2s"]] as const)(
  "with the motion %s the cursor of the strip glides for %s",
  async (reducedMotion, time) => {
    const whole = await openConsole(browser, host, { reducedMotion });
    await showDays(whole.page);
    await whole.go("#/history");
    await whole.page.getByRole("button", { name: "Play", exact: true }).click();
    await whole.page.locator(".time-strip.is-playing").waitFor();
    const glide = () =>
      whole.page.evaluate("getComputedStyle(document.querySelector('.strip-cursor')).transitionDuration");
    expect(await glide()).toBe(time);
    await closeConsole(whole);
  },
);

test("what runs now is at the end of the strip, and a session's events are exported as they are in the journal", async () => {
  const id = await work("Export me");
  await opened.go("#/history");
  await field("Search all sessions").fill("");
  const row = page.locator(".session-row", { hasText: "Export me" });
  const saving = page.waitForEvent("download");
  await row.getByRole("button", { name: "Export" }).click();
  const text = await readFile(await (await saving).path(), "utf8");
  const { last_seq } = await (await host.client.open(id)).summary();
  const seqs = text.trimEnd().split("\n").map((line) => (JSON.parse(line) as { seq: number }).seq);
  expect(seqs).toEqual(Array.from({ length: last_seq }, (_, at) => at + 1));
  await page.getByRole("button", { name: "Verify the journal" }).click();
  await page.getByText("are as they were written").waitFor();
});

test("History fits at every width and in every look, and axe finds nothing", async () => {
  const findings: string[] = [];
  for (const width of [1440, 1024, 390]) {
    for (const colorScheme of ["light", "dark"] as const) {
      const whole = await openConsole(browser, host, { viewport: { width, height: 900 }, colorScheme });
      await showDays(whole.page);
      for (
        const [name, hash, sign] of [["strip", "", ".moment-head"], ["found", "/tally", ".found-session"]] as const
      ) {
        await whole.go("#/sessions");
        await whole.page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
        await whole.go(`#/history${hash}`);
        await whole.page.locator(sign).first().waitFor();
        if (name === "strip") {
          await whole.page.getByRole("slider").press("PageUp");
          const [field, panel] = await Promise.all(
            [".strip-field", ".panel"].map((one) => whole.page.locator(one).boundingBox()),
          );
          if (field!.width < panel!.width - 40) findings.push(`${width}: the strip is ${field!.width} pixels wide`);
        }
        await whole.page.screenshot({ path: join(pictures, `history-${name}-${width}-${colorScheme}.png`) });
        const wide = await whole.page.evaluate<number>(
          `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("main"))`,
        );
        if (wide > 1) findings.push(`${name} ${width}: ${wide} pixels too wide`);
        findings.push(...(await axeFindings(whole.page)).map((one) => `${name} ${width} ${colorScheme}: ${one}`));
      }
      await closeConsole(whole);
    }
  }
  expect(findings).toEqual([]);
}, 240_000);
