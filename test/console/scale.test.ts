import { execFile } from "node:child_process";
import { loadavg } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import type { Browser, CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { openJournal } from "../../core/records/journal/open-journal.ts";
import { stateJournals } from "../../core/sessions/host/state/state-journals.ts";
import { closeConsole, type ConsoleHost, openBrowser, openConsole, openConsoleHost, pause } from "./console-fixture.ts";
import { type OwnTime, ownTimeOf, traceCategories } from "./frame-times.ts";

// `npm run test:console:scale` asks for a million events; the suite's own run takes a tenth of them.
const count = Number(process.env["BULKHEAD_CONSOLE_EVENTS"] ?? 100_000);
const isWhole = count >= 1_000_000;

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
  const opened = await openConsole(browser, host);
  const { page, go } = opened;
  const debug = await page.context().newCDPSession(page);
  // The page follows all of them: many events in a short time are as much for it as the same events in an hour.
  const long = await client.start({ workdir, prompt: String(count), retry: "never" }, {
    adapter: "many",
    artifacts: "none",
  });
  const beganAt = performance.now();
  await go(`#/sessions/${long.id}`);
  await long.result();
  const { last_seq } = await long.summary();
  await page.locator(`.row[data-to="${last_seq}"]`).waitFor({ timeout: 300_000 });
  const followed = Math.round(last_seq / (performance.now() - beganAt) * 1000);
  const heapFollowedMb = await heapOf(debug);
  const openMs: number[] = [];
  for (let round = 0; round < 5; round++) {
    await go("#/sessions");
    await page.locator(`a.session-title[href*="${long.id}"]`).waitFor();
    await page.waitForTimeout(500);
    openMs.push(await page.evaluate<number>(opening(long.id)));
  }
  const middleMs = await page.evaluate<number>(jumping(Math.floor(count / 2)));
  // A few hundred frames of each kind.
  const seconds = isWhole ? 10 : 3;
  const scroll = await framesOf(page, { seconds, scrolls: true });
  const busy = await client.start({ workdir, prompt: "5000", retry: "never" }, { adapter: "pours", artifacts: "none" });
  await go(`#/sessions/${busy.id}`);
  await page.getByText("of what the agent says").first().waitFor();
  const [before, beforeAt] = [(await busy.summary()).last_seq, performance.now()];
  const follow = await framesOf(page, { seconds, scrolls: false });
  const scrollOwn = await framesOf(page, { seconds, scrolls: true });
  const rate = Math.round(((await busy.summary()).last_seq - before) / (performance.now() - beforeAt) * 1000);
  await go(`#/sessions/${long.id}`);
  await page.getByText("of what the agent says").first().waitFor();
  const beside = await framesOf(page, { seconds, scrolls: true });
  await busy.interrupt();
  const heapMb = await heapOf(debug);
  const load = loadavg().map((one) => Math.round(one * 10) / 10);
  const drawn = { scroll, rate, follow, scrollOwn, beside };
  const figures = { count, followed, heapFollowedMb, openMs, middleMs, ...drawn, heapMb, load };
  process.stdout.write(`${JSON.stringify({ console_scale: figures })}\n`);
  // Twice the aims and more. Time between frames is told, not judged: other programs may have the processors.
  expect(Math.min(...openMs)).toBeLessThan(1000);
  expect(Math.max(heapMb, heapFollowedMb)).toBeLessThan(120);
  for (const { own } of [scroll, follow, scrollOwn, beside]) {
    expect(own.frames).toBeGreaterThan(10);
    expect(own.p95).toBeLessThan(50);
    expect(own.busy).toBeLessThan(0.5);
  }
  await closeConsole(opened);
}, 900_000);

test("5,000 sessions: the first rows are there at once, and so is a filter's answer", async () => {
  await host.kill();
  const [own] = await stateJournals(join(host.folder, "state"));
  const journal = await openJournal(own!.file);
  await appendSessions(journal, 5000);
  await journal.close();
  await host.start();
  const answered = async (path: string) => {
    const times: number[] = [];
    for (let round = 0; round < 5; round++) {
      const began = performance.now();
      await host.call("GET", path);
      times.push(Math.round(performance.now() - began));
    }
    return Math.min(...times);
  };
  const hostMs = {
    list: await answered("/v1/sessions?state=ended&limit=100&facts=true"),
    words: await answered("/v1/sessions?state=ended&limit=100&facts=true&text=rounding+part-7"),
    counts: await answered("/v1/sessions/counts"),
    narrowed: await answered("/v1/sessions/counts?text=rounding&adapter=works&label=ticket%3D3"),
  };
  // The changed lines of each are read from its last event.
  const [newest] = await host.client.list({ state: "ended", limit: 1, facts: true });
  expect(newest?.facts?.lines).toEqual({ added: 120, removed: 30 });
  const opened = await openConsole(browser, host, { hash: "#/spend" });
  const [rowsMs, filterMs] = [[] as number[], [] as number[]];
  for (let round = 0; round < 5; round++) {
    await opened.go("#/spend");
    await opened.page.waitForTimeout(300);
    rowsMs.push(await opened.page.evaluate<number>(shown("location.hash = '#/sessions'", ".session-line")));
    const one = `part-${1000 + round} `;
    const type = `const field = document.querySelector("input[type=search]");
      field.value = "${one}"; field.dispatchEvent(new Event("input"));`;
    filterMs.push(await opened.page.evaluate<number>(shown(type, ".session-line", `part-${1000 + round} of`)));
    await opened.page.getByRole("button", { name: "Clear all filters" }).click();
    await opened.page.waitForTimeout(500);
  }
  await opened.page.locator("main").evaluate((main: { scrollTop: number; scrollHeight: number }) =>
    void (main.scrollTop = main.scrollHeight)
  );
  await expect.poll(() => opened.page.locator(".session-line").count()).toBeLessThan(120);
  process.stdout.write(`${JSON.stringify({ console_sessions: { hostMs, rowsMs, filterMs, load: loadavg()[0] } })}\n`);
  // Twice the aims and more, as above: 300 ms to the first rows, and 200 ms and the moment of typing to a filter's answer.
  expect(Math.min(...rowsMs)).toBeLessThan(600);
  expect(Math.min(...filterMs)).toBeLessThan(800);
  expect(Math.max(...Object.values(hostMs))).toBeLessThan(400);
  await closeConsole(opened);
}, 240_000);

