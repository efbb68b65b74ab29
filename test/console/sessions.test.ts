import { afterAll, beforeAll, expect, test } from "vitest";
import { axeFindings } from "./accessibility.ts";
import { closeConsole, openConsole, openWholeConsole, pictures, type WholeConsole } from "./console-fixture.ts";

let { host, browser, opened, page, close } = {} as WholeConsole;

beforeAll(async () => void ({ host, browser, opened, page, close } = await openWholeConsole()));
afterAll(() => close?.());

function start(adapter: string, prompt: string, more: { labels?: Record<string, string> } = {}) {
  const request = { workdir: host.workdir, prompt, answer_timeout_ms: 600_000, ...more };
  return host.client.start(request, { adapter, artifacts: "none" });
}

const line = (text: string) => page.locator(".session-line", { hasText: text });
const titles = () => page.locator(".session-line a.session-title").allTextContents();

test("what waits comes first, then what runs with its step, plan, lines and cost, then what ended", async () => {
  await (await start("works", "Count the words", { labels: { place: "first" } })).result();
  await (await start("fails", "Reach the model")).result();
  const busy = await start("busy", "Round exactly");
  const asking = await start("asks", "Publish it");
  await opened.go("#/sessions");
  await line("Round exactly").getByText("Bash npm test").waitFor();
  const heads = page.locator(".line-head button");
  await expect.poll(async () => (await heads.allInnerTexts()).map((text) => text.replace(/\s+/g, " "))).toEqual([
    "▾ Waits for you 1",
    "▾ Running 1",
    "▾ Ended 2",
  ]);
  const words = (await line("Round exactly").innerText()).replace(/\s+/g, " ");
  await line("Count the words").getByText("tide-2").waitFor();
  await line("Round exactly").getByText("tide-2").waitFor();
  expect(words).toMatch(/busy tide-2 Round exactly .*Bash npm test \d+:\d\d tidepool 3\/5 \+2 −1 \$0\.12 now/);
  expect(await line("Round exactly").locator(".beats title").textContent()).toMatch(/^\d+ events in the last 10 min/);
  await line("Publish it").getByText("Run a command that removes the build").waitFor();
  await line("Count the words").getByText("$0.08").waitFor();
  await line("Reach the model").getByText("fatal").waitFor();
  // A request has both: how long its session runs, and how long it waits on.
  expect((await line("Publish it").innerText()).replace(/\s+/g, " ")).toMatch(/now · (9|10) min left$/);
  expect(await page.locator(".line-head", { hasText: "Waits for you" }).getByRole("link").textContent()).toBe(
    "Needs you",
  );
  expect(await titles()).toEqual(["Publish it", "Round exactly", "Reach the model", "Count the words"]);
  await opened.go(`#/sessions/${busy.id}`);
  await page.locator(".lead", { hasText: "tide-2" }).waitFor();
  await opened.go("#/sessions");
  for (const session of [busy, asking]) await session.interrupt();
  await expect.poll(titles).toEqual(["Publish it", "Round exactly", "Reach the model", "Count the words"]);
  await expect.poll(async () => (await heads.allInnerTexts()).join()).toMatch(/^▾\s*Ended\s*4$/);
});

test("words, state, agent, label and day narrow the list by the host, with counts, and groups can be changed", async () => {
  await opened.go("#/sessions");
  await page.keyboard.press("/");
  await page.keyboard.type("WORDS place=first");
  await expect.poll(titles).toEqual(["Count the words"]);
  await page.getByText("1 session, 0 of them running").waitFor();
  await page.getByRole("button", { name: "Clear all filters" }).click();
  const chips = page.getByRole("group", { name: "Filter by state" });
  await chips.getByRole("button", { name: "Interrupted 2" }).click();
  await expect.poll(titles).toEqual(["Publish it", "Round exactly"]);
  await chips.getByRole("button", { name: "All 4" }).click();
  await page.getByRole("combobox", { name: /^Agent/ }).selectOption({ label: "fails (1)" });
  await expect.poll(titles).toEqual(["Reach the model"]);
  await page.getByRole("combobox", { name: /^Agent/ }).selectOption("");
  await page.getByRole("combobox", { name: /^Label/ }).selectOption("place=first");
  await expect.poll(titles).toEqual(["Count the words"]);
  await page.getByRole("combobox", { name: /^Label/ }).selectOption("");
  await page.getByLabel("To", { exact: true }).fill("2020-01-01");
  await page.getByText("No session matches").waitFor();
  await page.getByRole("button", { name: "Clear all filters" }).first().click();
  await page.getByLabel("Group by").selectOption("agent");
  await expect.poll(() => page.locator(".line-head button").count()).toBe(4);
  await page.getByLabel("Group by").selectOption("state");
  await page.keyboard.press("Escape");
  await page.locator("h1").click();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Round exactly" }).waitFor();
});

