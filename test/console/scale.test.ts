import process from "node:process";
import type { Browser, CDPSession } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ConsoleHost, openBrowser, openConsole, openConsoleHost } from "./console-fixture.ts";

// `npm run test:console:scale` asks for a million events; the suite's own run takes a tenth of them.
const count = Number(process.env["BULKHEAD_CONSOLE_EVENTS"] ?? 100_000);

let host: ConsoleHost & AsyncDisposable;
let browser: Browser;

beforeAll(async () => {
  [host, browser] = await Promise.all([openConsoleHost(), openBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await host?.[Symbol.asyncDispose]();
});

test("a session of very many events opens at once, scrolls smoothly while events arrive, and stays small", async () => {
  const { client, workdir } = host;
  const long = await client.start({ workdir, prompt: String(count), retry: "never" }, {
    adapter: "many",
    artifacts: "none",
  });
  await long.result();
  const opened = await openConsole(browser, host);
  const { page, go } = opened;
  const debug = await page.context().newCDPSession(page);
  await go("#/sessions");
  await page.locator(`a.session-title[href*="${long.id}"]`).waitFor();
  const openMs = await page.evaluate<number>(opening(long.id));
  const middleMs = await page.evaluate<number>(jumping(Math.floor(count / 2)));
  const scroll = await page.evaluate<Frames>(frames({ seconds: 5, scrolls: true }));
  // Some five thousand events a second, as fast as one worker's timers allow.
  const busy = await client.start({ workdir, prompt: "1000000 10 50", retry: "never" }, {
    adapter: "many",
    artifacts: "none",
  });
  await go(`#/sessions/${busy.id}`);
  await page.getByText("of what the agent says").first().waitFor();
  const before = (await busy.summary()).last_seq;
  const follow = await page.evaluate<Frames>(frames({ seconds: 10, scrolls: false }));
  const rate = Math.round(((await busy.summary()).last_seq - before) / 10);
  await go(`#/sessions/${long.id}`);
  await page.getByText("of what the agent says").first().waitFor();
  const beside = await page.evaluate<Frames>(frames({ seconds: 5, scrolls: true }));
  await busy.interrupt();
  const heapMb = await heapOf(debug);
  const figures = { count, openMs, middleMs, scroll, rate, follow, beside, heapMb };
  process.stdout.write(`${JSON.stringify({ console_scale: figures })}\n`);
  expect(openMs).toBeLessThan(1500);
  expect(heapMb).toBeLessThan(120);
  expect(follow.p95).toBeLessThan(100);
  await closeConsole(opened);
}, 600_000);

/** Times between frames, in milliseconds. */
interface Frames {
  p50: number;
  p95: number;
  most: number;
  count: number;
}

/** Clicks a session and tells how long it takes until its rows are drawn. */
function opening(id: string): string {
  return `new Promise((done) => {
    const began = performance.now();
    document.querySelector('a.session-title[href*="${id}"]').click();
    const look = () => document.querySelector(".timeline .row") ? requestAnimationFrame(() => done(Math.round(performance.now() - began))) : requestAnimationFrame(look);
    look();
  })`;
}

/** Goes to an event and tells how long it takes until it is drawn. */
function jumping(seq: number): string {
  return `new Promise((done) => {
    const began = performance.now();
    location.hash += "/${seq}";
    const look = () => document.querySelector("[data-target]") ? done(Math.round(performance.now() - began)) : requestAnimationFrame(look);
    look();
  })`;
}

function frames({ seconds, scrolls }: { seconds: number; scrolls: boolean }): string {
  return `new Promise((done) => {
    const list = document.querySelector(".timeline");
    const began = performance.now();
    const times = [];
    let last = began;
    let way = -1;
    const next = (now) => {
      times.push(now - last);
      last = now;
      if (${scrolls}) {
        if (list.scrollTop <= 0) way = 1;
        list.scrollTop += way * 40;
      }
      if (now - began < ${seconds * 1000}) return requestAnimationFrame(next);
      times.sort((a, b) => a - b);
      const at = (part) => Math.round(times[Math.floor(times.length * part)] * 10) / 10;
      done({ p50: at(0.5), p95: at(0.95), most: at(0.999), count: times.length });
    };
    requestAnimationFrame(next);
  })`;
}

async function heapOf(debug: CDPSession): Promise<number> {
  await debug.send("HeapProfiler.collectGarbage");
  const { usedSize } = await debug.send("Runtime.getHeapUsage");
  return Math.round(usedSize / 1e5) / 10;
}
