import type { Browser, Page } from "playwright-core";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
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
  const before = await page.evaluate<ShownRow[]>(shownRows);
  await host.kill();
  const killedAt = performance.now();
  await page.getByText("The host is not reachable").waitFor({ timeout: 2000 });
  expect(performance.now() - killedAt).toBeLessThan(2000);
  await pause(1000);
  await host.start();
  await page.getByText("Live", { exact: true }).waitFor({ timeout: 10_000 });
  await page.getByText("The host is not reachable").waitFor({ state: "detached" });
  await page.getByText("host restarted").first().waitFor({ timeout: 10_000 });
  const envelopes: Envelope[] = [];
  for await (const envelope of (await host.client.open(session.id)).events()) envelopes.push(envelope);
  const { last_seq } = await session.summary();
  expect(envelopes.map(({ seq }) => seq)).toEqual(Array.from({ length: last_seq }, (_, at) => at + 1));
  expect(envelopes.length).toBeGreaterThan(500);
  const rows = await allRows(page);
  // Whatever the page had shown is in the journal: nobody saw an event that is not there any more.
  const kept = new Set(envelopes.flatMap(({ event }) => event.type === "output" ? [event.data.trim()] : []));
  const lines = before.flatMap(({ text }) => text.match(/line \d+ of what the agent says/g) ?? []);
  expect(lines.length).toBeGreaterThan(10);
  expect(lines.filter((line) => !kept.has(line))).toEqual([]);
  // Every event by itself: it is there, and once.
  const wrong = envelopes.flatMap((envelope) => {
    const times = timesShown(envelope, rows);
    return times === 1 ? [] : [`event ${envelope.seq} (${envelope.event.type}) is shown ${times} times`];
  });
  expect(wrong).toEqual([]);
  const numbers = rows.flatMap(({ seq, to }) => [seq, to]);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  await closeConsole(opened);
}, 120_000);

/** A row of the timeline: its kind, the numbers of its first and last event, and all its text. */
interface ShownRow {
  kind: string;
  seq: number;
  to: number;
  text: string;
}

/** How often the page shows an event: by words that it alone has, or by its number. */
function timesShown({ seq, event }: Envelope, rows: readonly ShownRow[]): number {
  switch (event.type) {
    case "output":
      // The end of a session has its output once more.
      return rows.filter(({ kind }) => kind === "text")
        .reduce((sum, { text }) => sum + text.split(event.data.trim()).length - 1, 0);
    case "tool_call":
      return rows.filter(({ text }) => text.includes(String(Reflect.get(event.input as object, "file_path")))).length;
    case "tool_result": {
      // In the row of its call, or by itself where that is in another part of the list.
      const call = `src/file-${event.call_id.slice(1)}.ts`;
      return rows.filter((row) => row.seq === seq || row.text.includes(call) && /[✓✕]/.test(row.text)).length;
    }
    default:
      return rows.filter((row) => row.seq <= seq && seq <= row.to).length;
  }
}

/** All rows, from the first screen to the last, each as it was last seen. */
async function allRows(page: Page): Promise<ShownRow[]> {
  const list = page.locator(".timeline");
  const seen = new Map<number, ShownRow>();
  await list.evaluate((one: { scrollTop: number }) => void (one.scrollTop = 0));
  for (let place = -1;;) {
    await page.evaluate(drawn);
    for (const row of await page.evaluate<ShownRow[]>(shownRows)) seen.set(row.seq, row);
    const now = await list.evaluate((
      one: { scrollTop: number; clientHeight: number },
    ) => (one.scrollTop += one.clientHeight));
    if (now === place) break;
    place = now;
  }
  return [...seen.values()].sort((a, b) => a.seq - b.seq);
}

/** Resolves once the rows of a new place are drawn with their events: a scroll is seen in one frame and drawn in the next. */
const drawn = `new Promise((done) => {
  const look = (frames) => requestAnimationFrame(() =>
    frames > 0 || document.querySelector(".timeline .block-unknown") !== null ? look(frames - 1) : done());
  look(3);
})`;

const shownRows = `[...document.querySelectorAll(".timeline .row")].map((row) =>
  ({ kind: row.className.replace(/^row row-(\\w+).*$/, "$1"), seq: Number(row.dataset.seq), to: Number(row.dataset.to), text: row.textContent }))`;
