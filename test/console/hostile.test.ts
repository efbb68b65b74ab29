import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ConsoleHost, openBrowser, openConsole, openConsoleHost } from "./console-fixture.ts";
import { nasty } from "./agents.ts";

let host: ConsoleHost & AsyncDisposable;
let browser: Browser;

beforeAll(async () => {
  [host, browser] = await Promise.all([openConsoleHost(), openBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await host?.[Symbol.asyncDispose]();
});

/** What must never come of a text: elements that nobody drew, and characters that act. */
const harm = `(() => {
  const drawn = document.querySelectorAll("main script, main iframe, main img, main b > script, [onerror], [onclick], a[href^=javascript], [style*=url]");
  const text = document.body.innerText;
  return { title: document.title, drawn: drawn.length, acting: (text.match(/[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u0000-\\u0008\\u001b]/g) ?? []).length };
})()`;
const harmless = { drawn: 0, acting: 0, title: expect.not.stringContaining("owned") as string };

test("an agent's texts with markup, scripts, controls and ten megabytes are inert in every field", async () => {
  const opened = await openConsole(browser, host);
  const { page, go } = opened;
  const request = {
    workdir: host.workdir,
    prompt: nasty,
    labels: { "<b>label": nasty.slice(0, 200) },
    task_id: nasty.slice(0, 200),
    answer_timeout_ms: 600_000,
  };
  const { id } = await host.client.start(request, { adapter: "hostile" });
  await go(`#/sessions/${id}`);
  await page.getByText("Waits for you").first().waitFor();
  // Up to the beginning, with every fold opened on the way.
  await page.locator(".timeline").evaluate((list: { scrollTop: number }) => void (list.scrollTop = 0));
  await page.locator(".prompt").first().waitFor();
  await page.evaluate(`document.querySelectorAll("details").forEach((one) => (one.open = true))`);
  await page.waitForTimeout(400);
  expect(await page.evaluate(harm)).toMatchObject(harmless);
  expect(await page.locator(".acting").count()).toBeGreaterThan(10);
  for (
    const screen of [
      "#/needs-you",
      "#/sessions",
      "#/review",
      "#/compare",
      "#/walls",
      "#/walls/denials",
      "#/walls/calls",
      "#/history",
      "#/spend",
      "#/start",
    ]
  ) {
    await go(screen);
    await page.waitForTimeout(400);
    expect(await page.evaluate(harm), screen).toMatchObject(harmless);
  }
  for (const choice of [1, 2]) {
    await go("#/needs-you");
    await page.locator(".item").nth(0).getByRole("button").first().waitFor();
    await page.keyboard.press(String(choice));
    await page.waitForTimeout(300);
  }
  await closeConsole(opened);
});

test("a long line is cut, and all of it can be seen", async () => {
  const opened = await openConsole(browser, host);
  const [session] = await host.client.list({ limit: 1 });
  const id = session!.session_id;
  let seq = 0;
  for await (const { event, seq: at } of (await host.client.open(id)).events()) {
    if (event.type === "output" && event.data.length > 1_000_000) {
      seq = at;
      break;
    }
  }
  await opened.go(`#/sessions/${id}/${seq}`);
  const { page } = opened;
  await page.getByText(`Cut here. Show all of event ${seq}`).click();
  await page.locator(".raw .more").click();
  expect((await page.locator(".raw pre").textContent())!.length).toBeGreaterThan(60_000);
  await closeConsole(opened);
});

test("the code leaves the address at once and works once, and the key is in the storage of its tab alone", async () => {
  const opened = await openConsole(browser, host);
  const { page } = opened;
  expect(page.url()).not.toContain("code");
  expect(await page.evaluate("history.length")).toBe(2);
  expect(await page.evaluate("[Object.keys(localStorage), Object.keys(sessionStorage)]")).toEqual([[], [
    "bulkhead-key",
  ]]);
  expect(await page.context().cookies()).toEqual([]);
  const code = await host.code();
  const first = await openConsole(browser, { ...host, code: () => Promise.resolve(code) });
  const second = await browser.newPage();
  await second.goto(`${host.address}/console#code=${code}`);
  await second.getByRole("alert").waitFor();
  await second.getByText("bulkhead console").waitFor();
  await second.close();
  await closeConsole(first);
  await closeConsole(opened);
});

test("the browser refuses the page markup, other code, other places and frames", async () => {
  const opened = await openConsole(browser, host);
  const { page, breaches } = opened;
  const act = (script: string) =>
    page.evaluate<string>(`(async () => { try { ${script}; return "done" } catch (error) { return error.name } })()`);
  expect(await act(`document.body.innerHTML = "<b>markup</b>"`)).toBe("TypeError");
  expect(await act(`document.createRange().createContextualFragment("<b>markup</b>")`)).toBe("TypeError");
  expect(await act(`new Worker("/console/app.js")`)).toBe("TypeError");
  expect(await act(`trustedTypes.createPolicy("mine", { createHTML: (text) => text })`)).toBe("TypeError");
  expect(await act(`setTimeout("document.title = 'owned'")`)).not.toBe("done");
  expect(await act(`await fetch("https://example.com/")`)).toBe("TypeError");
  await act(`document.body.append(Object.assign(document.createElement("img"), { src: "https://example.com/a.png" }))`);
  await act(`document.body.append(Object.assign(document.createElement("iframe"), { src: "/console" }))`);
  await act(`document.body.setAttribute("style", "background: url(https://example.com/)")`);
  await act(`document.head.append(Object.assign(document.createElement("base"), { href: "https://example.com/" }))`);
  const form = `Object.assign(document.createElement("form"), { action: "https://example.com/", method: "post" })`;
  await act(`const form = ${form}; document.body.append(form); form.submit()`);
  const refused = () => new Set(breaches.map((breach) => breach.split(" ")[0]));
  await expect.poll(() => [...refused()].sort()).toEqual([
    "base-uri",
    "connect-src",
    "form-action",
    "frame-src",
    "img-src",
    "require-trusted-types-for",
    "style-src-attr",
    "trusted-types",
  ]);
  expect(await page.title()).not.toContain("owned");
  expect(new URL(page.url()).origin).toBe(host.address);
  // These reports are what the test is about; the others end with none.
  await page.context().close();
});

test("a page of another origin can neither frame the console nor use its interface", async () => {
  const server = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html").end(`<iframe src="${host.address}/console"></iframe>`);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await expect.poll(() => page.frames()[1]?.url()).toBe("chrome-error://chromewebdata/");
  const code = await host.code();
  const steal = (headers: string, mode: string) =>
    page.evaluate<string>(`fetch("${host.address}/v1/console/tokens", {
      method: "POST", mode: "${mode}", headers: ${headers}, body: ${JSON.stringify(JSON.stringify({ code }))}
    }).then((answer) => answer.type + answer.status, () => "refused")`);
  expect(await steal(`{ "content-type": "application/json" }`, "cors")).toBe("refused");
  // Such a call reaches the host, which must not take it: the code is still good afterwards.
  expect(await steal("{}", "no-cors")).toBe("refused");
  await page.close();
  server.close();
  await closeConsole(await openConsole(browser, { ...host, code: () => Promise.resolve(code) }));
});

test("a name that someone else points to this machine shows nothing", async () => {
  const tricked = await openBrowser(["--host-resolver-rules=MAP console.example 127.0.0.1"]);
  const page = await tricked.newPage();
  const address = host.address.replace("127.0.0.1", "console.example");
  const answer = await page.goto(`${address}/console#code=${await host.code()}`);
  expect(answer?.status()).toBeGreaterThanOrEqual(400);
  expect(await page.locator("script").count()).toBe(0);
  const asked = await page.evaluate(`fetch("/v1/sessions").then(({ status }) => status, () => "refused")`);
  expect([403, "refused"]).toContain(asked);
  await tricked.close();
});
