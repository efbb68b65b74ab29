import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WaitingItem } from "../../core/doors/http/waiting-item.ts";
import { axeFindings } from "./accessibility.ts";
import type { Locator } from "playwright-core";
import { closeConsole, openConsole, openWholeConsole, pause, type WholeConsole } from "./console-fixture.ts";

let { host, browser, opened, page, close } = {} as WholeConsole;

beforeAll(async () => void ({ host, browser, opened, page, close } = await openWholeConsole()));
afterAll(() => close?.());

/** Runs the agent that reaches for what it was not granted: `git`, `orders` and `key`, as the prompt says. */
async function reach(prompt: string): Promise<void> {
  await (await host.client.start({ workdir: host.workdir, prompt }, { adapter: "reaches" })).result();
}

/** Tells whether a row asks again for what was just settled, before the page has read how things stand now. */
async function asksAgain(row: Locator, isOver: () => Promise<boolean>): Promise<boolean> {
  while (!await isOver()) {
    if (await row.getByRole("button", { name: "Grant …" }).count() > 0) return true;
    await pause(50);
  }
  return false;
}

const manifest = () => readFile(join(host.folder, "bulkhead.yaml"), "utf8");
const waiting = async () => (await host.call<{ items: WaitingItem[] }>("GET", "/v1/waiting")).items;

test("a plugin whose sessions were refused has one card, which is put off on the host until it is refused again", async () => {
  await reach("git and orders");
  await opened.go("#/needs-you");
  const card = page.locator(".item-grant", { hasText: "reaches" });
  await card.getByText("orders.example.org:443", { exact: true }).waitFor({ timeout: 15_000 });
  expect(await page.locator(".item-grant").count()).toBe(1);
  await expect.poll(() => card.locator(".grant-acts").count(), { timeout: 15_000 }).toBe(2);
  // It blocks no session that runs.
  expect(await page.title()).toBe("Bulkhead");
  await card.getByRole("button", { name: "Not now" }).click();
  await card.waitFor({ state: "detached" });
  expect(await waiting()).toEqual([]);
  await reach("orders again");
  await card.waitFor({ timeout: 15_000 });
});

test("a grant has exactly the row's words, and says before it is given what else it allows", async () => {
  const card = page.locator(".item-grant", { hasText: "reaches" });
  const push = card.locator(".grant-acts").filter({ has: page.getByText("git push", { exact: true }) });
  await push.getByRole("button", { name: "Grant …" }).click();
  const field = push.getByLabel("Grant run");
  expect(await field.inputValue()).toBe("git push");
  await push.getByRole("button", { name: "Grant", exact: true, disabled: false }).waitFor();
  expect(await push.locator(".also").count()).toBe(0);
  await field.fill("git");
  await push.locator(".also", { hasText: "run git push {...}" }).waitFor();
  await field.fill("git push");
  await push.locator(".also").waitFor({ state: "detached" });
  await page.route("**/v1/waiting", async (route) => (await pause(1000), await route.continue().catch(() => {})));
  await push.getByRole("button", { name: "Grant", exact: true }).click();
  expect(await asksAgain(push, async () => await push.count() === 0)).toBe(false);
  await page.unroute("**/v1/waiting");
  expect(await manifest()).toMatch(/binary: git\n\s+args:\n?\s+\[?-? ?push\]?/);
});

test("what is denied for good is never asked about again", async () => {
  const card = page.locator(".item-grant", { hasText: "reaches" });
  const orders = card.locator(".grant-acts", { hasText: "orders.example.org" });
  await orders.getByRole("button", { name: "Deny for good" }).click();
  await orders.getByRole("group").getByRole("button", { name: "Deny for good" }).click();
  await orders.waitFor({ state: "detached" });
  await reach("orders once more");
  await expect.poll(async () => JSON.stringify(await waiting())).not.toContain("orders.example.org");
  await opened.go("#/walls/plugins/reaches");
  await page.locator(".permissions li", { hasText: "orders.example.org" }).getByText("denied", { exact: true })
    .waitFor();
});

