import { afterAll, beforeAll, expect, test } from "vitest";
import { axeFindings } from "./accessibility.ts";
import { closeConsole, openConsole, openWholeConsole, pictures, type WholeConsole } from "./console-fixture.ts";

let { host, browser, opened, page, close } = {} as WholeConsole;
let busy = "";

beforeAll(async () => {
  ({ host, browser, opened, page, close } = await openWholeConsole());
  const request = { workdir: host.workdir, prompt: "Round exactly to the end" };
  const session = await host.client.start(request, { adapter: "busy", artifacts: "none" });
  await session.result();
  busy = session.id;
});
afterAll(() => close?.());

const rows = () => page.locator(".timeline .row");

test("plans, reads and an agent's agent are one row each, which open, and the title is whole on hover", async () => {
  await opened.go(`#/sessions/${busy}`);
  const plan = page.locator(".row-plan");
  await plan.getByText("4 updates").waitFor();
  expect(await plan.count()).toBe(1);
  await plan.getByText("3 of 5 done").waitFor();
  const reads = page.locator(".row-reads", { hasText: "4 reads" });
  expect(await reads.innerText()).toContain("src/part-1.js, src/part-2.js, src/part-3.js");
  await reads.locator("summary").first().click();
  await reads.getByText("src/part-2.js").nth(1).waitFor();
  const agent = page.locator(".row-agent", { hasText: "Agent Explorer" });
  await agent.locator("summary").first().click();
  await agent.getByText("Grep").waitFor();
  await agent.locator("strong", { hasText: "one" }).waitFor();
  await rows().getByText("tally\\( in src").first().waitFor();
  expect(await page.locator("h1 [title]").getAttribute("title")).toBe("Round exactly to the end");
});

test("a failed tool says why in its row, and keys go to the next edit and the next denial", async () => {
  await opened.go("#/sessions");
  await opened.go(`#/sessions/${busy}`);
  const failed = page.locator(".tool-bad summary", { hasText: "npm test -- --run tally" });
  await failed.getByText("1 test failed: knows plurals").waitFor();
  expect(await page.locator(".row-used").count()).toBe(0);
  await page.getByRole("button", { name: "Next denial d" }).waitFor();
  await page.keyboard.press("i");
  await page.locator("[data-target]", { hasText: "Edit" }).waitFor();
  await page.keyboard.press("d");
  await page.locator("[data-target] .denied", { hasText: "api.example.com" }).waitFor();
  await page.getByRole("button", { name: "Next edit i" }).click();
  await page.locator("[data-target]", { hasText: "Edit" }).waitFor();
});

test("a text is found in all of a long session, and keys go from place to place", async () => {
  const request = { workdir: host.workdir, prompt: "Stumble" };
  const session = await host.client.start(request, { adapter: "stumbles", artifacts: "none" });
  await session.result();
  await opened.go(`#/sessions/${session.id}`);
  await page.locator(".timeline .ended").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("NPM test --");
  const find = page.getByRole("search");
  await find.getByText("3", { exact: true }).waitFor();
  for (const [at, text] of [[1, "npm test -- 300"], [2, "npm test -- 1500"], [3, "npm test -- 2600"]] as const) {
    await page.keyboard.press("Enter");
    await find.getByText(`${at} of 3`).waitFor();
    await page.locator("[data-target]", { hasText: text }).waitFor();
  }
  await page.keyboard.press("Shift+Enter");
  await page.locator("[data-target]", { hasText: "npm test -- 1500" }).waitFor();
  await page.keyboard.press("Escape");
  await find.getByText("2 of 3").waitFor({ state: "detached" });
});

test("the strip has the whole run with its failures, and a click goes there", async () => {
  const [session] = await host.client.list({ adapter: "stumbles" });
  await opened.go("#/sessions");
  await opened.go(`#/sessions/${session!.session_id}`);
  const strip = page.getByRole("slider", { name: /^The whole run/ });
  await expect.poll(() => strip.locator(".strip-failed").count(), { timeout: 20_000 }).toBe(3);
  const box = (await strip.boundingBox())!;
  await strip.click({ position: { x: box.width / 2, y: 10 } });
  await page.locator("[data-target]", { hasText: /step|npm test|I try/ }).waitFor();
});

test("what is copied is what the agent wrote", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await opened.go(`#/sessions/${busy}`);
  const said = page.locator(".row-text", { hasText: "The check uses" });
  await said.hover();
  await said.getByRole("button", { name: "Copy this text" }).click();
  await said.getByText("Copied").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe("The check uses **==**, so null passes.");
});

test("a denial is granted in its row", async () => {
  await opened.go(`#/sessions/${busy}`);
  const denied = page.locator(".denied", { hasText: "api.example.com" });
  expect((await denied.getByRole("button", { name: "Grant …" }).boundingBox())!.width).toBeLessThan(150);
  await denied.getByRole("button", { name: "Grant …" }).click();
  await denied.getByRole("button", { name: "Grant", exact: true }).click();
  await denied.getByText("Granted: sessions that begin now may do it.").waitFor();
  const { grant } = await host.call<{ grant: { net: string[] } }>("GET", "/v1/plugins/busy/grants");
  expect(grant.net).toEqual(["api.example.com:443"]);
});

test("a session that is not there is told in words of the page", async () => {
  await opened.go("#/sessions/00000000000000000000000000000000");
  await page.getByText("It may have been deleted").waitFor();
  expect(await page.locator("main").innerText()).not.toContain("GET /v1");
});

test.each([["light", 1440], ["dark", 390]] as const)(
  "the strip, the search and folded rows have no finding of axe and fit, %s at %i px",
  async (colorScheme, width) => {
    const one = await openConsole(browser, host, { colorScheme, viewport: { width, height: 900 } });
    await one.go(`#/sessions/${busy}`);
    await one.page.locator(".row-plan").waitFor();
    await one.page.screenshot({ path: `${pictures}/look-through-${width}-${colorScheme}.png` });
    expect(await axeFindings(one.page)).toEqual([]);
    expect(await one.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    await closeConsole(one);
  },
);
