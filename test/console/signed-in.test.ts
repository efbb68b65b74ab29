import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeFindings } from "./accessibility.ts";
import {
  closeConsole,
  type ConsolePage,
  openConsole,
  openWholeConsole,
  pictures,
  type WholeConsole,
} from "./console-fixture.ts";

let { host, browser, opened, page, close } = {} as WholeConsole;

beforeAll(async () => void ({ host, browser, opened, page, close } = await openWholeConsole()));
afterAll(() => close?.());

/** Opens an address in a new tab, as a link of another program does. */
async function openLink(context: BrowserContext, hash: string): Promise<Page> {
  const tab = await context.newPage();
  await tab.goto(`${host.address}/console${hash}`);
  return tab;
}

test("a tab stays signed in over a reload, at its place", async () => {
  await opened.go("#/walls");
  await page.getByRole("heading", { level: 1, name: "Walls" }).waitFor();
  await page.reload();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByRole("heading", { level: 1, name: "Walls" }).waitFor();
});

test("a link opens where another tab is signed in, and needs no code", async () => {
  const tab = await openLink(page.context(), "#/spend");
  await tab.getByRole("heading", { level: 1, name: "Spend" }).waitFor();
  await tab.close();
});

test("a link outlives the sign-in: its place opens in both tabs", async () => {
  const context = await browser.newContext();
  const link = await openLink(context, "#/history");
  await link.getByText("bulkhead console").waitFor();
  await link.screenshot({ path: join(pictures, "signed-out.png") });
  expect(await axeFindings(link)).toEqual([]);
  const tab = await context.newPage();
  await tab.goto(`${host.address}/console#code=${await host.code()}`);
  for (const one of [tab, link]) await one.getByRole("heading", { level: 1, name: "History" }).waitFor();
  // It was wanted once.
  const next = await context.newPage();
  await next.goto(`${host.address}/console#code=${await host.code()}`);
  await next.getByRole("heading", { level: 1, name: "Needs you" }).waitFor();
  await context.close();
});

test("a code that is put into the address of an open tab is taken", async () => {
  const context = await browser.newContext();
  const tab = await openLink(context, "");
  await tab.getByText("bulkhead console").waitFor();
  await tab.goto(`${host.address}/console#code=${await host.code()}`);
  await tab.getByText("Live", { exact: true }).waitFor();
  expect(tab.url()).not.toContain("code");
  await context.close();
});

test("who signs out ends the key at the host, and every tab says so", async () => {
  const first = await openConsole(browser, host, { hash: "#/spend" });
  const key = JSON.parse(await first.page.evaluate<string>("sessionStorage['bulkhead-key']")) as { token: string };
  const second = await openLink(first.page.context(), "#/sessions");
  await second.getByText("Live", { exact: true }).waitFor();
  await first.page.getByRole("button", { name: "Sign out" }).click();
  await first.page.getByText("You have signed out.").waitFor();
  await second.getByText("bulkhead console").waitFor();
  const answer = await fetch(`${host.address}/v1/plugins`, { headers: { authorization: `Bearer ${key.token}` } });
  expect(answer.status).toBe(401);
  for (const tab of [first.page, second]) expect(await tab.evaluate("Object.keys(sessionStorage)")).toEqual([]);
  await second.close();
  await closeConsole(first);
});

test("a key that has ended says when, and how to get in again", async () => {
  const context = await browser.newContext();
  const tab = await openLink(context, "");
  const kept = { token: "old", id: "0", scopes: ["admin"], expires_at: "2026-01-31T12:00:00Z" };
  await tab.evaluate(`sessionStorage["bulkhead-key"] = ${JSON.stringify(JSON.stringify(kept))}`);
  await tab.reload();
  await tab.getByText(/The key of this tab ended at .*2026/).waitFor();
  await tab.getByText("bulkhead console").waitFor();
  await context.close();
});

test("tabs that are not seen leave the connections of the browser to those that are, but for one", async () => {
  const script = `let isHidden = false;
    Object.defineProperty(document, "hidden", { get: () => isHidden });
    globalThis.hide = (now) => { isHidden = now; document.dispatchEvent(new Event("visibilitychange")); };`;
  const first = await openConsole(browser, host, { script });
  const tabs = [first];
  const streams = new Set<string>();
  const follow = ({ page }: ConsolePage, tab: string) => {
    page.on("request", (request) => request.url().includes("/v1/events") && streams.add(tab));
    page.on("requestfailed", (request) => request.url().includes("/v1/events") && streams.delete(tab));
  };
  for (let at = 1; at < 6; at++) {
    const tab = await openConsole(browser, host, { script, beside: first });
    tabs.push(tab);
  }
  for (const [at, tab] of tabs.entries()) {
    streams.add(String(at));
    follow(tab, String(at));
    await tab.page.evaluate("hide(true)");
  }
  await expect.poll(() => streams.size, { timeout: 20_000 }).toBe(1);
  // A seventh one is live at once, and so is one of the others when it is seen again.
  const seen = await openConsole(browser, host, { script, beside: first, hash: "#/sessions" });
  await seen.page.getByRole("heading", { name: "Sessions" }).waitFor();
  await host.client.start({ workdir: host.workdir, prompt: "Told to all" }, { adapter: "waits" });
  await seen.page.getByText("Told to all").first().waitFor();
  const parked = tabs[[0, 1, 2, 3, 4, 5].find((at) => !streams.has(String(at)))!]!;
  await parked.go("#/sessions");
  await parked.page.evaluate("hide(false)");
  await parked.page.getByText("Told to all").first().waitFor();
  await parked.page.getByText("Live", { exact: true }).waitFor();
  for (const tab of [seen, ...tabs]) expect(tab.breaches).toEqual([]);
  await closeConsole(first);
});