/** Writes sessions that have ended into a journal, one a minute. */
async function appendSessions(journal: Awaited<ReturnType<typeof openJournal>>, most: number): Promise<void> {
  const agents = ["works", "fails", "busy"];
  const sha256 = "0".repeat(64);
  const artifacts = Array.from({ length: 30 }, (_, at) => (
    { path: `src/part-${at}.ts`, change: "modified", kind: "file", sha256, bytes: 900, lines: { added: 4, removed: 1 } }
  ));
  let gseq = journal.lastGseq;
  const began = Date.now() - most * 60_000;
  const writes = Array.from({ length: most }, (_, at) => {
    const session_id = at.toString(16).padStart(32, "a");
    const adapter = { id: agents[at % 3]!, version: "1.0.0" };
    const common = { v: 1 as const, ts: new Date(began + at * 60_000).toISOString(), session_id, attempt: 1, adapter };
    const events = [
      {
        type: "session_started",
        adapter_id: adapter.id,
        workdir: `/work/repository-${at % 40}`,
        requested: { prompt: `Make the rounding exact in part-${at} of the shop` },
        labels: { ticket: String(at % 50) },
      },
      { type: "attempt_started", attempt: 1, adapter_id: adapter.id },
      {
        type: "session_ended",
        result: {
          outcome: at % 7 === 0 ? "error" : "completed",
          stop_reason: at % 7 === 0 ? "crash" : "end_turn",
          usage: { cost: 0.01 * (at % 9), currency: "USD" },
          artifacts,
        },
      },
    ] as unknown as Envelope["event"][];
    const envelopes = events.map((event, place) => ({
      ...common,
      seq: place + 1,
      gseq: ++gseq,
      source: "host" as const,
      event,
    }));
    return journal.append({ session_id, envelopes });
  });
  await Promise.all(writes);
}

/** Does something in the page, and tells how long it takes until an element is there, with a text. */
function shown(act: string, selector: string, text = ""): string {
  return `new Promise((done) => {
    const began = performance.now();
    ${act};
    const look = () => document.querySelector("${selector}")?.textContent.includes("${text}")
      ? requestAnimationFrame(() => done(Math.round(performance.now() - began)))
      : requestAnimationFrame(look);
    look();
  })`;
}

test("the first load takes less than 120 KB", async () => {
  const opened = await openConsole(browser, host);
  const bytes = await opened.page.evaluate<number>(`[
    ...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")
  ].filter(({ name }) => name.includes("/console")).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`);
  expect(bytes).toBeGreaterThan(20_000);
  expect(bytes).toBeLessThan(120_000);
  await closeConsole(opened);
});

test("the daemon stays as large as it was while nobody looks", async () => {
  const opened = await openConsole(browser, host);
  for (const screen of ["sessions", "walls", "history", "spend", "review", "compare", "needs-you"]) {
    await opened.go(`#/${screen}`);
    await opened.page.waitForTimeout(300);
  }
  await closeConsole(opened);
  // What the page asked for is let go first: its streams at once, the index a minute later.
  await pause(isWhole ? 90_000 : 2000);
  const before = await rssOf(host.pid()!);
  await pause(isWhole ? 300_000 : 4000);
  const after = await rssOf(host.pid()!);
  process.stdout.write(`${JSON.stringify({ console_rss: { beforeMb: before, afterMb: after } })}\n`);
  // Far above what was measured: collections come when they come. It catches a leak, not a megabyte.
  expect(after - before).toBeLessThan(64);
}, 600_000);

/** Resident memory of a process in megabytes. */
async function rssOf(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
  return Math.round(Number(stdout) / 102.4) / 10;
}

/** Milliseconds between frames, and what the page's main thread did for each. */
interface Frames {
  between: { p50: number; p95: number; most: number; count: number };
  own: OwnTime;
}

async function framesOf(page: Page, how: { seconds: number; scrolls: boolean }): Promise<Frames> {
  await browser.startTracing(page, { categories: traceCategories });
  const between = await page.evaluate<Frames["between"]>(frames(how));
  return { between, own: ownTimeOf(String(await browser.stopTracing())) };
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
