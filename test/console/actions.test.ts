import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openWholeConsole, type WholeConsole } from "./console-fixture.ts";

let { host, opened, page, close } = {} as WholeConsole;

beforeAll(async () => void ({ host, opened, page, close } = await openWholeConsole()));
afterAll(() => close?.());

/** Runs the agent that changes files, in a worktree, to its end. */
async function work(prompt: string): Promise<string> {
  const session = await host.client.start({ workdir: host.workdir, prompt, workspace: "worktree" }, {
    adapter: "works",
  });
  await session.result();
  return session.id;
}

describe("needs you", () => {
  test("requests are answered in place, with the mouse, a text and keys alone, and leave the inbox", async () => {
    const session = await host.client.start(
      { workdir: host.workdir, prompt: "Answer me", answer_timeout_ms: 600_000 },
      { adapter: "asks" },
    );
    await opened.go("#/needs-you");
    const item = page.locator(".item", { hasText: "rm -rf dist" });
    await item.getByText("left").waitFor();
    expect(await page.title()).toMatch(/^\(\d+\) Bulkhead$/);
    await item.getByRole("button", { name: "Allow once" }).click();
    await page.locator(".item", { hasText: "Which database" }).waitFor();
    // By keys: go down until the question is the current one, then take its second choice.
    for (
      let steps = 0;
      steps < 10 && await page.locator(".item.current", { hasText: "Which database" }).count() === 0;
      steps++
    ) {
      await page.keyboard.press("j");
    }
    await page.keyboard.press("2");
    const free = page.locator(".item", { hasText: "What should the branch" });
    await free.getByLabel("Your answer").fill("tally-text");
    await free.getByLabel("Your answer").press("Enter");
    await session.result();
    const said: string[] = [];
    for await (const { event } of session.events()) if (event.type === "output") said.push(event.data.trim());
    expect(said).toEqual(["answer one: yes", "answer two: Postgres", "answer three: tally-text"]);
    await free.waitFor({ state: "detached" });
  });

  test("like requests are answered together, after a list of them and a moment to take it back", async () => {
    const other = await host.client.start(
      { workdir: host.workdir, prompt: "Answer me", answer_timeout_ms: 600_000 },
      { adapter: "asks" },
    );
    const sessions = await Promise.all(
      [1, 2, 3].map((at) =>
        host.client.start({ workdir: host.workdir, prompt: `Edit ${at}`, answer_timeout_ms: 600_000 }, {
          adapter: "edits",
        })
      ),
    );
    await opened.go("#/needs-you");
    await expect.poll(() => page.locator(".item-permission").count(), { timeout: 10_000 }).toBe(4);
    await page.locator(".item", { hasText: "rm -rf dist" }).locator(".item-title").click();
    await page.keyboard.press("a");
    await page.locator(".item-permission", { hasNotText: "rm -rf dist" }).first().locator(".item-title").click();
    const boxes = page.locator(".item-permission input[type=checkbox]");
    const canPick = () => Promise.all([0, 1, 2, 3].map((at) => boxes.nth(at).isEnabled()));
    await expect.poll(canPick).toEqual([true, false, false, false]);
    await page.keyboard.press("x");
    await page.locator(".item", { hasText: "rm -rf dist" }).locator(".item-title").click();
    await page.keyboard.press("x");
    await page.locator(".item-permission", { hasNotText: "rm -rf dist" }).first().locator(".item-title").click();
    await page.keyboard.press("a");
    const together = page.getByRole("group", { name: "Answer the selected ones together" });
    await together.getByText("3 selected").waitFor();
    // Two keys answer nothing: the list has to be confirmed, and can be taken back.
    const reject = together.getByRole("button", { name: "Reject" });
    await reject.click();
    expect(await together.locator("li").count()).toBe(3);
    await page.keyboard.press("Enter");
    await together.getByText("3 answers are sent in").waitFor();
    await together.getByRole("button", { name: "Undo" }).click();
    await together.getByText("3 selected").waitFor();
    expect(await page.locator(".item-permission").count()).toBe(4);
    await reject.click();
    await together.getByRole("button", { name: "Reject: all 3" }).press("Enter");
    for (const session of sessions) expect(await session.result()).toMatchObject({ outcome: "completed" });
    await expect.poll(() => page.locator(".item-permission").count(), { timeout: 10_000 }).toBe(1);
    await other.interrupt();
    await expect.poll(() => page.locator(".item-permission").count(), { timeout: 10_000 }).toBe(0);
  });
});

