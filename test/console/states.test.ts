import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeFindings } from "./accessibility.ts";
import {
  closeConsole,
  type ConsoleHost,
  openBrowser,
  openConsole,
  openConsoleHost,
  pictures,
} from "./console-fixture.ts";

let host: ConsoleHost & AsyncDisposable;
let browser: Browser;
let done = "";
let comparison = "";

beforeAll(async () => {
  [host, browser] = await Promise.all([openConsoleHost(), openBrowser(), mkdir(pictures, { recursive: true })]);
  const request = { workdir: host.workdir, prompt: "Make tally return a text", workspace: "worktree" as const };
  const session = await host.client.start(request, { adapter: "works" });
  done = session.id;
  await session.result();
  const compared = { prompt: "Make tally return a text", workdir: host.workdir, adapters: ["works", "differs"] };
  comparison = (await host.call<{ id: string }>("POST", "/v1/comparisons", compared)).id;
});

afterAll(async () => {
  await browser?.close();
  await host?.[Symbol.asyncDispose]();
});

test("a screen that failed while the host was away reads itself when it is back, and one box says so meanwhile", async () => {
  const opened = await openConsole(browser, host, { hash: "#/sessions" });
  const { page, go } = opened;
  await host.kill();
  await page.getByText("The host is not reachable").waitFor();
  await go("#/spend");
  await page.getByText("It is read again when the host is back.").waitFor();
  expect(await page.getByRole("alert").count()).toBe(1);
  await host.start();
  await page.getByText("Cost per day, by agent").waitFor({ timeout: 20_000 });
  expect(await page.getByRole("alert").count()).toBe(0);
  // So does a screen with a script of its own.
  await host.kill();
  await page.getByText("The host is not reachable").waitFor();
  await go("#/review");
  await page.getByText("It is read again when the host is back.").waitFor();
  await host.start();
  await page.getByText("for a decision").waitFor({ timeout: 20_000 });
  await go("#/spend");
  await page.getByText("Cost per day, by agent").waitFor();
  await closeConsole(opened);
});

/** Every screen that reads from the host, with a text that shows that it was read. */
const reading: Readonly<Record<string, () => [hash: string, sign: string | RegExp]>> = {
  "needs-you": () => ["#/needs-you", "Nothing waits for you"],
  "sessions": () => ["#/sessions", "of them running"],
  "session": () => [`#/sessions/${done}`, "One test about plurals still fails."],
  "agents": () => ["#/agents", "can take a session"],
  "start": () => ["#/start", "more are off"],
  "review": () => ["#/review", "for a decision"],
  "review/one": () => [`#/review/${done}`, "// Words, as a text."],
  "review/round": () => [`#/review/${done}/1`, "The host keeps the files of a round"],
  "compare": () => ["#/compare", /works, differs|differs, works/],
  "compare/one": () => [`#/compare/${comparison}`, "differs"],
  "walls": () => ["#/walls", "the working folder"],
  "walls/denials": () => ["#/walls/denials", "registry.example.org"],
  "walls/calls": () => ["#/walls/calls", "registry.example.org"],
  "walls/machine": () => ["#/walls/machine", "bulkhead doctor"],
  "history": () => ["#/history", "What ran when"],
  "history/words": () => ["#/history/tally", "place"],
  "spend": () => ["#/spend", "Cost per day, by agent"],
};

test("every screen whose first read fails has a way to try it again, which reads all of it", async () => {
  const opened = await openConsole(browser, host);
  const { page, go } = opened;
  const findings: string[] = [];
  const isRead = (url: URL) => url.pathname.startsWith("/v1/") && url.pathname !== "/v1/events";
  for (const [name, place] of Object.entries(reading)) {
    const [hash, sign] = place();
    await page.route(isRead, (route) => route.fulfill({ status: 503, json: { detail: "The host is busy." } }));
    await go(hash);
    await page.reload();
    const box = page.locator("main").getByRole("alert").filter({ hasText: "The host is busy." });
    const retry = box.getByRole("button", { name: "Retry" }).first();
    const isShown = await retry.waitFor({ timeout: 5000 }).then(() => true, () => false);
    if (!isShown) findings.push(`${name}: no Retry`);
    await page.unroute(isRead);
    if (isShown) await retry.click();
    const isThere = await page.locator("main").getByText(sign).first().waitFor({ timeout: 8000 }).then(
      () => true,
      () => false,
    );
    if (!isThere) findings.push(`${name}: no "${sign}" after it`);
    await box.waitFor({ state: "detached", timeout: 5000 }).catch(() => findings.push(`${name}: the failure stays`));
  }
  expect(findings).toEqual([]);
  await closeConsole(opened);
}, 240_000);

test("sessions that could not be read at first are there with their counts when the host is back", async () => {
  const opened = await openConsole(browser, host, { hash: "#/spend" });
  const { page, go } = opened;
  await host.kill();
  await page.getByText("The host is not reachable").waitFor();
  await go("#/sessions");
  await page.getByText("It is read again when the host is back.").waitFor();
  await host.start();
  await page.getByRole("link", { name: "Make tally return a text" }).first().waitFor({ timeout: 20_000 });
  await page.locator(".lead", { hasText: /^[1-9]\d* sessions?,/ }).waitFor();
  await page.getByRole("button", { name: /^Ended [1-9]/ }).waitFor();
  await closeConsole(opened);
});

