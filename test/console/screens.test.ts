import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
let waiting = "";
let comparison = "";

beforeAll(async () => {
  [host, browser] = await Promise.all([openConsoleHost(), openBrowser(), mkdir(pictures, { recursive: true })]);
  const { client, workdir } = host;
  const request = {
    workdir,
    prompt: "Make tally return a text",
    workspace: "worktree" as const,
    labels: { ticket: "42", team: "shore" },
  };
  const session = await client.start(request, { adapter: "works" });
  done = session.id;
  await session.result();
  await (await client.start({ workdir, prompt: "Use the missing model", retry: "never" }, { adapter: "fails" }))
    .result();
  waiting =
    (await client.start({ workdir, prompt: "Rebuild everything", answer_timeout_ms: 600_000 }, { adapter: "asks" })).id;
  await client.start({ workdir, prompt: "Tidy up the tally", answer_timeout_ms: 900_000 }, { adapter: "edits" });
  await client.start({ workdir, prompt: "Watch the tests for an hour" }, { adapter: "waits" });
  const compared = await host.call<{ id: string }>("POST", "/v1/comparisons", {
    prompt: "Make tally return a text",
    workdir,
    adapters: ["works", "fails"],
  });
  comparison = compared.id;
});

afterAll(async () => {
  await browser?.close();
  await host?.[Symbol.asyncDispose]();
});

/** Every screen with a text that shows that it is complete. */
const screens = {
  "needs-you": { hash: () => "#/needs-you", sign: "rm -rf dist && npm run build" },
  "sessions": { hash: () => "#/sessions", sign: "Watch the tests for an hour" },
  "session": { hash: () => `#/sessions/${done}`, sign: "One test about plurals still fails." },
  "session-event": { hash: () => `#/sessions/${done}/5`, sign: "I look at src/tally.js first." },
  "session-waiting": { hash: () => `#/sessions/${waiting}`, sign: "Allow once" },
  "start": { hash: () => "#/start", sign: "hostile" },
  "agents": { hash: () => "#/agents", sign: "can take a session" },
  "review-list": { hash: () => "#/review", sign: "Make tally return a text" },
  "review": { hash: () => `#/review/${done}`, sign: "// Words, as a text." },
  "compare-list": { hash: () => "#/compare", sign: "Make tally return a text" },
  "compare": { hash: () => `#/compare/${comparison}`, sign: "Adopt" },
  "walls": { hash: () => "#/walls", sign: "the working folder" },
  "walls-plugin": { hash: () => "#/walls/plugins/works", sign: "Grant …" },
  "walls-denials": { hash: () => "#/walls/denials", sign: "registry.example.org" },
  "walls-calls": { hash: () => "#/walls/calls", sign: "registry.example.org" },
  "walls-machine": { hash: () => "#/walls/machine", sign: "bulkhead doctor" },
  "history": { hash: () => "#/history", sign: "What ran when" },
  "spend": { hash: () => "#/spend", sign: "Cost per day" },
};

const looks = [1440, 1024, 390].flatMap((width) =>
  (["light", "dark"] as const).map((colorScheme) => ({
    look: `${width}-${colorScheme}`,
    colorScheme,
    viewport: { width, height: width < 500 ? 844 : 900 },
  }))
);
/** The short form is for the second runtime: how a page looks does not depend on it, what it shows does. */
const isShort = process.env["BULKHEAD_CONSOLE"] === "short";
/** A test that the short form does without. */
const inFull: (name: string, run: () => Promise<void>) => void = isShort ? () => {} : test;