describe("a request that was answered elsewhere", () => {
  test("says so where it is answered again, alone or together with others, which are answered", async () => {
    const start = (at: number) =>
      host.client.start({ workdir: host.workdir, prompt: `Late ${at}`, answer_timeout_ms: 600_000 }, {
        adapter: "edits",
      });
    const sessions = [await start(1), await start(2), await start(3)];
    await opened.go("#/needs-you");
    const cards = page.locator(".item-permission", { hasText: "Late" });
    await expect.poll(() => cards.count(), { timeout: 10_000 }).toBe(3);
    // This page does not know yet what another one did.
    const held: (() => void)[] = [];
    await page.route("**/v1/waiting", (route) => void held.push(() => void route.continue().catch(() => {})));
    await sessions[0]!.answer("e1", "no");
    await page.locator(".item", { hasText: "Late 1" }).getByRole("button", { name: "Allow once" }).click();
    await page.getByText("Too late: this was answered elsewhere, or withdrawn", { exact: true }).waitFor();
    await sessions[1]!.answer("e1", "no");
    await cards.first().locator(".item-title").click();
    await page.keyboard.press("a");
    const together = page.getByRole("group", { name: "Answer the selected ones together" });
    await together.getByText("2 selected").waitFor();
    await together.getByRole("button", { name: "Allow once" }).click();
    await together.getByRole("button", { name: "Allow once: all 2" }).press("Enter");
    await page.getByText("Answered 1: Allow once. 1 of 2 was answered elsewhere, or withdrawn").waitFor({
      timeout: 15_000,
    });
    await page.unroute("**/v1/waiting");
    for (const go of held) go();
    expect(await sessions[2]!.result()).toMatchObject({ outcome: "completed" });
    await expect.poll(() => cards.count(), { timeout: 10_000 }).toBe(0);
  });
});

