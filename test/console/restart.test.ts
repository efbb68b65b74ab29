import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ConsoleHost, openBrowser, openConsole, openConsoleHost, pause } from "./console-fixture.ts";

let host: ConsoleHost & AsyncDisposable;
let browser: Browser;

beforeAll(async () => {
  [host, browser] = await Promise.all([openConsoleHost(), openBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await host?.[Symbol.asyncDispose]();
});

test("the page says within two seconds that the host was killed, and is complete after its restart", async () => {
  const opened = await openConsole(browser, host);
  const { page, go } = opened;
  const session = await host.client.start({ workdir: host.workdir, prompt: "100000 20 20", retry: "never" }, {
    adapter: "many",
  });
  await go(`#/sessions/${session.id}`);
  await page.getByText("of what the agent says").first().waitFor();
  await pause(1500);
  await host.kill();
  const killedAt = performance.now();
  await page.getByText("The host is not reachable").waitFor({ timeout: 2000 });
  expect(performance.now() - killedAt).toBeLessThan(2000);
  await pause(1000);
  await host.start();
  await page.getByText("Live", { exact: true }).waitFor({ timeout: 10_000 });
  await page.getByText("The host is not reachable").waitFor({ state: "detached" });
  await page.getByText("host restarted").first().waitFor({ timeout: 10_000 });
  const { last_seq } = await session.summary();
  const seen = await allRows(page);
  // Rows fold several events, so the numbers rise, none is there twice, and the last one is the session's.
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  const lines = await linesSeen(page);
  expect(lines.doubled).toEqual([]);
  expect(seen.at(-1)).toBe(last_seq);
  await closeConsole(opened);
}, 90_000);

/** Numbers of all rows, from the first screen to the last. */
async function allRows(page: Page): Promise<number[]> {
  const list = page.locator(".timeline");
  const seen = new Set<number>();
  await list.evaluate((one: { scrollTop: number }) => void (one.scrollTop = 0));
  for (let place = -1;;) {
    await page.waitForTimeout(120);
    for (
      const seq of await page.evaluate<number[]>(
        `[...document.querySelectorAll(".row")].map((row) => Number(row.dataset.seq))`,
      )
    ) seen.add(seq);
    const now = await list.evaluate((
      one: { scrollTop: number; clientHeight: number },
    ) => (one.scrollTop += one.clientHeight));
    if (now === place) break;
    place = now;
  }
  return [...seen].sort((a, b) => a - b);
}

/** Lines of the agent that are in view more than once. */
async function linesSeen(page: Page): Promise<{ doubled: string[] }> {
  return await page.evaluate<{ doubled: string[] }>(`(() => {
    const lines = document.querySelector(".timeline").innerText.match(/line \\d+ of/g) ?? [];
    return { doubled: lines.filter((line, at) => lines.indexOf(line) !== at) };
  })()`);
}
