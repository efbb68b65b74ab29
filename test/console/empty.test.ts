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

beforeAll(async () => {
  [host, browser] = await Promise.all([openConsoleHost(), openBrowser(), mkdir(pictures, { recursive: true })]);
  // Else its missing grant would wait.
  await host.call("PUT", "/v1/plugins/works/grants", {
    read: ["workdir"],
    write: ["workdir"],
    net: ["api.example.com:443"],
  });
});

afterAll(async () => {
  await browser?.close();
  await host?.[Symbol.asyncDispose]();
});

/** What each screen of a new host says, and the way that it shows. */
const screens = {
  "needs-you": ["Nothing waits for you", "Start a session"],
  "sessions": ["No session yet", "Start a session"],
  "review": ["No worktree waits", "Start one"],
  "compare": ["Nothing to compare yet", "Compare agents"],
  "walls/denials": ["Nothing was denied"],
  "walls/calls": ["No plugin has asked"],
  "history": ["Nothing has happened yet", "Every session will be found here"],
  "spend": ["No session has ended in these days", "Each session that ends adds"],
};

test("Compare names a command that works: where no agent is on, the one that finds some", async () => {
  const opened = await openConsole(browser, host, { hash: "#/compare" });
  await opened.page.getByText('bulkhead run --all "Your prompt"').waitFor();
  await closeConsole(opened);
  const bare = await openConsole(browser, host);
  await bare.page.route("**/v1/agents*", async (route) => {
    const { agents } = await (await route.fetch()).json() as { agents: Record<string, unknown>[] };
    await route.fulfill({ json: { agents: agents.map((agent) => ({ ...agent, availability: "disabled" })) } });
  });
  await bare.go("#/compare");
  await bare.page.getByText("bulkhead setup").waitFor();
  expect(await bare.page.getByText("bulkhead run --all").count()).toBe(0);
  await closeConsole(bare);
});

test("a new host's screens say what they will show and what to do", async () => {
  const opened = await openConsole(browser, host);
  const { page, go } = opened;
  const findings: string[] = [];
  for (const [name, signs] of Object.entries(screens)) {
    await go(`#/${name}`);
    for (const sign of signs) {
      await page.getByText(sign).first().waitFor({ timeout: 5000 }).catch(() => findings.push(`${name}: no "${sign}"`));
    }
    await page.screenshot({ path: join(pictures, `${name.replace("/", "-")}-empty.png`) });
    findings.push(...(await axeFindings(page)).map((finding) => `${name}: ${finding}`));
  }
  expect(findings).toEqual([]);
  await closeConsole(opened);
});