describe.each(isShort ? looks.slice(0, 1) : looks)("in a $look window", ({ look, ...options }) => {
  test("every screen shows itself, fits, and axe finds nothing", async () => {
    const opened = await openConsole(browser, host, options);
    const { page, go } = opened;
    const findings: string[] = [];
    for (const [name, { hash, sign }] of Object.entries(screens)) {
      await go(hash());
      await page.getByText(sign).first().waitFor({ state: "attached", timeout: 10_000 }).catch(() =>
        findings.push(`${name}: no "${sign}"`)
      );
      await page.waitForTimeout(120);
      await page.screenshot({ path: join(pictures, `${name}-${look}.png`) });
      const wide = await page.evaluate<number>(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("main"))`,
      );
      if (wide > 1) findings.push(`${name}: ${wide} pixels too wide`);
      const cut = await page.evaluate<string[]>(
        `[...document.querySelectorAll(".line-age")].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)`,
      );
      findings.push(...cut.map((text) => `${name}: cuts "${text}"`));
      const agents = page.locator(".session-line .line-agent");
      if (name === "sessions" && !await agents.first().isVisible()) findings.push(`${name}: no agent in a line`);
      findings.push(...(await axeFindings(page)).map((finding) => `${name}: ${finding}`));
    }
    expect(findings).toEqual([]);
    await closeConsole(opened);
  }, 300_000);
});

// What a window does is the browser's part alone.
inFull("every control of every screen is reached by Tab, and shows that it has the focus", async () => {
  const opened = await openConsole(browser, host);
  const { page, go } = opened;
  const findings: string[] = [];
  for (const [name, { hash, sign }] of Object.entries(screens)) {
    await go(hash());
    await page.getByText(sign).first().waitFor({ state: "attached" });
    await page.waitForTimeout(150);
    const all = await page.evaluate<string[]>(`(() => {
      const controls = globalThis.controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
        .filter((one) => !one.disabled && one.getClientRects().length > 0)
        // Arrows lead to the other choices of a group.
        .filter((one) => one.tabIndex >= 0 && (one.type !== "radio" || one.checked));
      globalThis.seen = [];
      document.removeEventListener("focusin", globalThis.onTab);
      document.addEventListener("focusin", globalThis.onTab = ({ target }) =>
        seen.push([controls.indexOf(target), getComputedStyle(target).outlineStyle !== "none"]));
      document.querySelector(".skip").focus();
      return controls.map((one) => one.tagName + " " + (one.textContent || one.ariaLabel || one.name).trim().slice(0, 30));
    })()`);
    // A few are no controls: lists that scroll.
    for (let presses = 0; presses < all.length + 6; presses++) await page.keyboard.press("Tab");
    const seen = await page.evaluate<[number, boolean][]>("seen");
    // "To the end" goes away when the focus scrolls to the end.
    const isThere = await page.evaluate<boolean[]>("controls.map(({ isConnected }) => isConnected)");
    findings.push(
      ...seen.filter(([at, isShown]) => at >= 0 && !isShown).map(([at]) =>
        `${name}: ${all[at]} does not show its focus`
      ),
    );
    const reached = new Set(seen.map(([at]) => at));
    expect(all.length).toBeGreaterThan(8);
    findings.push(
      ...all.filter((_, at) => isThere[at] && !reached.has(at)).map((one) => `${name}: ${one} is not reached`),
    );
  }
  expect(findings).toEqual([]);
  await closeConsole(opened);
});

inFull("in a narrow window a menu leads to every screen, by touch and by keys", async () => {
  const opened = await openConsole(browser, host, { viewport: { width: 390, height: 844 }, hasTouch: true });
  const { page } = opened;
  const menu = page.getByRole("button", { name: /^Menu:/ });
  for (const name of ["Sessions", "Review", "Compare", "Walls", "History", "Spend", "Needs you"]) {
    await menu.tap();
    const link = page.getByRole("link", { name: new RegExp(`^${name}`) });
    const box = await link.boundingBox();
    expect(box!.x + box!.width, name).toBeLessThanOrEqual(390);
    expect(box!.height, name).toBeGreaterThanOrEqual(40);
    await link.tap();
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await page.locator(".nav-links").waitFor({ state: "hidden" });
  }
  await menu.focus();
  await page.keyboard.press("Enter");
  await page.locator(".nav-links").waitFor();
  await page.screenshot({ path: join(pictures, "menu-narrow.png") });
  await page.keyboard.press("Escape");
  await page.locator(".nav-links").waitFor({ state: "hidden" });
  // What waits for a person stands above the events, not a long way below them.
  await opened.go(`#/sessions/${waiting}`);
  const request = await page.locator(".side-waiting").boundingBox();
  const events = await page.locator(".timeline").boundingBox();
  expect(request!.y + request!.height).toBeLessThanOrEqual(events!.y);
  await closeConsole(opened);
});