test("a request is rejected with words, which the agent gets", async () => {
  const session = await host.client.start({
    workdir: host.workdir,
    prompt: "ask, then work",
    answer_timeout_ms: 600_000,
  }, {
    adapter: "talks",
  });
  await opened.go("#/needs-you");
  const item = page.locator(".item-permission", { hasText: "npm test" });
  await item.getByText("tidepool").waitFor();
  expect(await item.locator(".item-title").textContent()).toBe("npm test");
  expect(await page.title()).toBe("(1) Bulkhead");
  await item.getByRole("button", { name: "Reject and say why" }).click();
  await item.getByLabel("What should the agent do instead?").fill("finish without the tests");
  await item.getByRole("button", { name: "Reject and tell it" }).click();
  await item.waitFor({ state: "detached" });
  const said = async () => {
    const events: string[] = [];
    const { last_seq } = await session.summary();
    for await (const { event, seq } of session.events()) {
      if (event.type === "output") events.push(event.data);
      if (seq >= last_seq) break;
    }
    return events.join("");
  };
  await expect.poll(said, { timeout: 15_000 }).toContain("answer: no");
  await expect.poll(said, { timeout: 15_000 }).toContain("heard meanwhile: finish without the tests");
  await session.interrupt();
});

test("a grant that the host refuses says so at its field, and so does an agent that is not there", async () => {
  await opened.go("#/walls/plugins/reaches");
  const row = page.locator(".permissions li", { hasText: "TIDE_KEY" });
  await row.getByRole("button", { name: "Grant …" }).click();
  await row.getByRole("button", { name: "Grant", exact: true, disabled: false }).waitFor();
  await page.route(
    "**/v1/plugins/reaches/grants",
    (route) => route.fulfill({ status: 409, json: { detail: "The manifest is locked." } }),
  );
  await row.getByRole("button", { name: "Grant", exact: true }).click();
  await row.getByRole("alert").getByText("The manifest is locked.").waitFor();
  expect(await row.getByRole("textbox").getAttribute("aria-invalid")).toBe("true");
  expect(await page.locator(".notice-failure").count()).toBe(0);
  await page.unroute("**/v1/plugins/reaches/grants");
  await row.getByRole("button", { name: "Cancel" }).click();
  const [ended] = await host.client.list({ state: "ended" });
  await opened.go(`#/sessions/${ended!.session_id}`);
  await page.getByRole("button", { name: "Run again" }).click();
  const dialog = page.getByRole("dialog", { name: "Run it again" });
  await dialog.getByRole("textbox").fill("no-such-agent");
  await dialog.getByRole("button", { name: "Run again" }).click();
  await dialog.getByRole("alert").getByText("no-such-agent").waitFor();
  expect(await dialog.getByRole("textbox").getAttribute("aria-invalid")).toBe("true");
  expect(await page.locator(".notice-failure").count()).toBe(0);
  await dialog.getByRole("button", { name: "Cancel" }).click();
});

test("all that a batch answers stands in its list, whole", async () => {
  const long = (at: number) => `echo ${at} ${"and-on ".repeat(80)}end-${at}\nrm -rf dist-${at}`;
  const items = Array.from({ length: 15 }, (_, at) => ({
    kind: "permission",
    id: `s${at} p`,
    at: null,
    deadline: null,
    deadline_cut_from_ms: null,
    session_id: `s${at}`,
    workdir: host.workdir,
    adapter_id: "asks",
    plugin_id: null,
    title: "Tidy",
    tool: "Bash",
    text: "Run it",
    command: null,
    input: { command: long(at) },
    request_id: "p",
    choices: [{ id: "yes", label: "Allow once", kind: "allow_once" }],
    hint: null,
  }));
  await page.route("**/v1/waiting", (route) => route.fulfill({ json: { items } }));
  await opened.go("#/needs-you");
  await page.reload();
  await page.locator(".item").first().waitFor();
  await page.locator("main").focus();
  await page.keyboard.press("a");
  await page.keyboard.press("1");
  const list = page.locator(".together-list");
  await list.waitFor();
  expect(await list.locator("li").count()).toBe(15);
  for (const at of [0, 14]) {
    const text = (await list.locator("li").nth(at).textContent())!;
    expect(text).toContain(`end-${at}`);
    expect(text).toContain(`rm -rf dist-${at}`);
  }
  // It scrolls by keys too, and leaves the button in view.
  expect(
    await page.evaluate(
      '((one) => one.tabIndex === 0 && one.scrollHeight > one.clientHeight)(document.querySelector(".together-list"))',
    ),
  ).toBe(true);
  expect((await page.getByRole("button", { name: "Allow once: all 15" }).boundingBox())!.y).toBeLessThan(860);
  await page.keyboard.press("Escape");
  await page.unroute("**/v1/waiting");
  await page.reload();
});