test("a key that only reads shows a page that only reads", async () => {
  const opened = await openConsole(browser, host, { scope: "read" });
  const { page, go } = opened;
  await page.getByText("Read only", { exact: true }).waitFor();
  await go("#/start");
  await page.getByText("This page can look, and change nothing").waitFor();
  await go("#/history");
  await page.getByText("What ran when").waitFor();
  expect(await page.getByRole("button", { name: "Verify the journal" }).count()).toBe(0);
  await page.screenshot({ path: join(pictures, "read-only.png") });
  expect(await axeFindings(page)).toEqual([]);
  await closeConsole(opened);
});

test("a refused start stands at its field, and a failure covers nothing and ends on another screen", async () => {
  const opened = await openConsole(browser, host, { hash: "#/start", viewport: { width: 1440, height: 900 } });
  const { page, go } = opened;
  await page.getByLabel("Prompt", { exact: true }).fill("Go");
  await page.getByRole("combobox", { name: "Folder" }).fill("/there/is/no/such/folder");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.locator(".failure").waitFor();
  expect(await page.evaluate("document.activeElement.name")).toBe("workdir");
  await page.screenshot({ path: join(pictures, "start-refused.png") });
  await page.getByRole("combobox", { name: "Folder" }).fill(host.workdir);
  await go("#/sessions/0123456789abcdef0123456789abcdef");
  await page.getByText("It may have been deleted: look in the list.").waitFor();
  expect(await page.getByText("GET /v1").count()).toBe(0);
  await go("#/history");
  await page.route("**/v1/verify", (route) => route.fulfill({ status: 409, json: { detail: "Not now." } }));
  await page.getByRole("button", { name: "Verify the journal" }).click();
  const notice = page.locator(".notice-failure");
  await notice.waitFor();
  const [box, main] = [(await notice.boundingBox())!, (await page.locator("main").boundingBox())!];
  expect(box.y).toBeGreaterThanOrEqual(main.y + main.height - 1);
  await go("#/spend");
  await notice.waitFor({ state: "detached" });
  await closeConsole(opened);
});

test("tools do not stand beside the agents to choose, and only what is not available says how it is", async () => {
  const opened = await openConsole(browser, host, { hash: "#/start" });
  const { page, go } = opened;
  // All agents of these tests are tools.
  await page.getByRole("checkbox", { name: "works" }).waitFor();
  expect(await page.getByText("tools and demos").count()).toBe(0);
  await page.route("**/v1/agents?*", async (route) => {
    const { agents } = await (await route.fetch()).json() as { agents: { id: string; adapter_type: string }[] };
    const isAgent = (id: string) => ["works", "says"].includes(id);
    await route.fulfill({
      json: { agents: agents.map((one) => ({ ...one, adapter_type: isAgent(one.id) ? "cli" : "tool" })) },
    });
  });
  await page.reload();
  await page.locator(".agents > .choices .choice").nth(1).waitFor();
  expect(await page.locator(".agents > .choices .choice").count()).toBe(2);
  const tools = page.locator("details", { hasText: "tools and demos" });
  expect(await tools.getByRole("checkbox", { name: "hostile" }).isVisible()).toBe(false);
  await tools.locator("summary").click();
  await tools.getByRole("checkbox", { name: "hostile" }).check();
  await go("#/agents");
  await page.locator(".agent-row", { hasText: "works" }).waitFor();
  expect(await page.locator(".agent-row .tag", { hasText: /^available$/ }).count()).toBe(0);
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await closeConsole(opened);
});

test("in forced colours the current screen and a pressed chip differ from the others", async () => {
  const opened = await openConsole(browser, host, { forcedColors: "active", hash: "#/spend" });
  const { page } = opened;
  await page.getByText("Cost per day, by agent").waitFor();
  const looks = (selector: string) =>
    page.locator(selector).first().evaluate((one) =>
      // A browser's globals: this function runs in the page.
      (globalThis as unknown as { getComputedStyle(of: unknown): { backgroundColor: string } }).getComputedStyle(one)
        .backgroundColor
    );
  expect(await looks(".nav-link[aria-current]")).not.toBe(await looks(".nav-link:not([aria-current])"));
  expect(await looks('.chip[aria-pressed="true"]')).not.toBe(await looks('.chip[aria-pressed="false"]'));
  await page.screenshot({ path: join(pictures, "spend-forced.png") });
  await closeConsole(opened);
});

test("at twice the size nothing is cut", async () => {
  const opened = await openConsole(browser, host, { viewport: { width: 720, height: 450 }, deviceScaleFactor: 2 });
  const { page, go } = opened;
  for (const [name, sign] of [["history", "What ran when"], ["spend", "Cost per day, by agent"]] as const) {
    await go(`#/${name}`);
    await page.getByText(sign).waitFor();
    expect(
      await page.evaluate(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("main"))`,
      ),
    ).toBeLessThanOrEqual(1);
  }
  await closeConsole(opened);
});
