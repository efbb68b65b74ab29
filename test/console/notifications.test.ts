import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ConsoleHost, openBrowser, openConsole, openConsoleHost } from "./console-fixture.ts";

let host: ConsoleHost & AsyncDisposable;
let browser: Browser;

beforeAll(async () => {
  [host, browser] = await Promise.all([openConsoleHost(), openBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await host?.[Symbol.asyncDispose]();
});

/** A desktop that keeps what it is told, and a person who looks elsewhere on request. */
function desktop(answer: "granted" | "denied"): string {
  return `
    globalThis.told = [];
    globalThis.gone = [];
    globalThis.isAway = false;
    globalThis.Notification = class {
      static requestPermission = async () => ${JSON.stringify(answer)};
      constructor(title, { body, tag }) { told.push({ title, body, tag }); this.tag = tag; }
      close() { gone.push(this.tag); }
    };
    Object.defineProperty(document, "hidden", { get: () => isAway });`;
}

interface Told {
  title: string;
  body: string;
  tag: string;
}

test("the title counts what waits, and the desktop is told of new things on request, while nobody looks", async () => {
  const opened = await openConsole(browser, host, { script: desktop("granted") });
  const { page } = opened;
  const told = () => page.evaluate<Told[]>("told");
  const waits = () => page.locator(".item").count();
  const count = async () => Number(/^\((\d+)\) Bulkhead$/.exec(await page.title())?.[1] ?? 0);
  const ask = async (prompt: string) => {
    const request = { workdir: host.workdir, prompt, answer_timeout_ms: 600_000 };
    const session = await host.client.start(request, { adapter: "edits" });
    await page.locator(".item", { hasText: prompt }).waitFor();
    return session;
  };
  const first = await ask("Edit before anyone asked to be told");
  await expect.poll(async () => await count() - await waits()).toBe(0);
  expect(await told()).toEqual([]);
  await page.getByRole("switch", { name: "Notify me" }).check();
  const second = await ask("Edit while a person looks");
  expect(await told()).toEqual([]);
  await page.evaluate("isAway = true");
  const third = await ask("Edit while nobody looks");
  await expect.poll(told).toEqual([
    { title: "edits waits for you", body: "Edit while nobody looks", tag: expect.stringContaining(third.id) as string },
  ]);
  await page.getByRole("switch", { name: "Notify me" }).uncheck();
  const fourth = await ask("Edit after it was switched off");
  expect(await told()).toHaveLength(1);
  const all = await count();
  await page.evaluate("isAway = false");
  for (const session of [first, second, third, fourth]) await session.interrupt();
  await expect.poll(count, { timeout: 20_000 }).toBe(all - 4);
  await closeConsole(opened);
});

test("only what blocks someone now is told: no grants, conflicts or quarantines", async () => {
  const opened = await openConsole(browser, host, { script: desktop("granted") });
  const { page } = opened;
  await page.getByRole("switch", { name: "Notify me" }).check();
  await page.evaluate("isAway = true");
  await opened.go("#/spend");
  const card = {
    at: null,
    deadline: null,
    deadline_cut_from_ms: null,
    session_id: null,
    workdir: null,
    adapter_id: "works",
    plugin_id: "works",
    tool: null,
    text: "",
    command: null,
    input: null,
    request_id: null,
    choices: [],
    hint: null,
  };
  const all = (["quarantine", "grant", "conflict", "held"] as const).map((kind) => ({
    ...card,
    kind,
    id: kind,
    title: `A ${kind}`,
  }));
  let items = all;
  await page.route("**/v1/waiting", (route) => route.fulfill({ json: { items } }));
  const told = async () => (await page.evaluate<Told[]>("told")).map(({ tag }) => tag);
  await expect.poll(told, { timeout: 20_000 }).toEqual(["held"]);
  expect(await page.evaluate("gone")).toEqual([]);
  items = all.slice(0, 3);
  await expect.poll(() => page.evaluate("gone"), { timeout: 20_000 }).toEqual(["held"]);
  await closeConsole(opened);
});

test("a notice goes when another client has answered", async () => {
  const opened = await openConsole(browser, host, { script: desktop("granted") });
  const { page } = opened;
  await page.getByRole("switch", { name: "Notify me" }).check();
  await page.evaluate("isAway = true");
  const request = { workdir: host.workdir, prompt: "Edit, and be answered elsewhere", answer_timeout_ms: 600_000 };
  const session = await host.client.start(request, { adapter: "edits" });
  await expect.poll(async () => (await page.evaluate<Told[]>("told")).length).toBe(1);
  const [asked] = (await session.summary()).waiting;
  const answer = { request_id: asked!.request_id, choice: asked!.choices[0] };
  await host.call("POST", `/v1/sessions/${session.id}/answers`, answer);
  const [{ tag }] = await page.evaluate<[Told]>("told");
  await expect.poll(() => page.evaluate("gone")).toEqual([tag]);
  await session.result();
  await closeConsole(opened);
});

test("a browser that refuses notifications says so", async () => {
  const opened = await openConsole(browser, host, { script: desktop("denied") });
  const { page } = opened;
  await page.getByRole("switch").click();
  await page.getByText("The browser refused").waitFor();
  expect(await page.getByRole("switch").isChecked()).toBe(false);
  await closeConsole(opened);
});