test("what ends first stands on top, and its deadline is marked only when it is near", async () => {
  const start = (minutes: number) =>
    host.client.start({ workdir: host.workdir, prompt: `Edit in ${minutes}`, answer_timeout_ms: minutes * 60_000 }, {
      adapter: "edits",
    });
  const sessions = [await start(300), await start(10)];
  await reach("key");
  await page.locator(".item-grant").waitFor({ timeout: 15_000 });
  const items = page.locator(".item-permission");
  await expect.poll(() => items.count(), { timeout: 15_000 }).toBe(2);
  expect(await page.locator(".item").first().locator(".item-who").textContent()).toContain("Edit in 10");
  expect(await page.locator(".deadline-near").count()).toBe(1);
  await items.nth(0).locator(".deadline-near").waitFor();
  const phone = await openConsole(browser, host, { hash: "#/needs-you", viewport: { width: 390, height: 844 } });
  const allow = phone.page.getByRole("button", { name: "Allow once" }).first();
  const box = (await allow.boundingBox())!;
  expect(box.width).toBeGreaterThan(300);
  expect(box.height).toBeGreaterThanOrEqual(44);
  // The buttons of a card stand over what is below it until a person scrolls there.
  await phone.page.evaluate("document.querySelector('main').scrollTo(0, 1e6)");
  expect(await axeFindings(phone.page)).toEqual([]);
  await closeConsole(phone);
  for (const session of sessions) await session.interrupt();
});

test("walls say in sentences what a plugin may do, and have an address for each part", async () => {
  await opened.go("#/walls");
  const card = page.locator(".wall-card", { hasText: "reaches" });
  await card.locator(".wall-line", { hasText: /^May\s+run\s+git push\.$/ }).waitFor();
  await card.locator(".wall-refused", { hasText: "reach orders.example.org:443" }).waitFor();
  await page.getByRole("button", { name: "As a table" }).click();
  await page.getByRole("columnheader", { name: "secrets" }).waitFor();
  await page.getByRole("link", { name: "Denials" }).click();
  await page.waitForURL("**#/walls/denials");
  const denial = page.locator(".denial", { hasText: "orders.example.org" });
  await denial.getByText(/3 times, 1 agent, 3 sessions/).waitFor();
  const key = page.locator(".denial", { hasText: "TIDE_KEY" });
  await key.getByRole("button", { name: "Grant …" }).click();
  await key.getByRole("button", { name: "Grant", exact: true, disabled: false }).waitFor();
  await page.route("**/v1/denials?*", async (route) => (await pause(1000), await route.continue().catch(() => {})));
  await key.getByRole("button", { name: "Grant", exact: true }).click();
  const settled = page.locator("summary", { hasText: "allowed since" });
  expect(await asksAgain(key, async () => await settled.count() > 0)).toBe(false);
  await page.unroute("**/v1/denials?*");
  await opened.go("#/walls/machine");
  await page.locator(".wall-list li").first().waitFor();
  const names = await page.locator(".wall-list b").allTextContents();
  expect(names.length).toBeGreaterThan(1);
});