test("groups and choices have the host's counts over all sessions, and not over those that are loaded", async () => {
  if ((await host.client.list({ adapter: "works" })).length === 0) await (await start("works", "Count it")).result();
  const many = await openConsole(browser, host);
  const states = { running: 0, completed: 9000, blocked: 0, error: 21, interrupted: 0 };
  const [adapters, folders] = [[{ name: "works", count: 4321 }], [{ name: "tidepool", count: 5432 }]];
  const labels = [{ name: "old=label", count: 7 }];
  await many.page.route("**/v1/sessions/counts*", (route) => {
    const { searchParams: asked } = new URL(route.request().url());
    const isDay = asked.has("since") && asked.has("until");
    const isOfState = asked.get("outcome") === "completed";
    const total = isDay ? 777 : isOfState ? 9000 : 9021;
    return route.fulfill({ json: { total, states, adapters, folders, labels } });
  });
  await many.go("#/sessions");
  const head = (text: RegExp) => many.page.locator(".line-head", { hasText: text });
  const group = many.page.getByLabel("Group by");
  await group.selectOption("agent");
  await head(/works\s*4,321/).waitFor();
  await group.selectOption("repository");
  await head(/tidepool\s*5,432/).waitFor();
  await group.selectOption("day");
  await head(/\d{4}\s*777/).waitFor();
  await many.page.getByRole("button", { name: "Done 9,000" }).click();
  await many.page.locator(".lead", { hasText: /^9,000 sessions$/ }).waitFor();
  await many.page.getByRole("button", { name: "All 9,021" }).waitFor();
  await many.go("#/history");
  await many.page.locator("#search-labels option[value='old=label']").waitFor({ state: "attached" });
  await many.page.locator("#search-agents option[value='works']").waitFor({ state: "attached" });
  expect(await many.page.locator("#search-labels option").count()).toBe(1);
  await many.go("#/spend");
  await many.page.getByRole("button", { name: "By old" }).waitFor();
  await closeConsole(many);
});

test("a file that was changed is found with the session that changed it", async () => {
  await opened.go("#/sessions");
  await page.getByLabel("Search sessions").fill("src/tally.js");
  const changed = page.getByRole("region", { name: "Sessions that changed this file" });
  await changed.getByRole("link", { name: "Count the words" }).click();
  await page.locator("[data-target]", { hasText: "src/tally.js" }).waitFor();
  await opened.go("#/sessions");
  await page.getByLabel("Search sessions").fill("");
});

test("selected sessions are stopped together, and all of them with one click that can be taken back", async () => {
  const all = [
    await start("waits", "Watch one"),
    await start("waits", "Watch two"),
    await start("waits", "Watch three"),
  ];
  await opened.go("#/sessions");
  await line("Watch one").waitFor();
  await page.getByRole("button", { name: "Stop all 3" }).click();
  await page.getByText(/3 sessions are stopped in \d s/).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await line("Watch one").getByRole("checkbox").check();
  await page.getByRole("group", { name: "Selected sessions" }).getByRole("button", { name: "Stop 1" }).click();
  await page.getByRole("button", { name: "Stop now" }).click();
  expect((await all[0]!.result()).stop_reason).toBe("interrupted");
  expect((await host.client.list({ state: "running" })).length).toBe(2);
  await page.getByRole("button", { name: "Stop all 2" }).click();
  for (const session of all) expect((await session.result()).stop_reason).toBe("interrupted");
  await expect.poll(async () => (await page.locator(".line-head").allInnerTexts()).join()).toMatch(/^▾\s*Ended\s*7$/);
});

test("an agent that says nothing for five minutes stands in a group of its own", async () => {
  const quiet = await start("waits", "Go quiet");
  const other = await openConsole(browser, host);
  await other.page.clock.install({ time: Date.now() });
  await other.go("#/sessions");
  await other.page.locator(".session-line", { hasText: "Go quiet" }).waitFor();
  await other.page.clock.fastForward(6 * 60_000);
  await other.page.getByRole("button", { name: "Silent for 5 minutes or more 1" }).waitFor();
  await other.page.locator(".session-line", { hasText: "Go quiet" }).getByText("silent 6 min").waitFor();
  await closeConsole(other);
  await quiet.interrupt();
});

test("a session that has ended keeps the lines that git counts in what it changed", async () => {
  const request = { workdir: host.workdir, prompt: "Say plural", workspace: "worktree" as const };
  const { artifacts } = await (await host.client.start(request, { adapter: "works" })).result();
  const sum = (of: "added" | "removed") => (artifacts ?? []).reduce((all, { lines }) => all + (lines?.[of] ?? 0), 0);
  expect(sum("added")).toBeGreaterThan(0);
  await opened.go("#/sessions");
  const lines = line("Say plural").locator(".line-lines");
  await expect.poll(() => lines.innerText()).toBe(`+${sum("added")} −${sum("removed")}`);
  expect(await lines.getAttribute("title")).toBe("Lines that it added and removed");
});

test.each([["light", 1440], ["dark", 1440], ["dark", 1024], ["light", 390], ["dark", 390]] as const)(
  "the list has no finding of axe and fits, %s at %i px",
  async (colorScheme, width) => {
    const one = await openConsole(browser, host, { colorScheme, viewport: { width, height: 900 }, hash: "#/sessions" });
    await one.page.locator(".session-line").first().waitFor();
    await one.page.screenshot({ path: `${pictures}/sessions-${width}-${colorScheme}.png` });
    expect(await axeFindings(one.page)).toEqual([]);
    expect(await one.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    await closeConsole(one);
  },
);
