import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, openConsole, openWholeConsole, type WholeConsole } from "./console-fixture.ts";

let { host, browser, opened, page, close } = {} as WholeConsole;

beforeAll(async () => void ({ host, browser, opened, page, close } = await openWholeConsole()));
afterAll(() => close?.());

test("a timeline has plan, thinking, colours, tools, files, usage, permissions used and denied; facts stand beside it", async () => {
  const request = { workdir: host.workdir, prompt: "Show everything", workspace: "worktree" as const };
  const session = await host.client.start(request, { adapter: "works" });
  await session.result();
  await opened.go(`#/sessions/${session.id}`);
  const rows = page.locator(".timeline");
  await rows.locator(".ended", { hasText: "The session ended after" }).waitFor();
  await rows.locator(".ended .json", { hasText: '"tests_failing": 1' }).waitFor();
  await rows.evaluate((list: { scrollTop: number }) => void (list.scrollTop = 0));
  await rows.locator(".prompt", { hasText: "Show everything" }).waitFor();
  const text = await rows.textContent();
  for (
    const sign of [
      "Attempt 1 · works",
      "Agent 3.1.0 · tide-2",
      "Plan 2 of 3 done",
      "3 updates",
      "Thinking The tally counts words",
      "changed src/tally.js",
      "18.2 k tokens in, 1,904 out, $0.08 (session) · tide-2",
      "Denied net registry.example.org:443",
      "must ask for it first",
      "bulkhead plugin grant works net:registry.example.org:443",
      "Agent is done",
    ]
  ) expect(text).toContain(sign);
  // A call has its answer; what is in it is made when it is opened.
  const bash = rows.locator("details.tool-bad", { hasText: "npm test -- --run tally" });
  await bash.locator("summary").click();
  await bash.locator(".part").getByText("1 test failed").waitFor();
  const edit = rows.locator("details.tool-ok", { hasText: "Edit" });
  await edit.locator("summary").click();
  await edit.locator(".removed", { hasText: "return words.length;" }).waitFor();
  await edit.locator(".part", { hasText: "Allowed meanwhile" }).getByText("write", { exact: true }).first().waitFor();
  await rows.locator(".bold", { hasText: "tally" }).first().waitFor();
  await rows.locator(".ansi-2", { hasText: "✓" }).waitFor();
  const side = page.getByRole("complementary", { name: "About this session" });
  for (const sign of ["2 of 3 done", "$0.08", "reported", "src/tally.js", "2 allowed, 1 denied", "net registry"]) {
    await expect.poll(() => side.textContent()).toContain(sign);
  }
  // A denial leads to its event.
  await side.getByRole("link", { name: "net" }).click();
  await page.locator("[data-target]", { hasText: "registry.example.org" }).waitFor();
});

test("a timeline has failed attempts, waits for a limit and fallbacks", async () => {
  const session = await host.client.start({ workdir: host.workdir, prompt: "Wait and go on" }, {
    adapter: ["gone", "limited"],
    artifacts: "none",
  });
  await opened.go(`#/sessions/${session.id}`);
  const rows = page.locator(".timeline");
  await rows.getByText("next try in").first().waitFor();
  expect(await session.result()).toMatchObject({ outcome: "completed" });
  await rows.locator(".ended").waitFor();
  const text = await rows.textContent();
  for (const sign of ["Attempt 1 · gone", "Attempt 1 failed", "limited takes over from gone", "Rate limit Slow down"]) {
    expect(text).toContain(sign);
  }
  const side = page.getByRole("complementary", { name: "About this session" });
  await side.getByText("gone → limited").waitFor();
  await side.getByText(/limited.*, waited/).first().waitFor();
});

test("a session that waits for a slot is told apart from one that runs, also by a page that opens later", async () => {
  const start = (prompt: string) =>
    host.client.start({ workdir: host.workdir, prompt }, { adapter: "single", artifacts: "none" });
  const first = await start("Take the slot");
  await opened.go(`#/sessions/${first.id}`);
  await page.getByText("Holds the only slot").waitFor();
  const second = await start("Wait for the slot");
  await opened.go("#/sessions");
  const later = await openConsole(browser, host, { hash: "#/sessions" });
  for (const one of [page, later.page]) {
    await one.locator(".session-row", { hasText: "Wait for the slot" }).getByText("Waits for a slot").waitFor();
    await one.locator(".session-row", { hasText: "Take the slot" }).getByText("Running").waitFor();
  }
  await later.go("#/agents");
  await later.page.locator(".lead", { hasText: /1 of them waits for a slot/ }).waitFor();
  const queue = later.page.getByRole("region", { name: "Queue" });
  await queue.getByRole("link", { name: "Wait for the slot" }).waitFor();
  await queue.getByText("next for a slot of single").waitFor();
  expect(await queue.locator("li").count()).toBe(1);
  await later.go("#/sessions");
  await later.page.locator(".session-row", { hasText: "Wait for the slot" }).getByText("next for a slot").waitFor();
  await first.interrupt();
  for (const one of [page, later.page]) {
    await one.locator(".session-row", { hasText: "Wait for the slot" }).getByText("Running").waitFor();
    await one.locator(".session-row", { hasText: "Take the slot" }).getByText("Interrupted").waitFor();
  }
  await closeConsole(later);
  await second.interrupt();
});