describe("sessions", () => {
  test("the form starts a session, whose page is live, interrupts it and runs it again", async () => {
    await opened.go("#/start");
    await page.getByLabel("Prompt", { exact: true }).fill("Watch it");
    await page.getByRole("combobox", { name: "Folder" }).fill(host.workdir);
    await page.getByRole("checkbox", { name: /waits/ }).check();
    await page.getByLabel("Where").selectOption("inplace");
    await page.getByLabel("Labels").fill("ticket=7");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("Watching the tests").waitFor();
    await page.getByRole("button", { name: "Interrupt" }).click();
    await page.getByText("Interrupted").first().waitFor();
    await page.getByRole("button", { name: "Run again" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Run again" }).click();
    await page.getByRole("button", { name: "Interrupt" }).click();
    await page.getByText("Interrupted").first().waitFor();
    const [latest] = await host.client.list({ limit: 1 });
    expect(latest).toMatchObject({ adapter_id: "waits", labels: { ticket: "7" }, state: "ended" });
  });

  test("a session is continued from the field below it", async () => {
    const session = await host.client.start({ workdir: host.workdir, prompt: "Remember me" }, { adapter: "remembers" });
    await session.result();
    await opened.go(`#/sessions/${session.id}`);
    const field = page.getByRole("textbox", { name: "Message to the agent" });
    await field.fill("Say it again");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("own-1 heard: Say it again").first().waitFor();
  });

  test("a live timeline keeps its rows as they are, lets go of the end, and follows it again", async () => {
    const session = await host.client.start({ workdir: host.workdir, prompt: "4000 25 20", retry: "never" }, {
      adapter: "many",
      artifacts: "none",
    });
    await opened.go(`#/sessions/${session.id}`);
    await page.getByText("of what the agent says").first().waitFor();
    // A list that has no more than fits cannot be scrolled.
    const list = page.locator(".timeline");
    const isLong = (one: { scrollHeight: number; clientHeight: number }) => one.scrollHeight > 2 * one.clientHeight;
    await expect.poll(() => list.evaluate(isLong)).toBe(true);
    await list.evaluate((one: { scrollTop: number }) => void (one.scrollTop = 0));
    await page.getByRole("button", { name: /Follow the newest/ }).waitFor();
    await page.locator('.row[data-seq="1"]').waitFor();
    await page.evaluate(`document.querySelectorAll(".row").forEach((row) => (row.isOld = true))`);
    const first = `document.querySelector('.row[data-seq="1"]')`;
    const place = await page.evaluate(`${first}.getBoundingClientRect().top`);
    await page.waitForTimeout(700);
    expect(await page.evaluate(`[${first}.isOld, ${first}.getBoundingClientRect().top]`)).toEqual([true, place]);
    await page.getByRole("button", { name: /Follow the newest/ }).click();
    await expect.poll(() =>
      page.evaluate(
        `((one) => one.scrollHeight - one.clientHeight - one.scrollTop < 80)(document.querySelector(".timeline"))`,
      )
    ).toBe(true);
    await page.getByRole("button", { name: /Follow the newest/ }).waitFor({ state: "detached" });
    await session.interrupt();
  });

  test.each([0, 200])("rows move by as much as is scrolled, also when events come %d ms late", async (ms) => {
    const answers = /\/sessions\/[^/]+\/events/;
    await page.route(answers, (route) => void setTimeout(() => void route.continue().catch(() => {}), ms));
    const request = { workdir: host.workdir, prompt: "6000", retry: "never" as const };
    const session = await host.client.start(request, { adapter: "many", artifacts: "none" });
    await session.result();
    await opened.go(`#/sessions/${session.id}`);
    await page.locator(`.row[data-to="${(await session.summary()).last_seq}"]`).waitFor();
    const jumps = await page.evaluate<number[]>(`(async () => {
      const list = document.querySelector(".timeline");
      const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const inView = () => [...list.querySelectorAll(".row")].find((row) => row.getBoundingClientRect().bottom > 400);
      const jumps = [];
      for (let step = 0; step < 60; step++) {
        for (let tries = 0; inView() === undefined && tries < 50; tries++) await new Promise((done) => setTimeout(done, 20));
        const row = inView();
        const before = row.getBoundingClientRect().top;
        list.scrollTop -= 170;
        await frame();
        if (row.isConnected) jumps.push(Math.round(row.getBoundingClientRect().top - before - 170));
      }
      return jumps;
    })()`);
    expect(jumps.length).toBeGreaterThan(40);
    expect(jumps.filter((jump) => Math.abs(jump) > 1)).toEqual([]);
    await page.unroute(answers);
  });

  test("a link to an event shows it, and a key the whole of it", async () => {
    const id = await work("Link to me");
    // The row under the pointer would come first.
    await page.mouse.move(2, 2);
    await opened.go(`#/sessions/${id}/5`);
    await page.locator("[data-target]").waitFor();
    await page.getByRole("complementary", { name: "About this session" }).waitFor();
    await page.keyboard.press("e");
    await page.getByRole("heading", { name: "Event 5" }).waitFor();
    expect(await page.locator(".raw pre").textContent()).toContain('"seq": 5');
    await page.getByRole("button", { name: "Close the envelope" }).click();
    await page.getByRole("complementary", { name: "About this session" }).waitFor();
  });

  test("an address in an agent's text opens only after it was shown whole", async () => {
    const id = await work("Show a link");
    await opened.go(`#/sessions/${id}`);
    await page.locator("button.address").first().click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.textContent()).toContain("https://example.com/docs/tally");
    await dialog.getByRole("button", { name: "Stay here" }).click();
    await dialog.waitFor({ state: "detached" });
  });
});

describe("walls", () => {
  test("a grant is tried on the history, given, and revoked", async () => {
    await work("Be denied");
    await opened.go("#/walls/works");
    const row = page.locator(".permissions li", { hasText: "api.example.com:443" });
    await row.getByRole("button", { name: "Grant …" }).click();
    await row.getByText(/calls? in the history/).waitFor();
    await row.getByRole("button", { name: "Grant", exact: true }).click();
    await row.getByText("allowed", { exact: true }).waitFor();
    await row.getByRole("button", { name: "Revoke" }).click();
    await row.getByText("not granted", { exact: true }).waitFor();
    const manifest = () => readFile(join(host.folder, "bulkhead.yaml"), "utf8");
    // Narrower: a folder below the one that was granted.
    const write = page.locator(".permissions li", { hasText: /write\s*workdir/ });
    await write.getByRole("button", { name: "Narrow …" }).click();
    await write.getByLabel("Allow no more of write than").fill("workdir:src");
    await write.getByText(/calls? in the history/).waitFor();
    await write.getByRole("button", { name: "Narrow", exact: true }).click();
    await expect.poll(manifest).toContain("workdir:src");
    await page.getByRole("button", { name: "Revoke all" }).click();
    await page.getByRole("group", { name: /Take back all/ }).getByRole("button", { name: "Revoke all" }).click();
    await page.getByText("has no grant now").waitFor();
    await host.call("PUT", "/v1/plugins/works/grants", { read: ["workdir"], write: ["workdir"] });
  });

  test("calls of the broker appear as it decides them", async () => {
    await opened.go("#/walls/calls");
    const calls = page.locator(".calls li");
    await calls.first().waitFor();
    const newest = async () => await calls.first().getByRole("link").getAttribute("href");
    const before = await newest();
    const id = await work("Call the broker");
    await expect.poll(newest).toContain(id);
    expect(await newest()).not.toBe(before);
    await page.locator(".calls li", { hasText: "denied" }).filter({ hasText: "registry.example.org" }).first()
      .waitFor();
  });
});

describe("keys", () => {
  test("g and a letter reach every screen, and ? tells of it", async () => {
    for (
      const [key, title] of [["s", "Sessions"], ["r", "Review"], ["c", "Compare"], ["w", "Walls"], ["h", "History"], [
        "n",
        "Needs you",
      ], ["p", "Spend"]] as const
    ) {
      await page.locator("main").focus();
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
    }
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });
});
