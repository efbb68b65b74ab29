import { Buffer } from "node:buffer";
import type { Browser, Locator, Page } from "playwright-core";
import type { ConversationReport } from "../../plugin-sdk/conversation.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeFindings } from "./accessibility.ts";
import { nasty } from "./agents.ts";
import {
  closeConsole,
  type ConsoleHost,
  type ConsolePage,
  openBrowser,
  openConsole,
  openConsoleHost,
} from "./console-fixture.ts";

let host: ConsoleHost & AsyncDisposable;
let browser: Browser;

beforeAll(async () => {
  [host, browser] = await Promise.all([openConsoleHost(), openBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await host?.[Symbol.asyncDispose]();
});

/** Begins a session of an agent that takes turns, and opens it. */
async function talkTo(
  prompt: string,
  { adapter = "talks", keep_ms = 600_000, ...options }: Parameters<typeof openConsole>[2] & {
    adapter?: string;
    keep_ms?: number;
  } = {},
) {
  const request = { workdir: host.workdir, prompt, keep_ms, answer_timeout_ms: 600_000 };
  const session = await host.client.start(request, { adapter, artifacts: "none" });
  const opened = await openConsole(browser, host, { hash: `#/sessions/${session.id}`, ...options });
  const report = () => host.call<ConversationReport>("GET", `/v1/conversations/${session.id}`);
  return { ...partsOf(opened.page), opened, session, report, id: session.id };
}

/** The parts of a session's screen that a person talks with. */
function partsOf(page: Page) {
  const field = page.getByRole("textbox", { name: "Message to the agent" });
  return {
    page,
    field,
    rows: page.locator(".timeline"),
    hint: page.locator(".composer-hint"),
    pending: page.getByRole("group", { name: "Messages that wait" }),
    way: (name: string) => page.getByRole("radio", { name }),
    button: (name: string) => page.getByRole("button", { name, exact: true }),
    head: (turn: number) => page.getByRole("region", { name: `Turn ${turn}`, exact: true }),
    say: async (text: string) => {
      await field.fill(text);
      await field.press("Enter");
    },
  };
}

const saw = (rows: Locator, text: string) => rows.getByText(text).first().waitFor();

/** Goes to the beginning of the timeline: only what is in view is drawn. */
const toTop = (rows: Locator) => rows.evaluate((list: { scrollTop: number }) => void (list.scrollTop = 0));

/** How often the events of a conversation have a text. */
async function timesHeard(id: string, text: string): Promise<number> {
  const { sessions } = await host.call<ConversationReport>("GET", `/v1/conversations/${id}`);
  const logs = await Promise.all(sessions.map(async ({ session_id }) => {
    const { last_seq } = await (await host.client.open(session_id)).summary();
    const said: string[] = [];
    for await (const { event, seq } of (await host.client.open(session_id)).events()) {
      if (event.type === "output") said.push(event.data);
      if (seq >= last_seq) break;
    }
    return said.join("");
  }));
  return logs.join("").split(text).length - 1;
}

async function end({ opened, report }: { opened: ConsolePage; report: () => Promise<ConversationReport> }) {
  await closeConsole(opened);
  const { head, state } = await report();
  if (state !== "ended") await (await host.client.open(head)).interrupt();
}

test("words typed while the agent works go into its turn, and stand in the timeline at their place", async () => {
  const made = await talkTo("work a while");
  const { rows, field, hint, say, way, head } = made;
  await saw(rows, "line 2 of the work");
  await expect.poll(() => hint.textContent()).toBe("Goes into turn 1, while the agent works.");
  expect(await way("Into this turn").isChecked()).toBe(true);
  // What is typed stays while events pour in; Shift-Enter is a new line.
  await field.pressSequentially("Only in", { delay: 30 });
  await field.press("Shift+Enter");
  await field.pressSequentially("core/", { delay: 30 });
  expect(await field.inputValue()).toBe("Only in\ncore/");
  await field.press("Enter");
  await saw(rows, "heard meanwhile: Only in");
  const said = rows.locator(".said");
  await said.getByText("Into turn 1 · you").waitFor();
  expect(await said.textContent()).toContain("Only in\ncore/");
  expect(await field.inputValue()).toBe("");
  await say("and finish");
  await expect.poll(() => hint.textContent()).toBe("Begins turn 2: the agent is kept for it.");
  await say("next");
  await saw(rows, "turn 2 heard: next");
  await head(2).getByText("Done").waitFor();
  await head(2).getByText("$0.02").waitFor();
  await head(2).getByText("said by you").waitFor();
  await made.page.getByText("Waits for a message").waitFor();
  await end(made);
});

test("what waits is listed in its order, changed and withdrawn, from two tabs and another client", async () => {
  const made = await talkTo("work first", { adapter: "deaf" });
  const { rows, hint, say, pending, way, button, page, id, opened, field } = made;
  await saw(rows, "line 1 of the work");
  await expect.poll(() => hint.textContent()).toBe("Waits until turn 1 is over.");
  expect(await way("Into this turn").count()).toBe(0);
  for (const text of ["first", "second", "third"]) await say(text);
  const texts = () => pending.locator("li .text").allTextContents();
  await expect.poll(texts).toEqual(["first", "second", "third"]);
  await host.call("POST", `/v1/conversations/${id}/messages`, { text: "from elsewhere" });
  await expect.poll(texts).toEqual(["first", "second", "third", "from elsewhere"]);
  expect(await pending.locator("li").last().textContent()).toContain("owner");
  const other = await openConsole(browser, host, { hash: `#/sessions/${id}`, beside: opened });
  const there = partsOf(other.page);
  await expect.poll(() => there.pending.locator("li .text").allTextContents()).toEqual(await texts());
  await there.pending.locator("li", { hasText: "second" }).getByRole("button", { name: "Withdraw" }).click();
  await expect.poll(texts).toEqual(["first", "third", "from elsewhere"]);
  await pending.locator("li", { hasText: "first" }).getByRole("button", { name: "Edit" }).click();
  await pending.getByLabel("Change the message").fill("first, but better");
  await pending.getByRole("button", { name: "Save" }).click();
  await expect.poll(() => there.pending.locator("li .text").allTextContents())
    .toEqual(["first, but better", "third", "from elsewhere"]);
  expect(await axeFindings(page)).toEqual([]);
  // A draft is the same in both tabs of a browser, and goes with it when it is sent.
  await field.fill("half a thought");
  await expect.poll(() => there.field.inputValue()).toBe("half a thought");
  // A change that comes too late says so and keeps its words.
  await pending.locator("li", { hasText: "third" }).getByRole("button", { name: "Edit" }).click();
  await pending.getByLabel("Change the message").fill("third, in my words");
  await button("Stop turn").click();
  await pending.getByText("Too late to change it.").waitFor();
  expect(await pending.getByLabel("Your words").inputValue()).toBe("third, in my words");
  await pending.getByRole("button", { name: "Use as a new message" }).click();
  expect(await field.inputValue()).toBe("half a thought\n\nthird, in my words");
  await saw(rows, "turn 4 heard: from elsewhere");
  expect(await timesHeard(id, "heard: second")).toBe(0);
  expect(other.breaches).toEqual([]);
  await end(made);
});

test("a turn is stopped in a tool and the agent kept; a message stops a turn and goes on", async () => {
  const made = await talkTo("use a tool");
  const { rows, button, way, field, hint, head, id } = made;
  await saw(rows, "sleep 600");
  await button("Stop turn").click();
  await expect.poll(() => hint.textContent()).toBe("Begins turn 2: the agent is kept for it.");
  await made.say("work again");
  await saw(rows, "turn 2 heard: work again");
  await head(1).getByText("Interrupted").waitFor();
  await saw(rows, "line 1 of the work");
  await field.fill("go on with this");
  await way("Stop and go on").check();
  await expect.poll(() => hint.textContent()).toBe("Stops turn 2, and is the next one.");
  await field.press("Enter");
  await saw(rows, "turn 3 heard: go on with this");
  await head(2).getByText("Interrupted").waitFor();
  await head(3).getByText("Done").waitFor();
  expect(await made.report()).toMatchObject({ state: "kept", sessions: [{ session_id: id }] });
  await end(made);
});

test("an agent's request is answered while a message is being typed", async () => {
  const made = await talkTo("ask me");
  const { page, field, rows } = made;
  const answers = page.getByRole("complementary").getByRole("group", { name: "Answer" });
  await answers.waitFor();
  await field.fill("half a sentence");
  await answers.getByRole("button", { name: "Allow once" }).click();
  await saw(rows, "answer: yes");
  expect(await field.inputValue()).toBe("half a sentence");
  await field.press("Enter");
  await saw(rows, "turn 2 heard: half a sentence");
  await end(made);
});

test("an ended conversation goes on in its next session, and the page goes with it without a jump", async () => {
  const made = await talkTo("begin it", { keep_ms: 0 });
  const { page, rows, hint, say, head, field, id } = made;
  await rows.locator(".ended").waitFor();
  await expect.poll(() => hint.textContent()).toBe("Begins turn 2 in a new session of talks.");
  await page.evaluate(`document.querySelector(".composer textarea").isSame = true`);
  await say("and now work");
  await saw(rows, "turn 2 heard: and now work");
  await saw(rows, "Session 2");
  const { head: next } = await made.report();
  expect(next).not.toBe(id);
  await expect.poll(() => page.url()).toContain(next);
  await page.getByRole("complementary").getByText(next).waitFor();
  expect(await page.evaluate(`document.querySelector(".composer textarea").isSame`)).toBe(true);
  expect(await field.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
  await say("finish");
  await saw(rows, "turn 2 is done");
  // On a slow machine it has said more by now than fits below its head.
  await toTop(rows);
  await head(2).getByText("Done").waitFor();
  // Opened anew: the newest turn is open, the one before is closed and opens.
  const again = await openConsole(browser, host, { hash: `#/sessions/${next}` });
  const there = partsOf(again.page);
  await there.head(2).or(there.rows.getByText("of the work")).first().waitFor();
  await toTop(there.rows);
  await saw(there.rows, "turn 2 heard: and now work");
  expect(await there.rows.textContent()).not.toContain("turn 1 heard");
  await there.head(1).getByRole("button", { expanded: false }).click();
  await saw(there.rows, "turn 1 heard: begin it");
  await there.head(1).getByRole("button", { expanded: true }).waitFor();
  // Opened at its first session, that one's turn is in view.
  await again.go(`#/sessions/${id}`);
  await there.head(1).getByRole("button", { expanded: true }).waitFor();
  await closeConsole(again);
  await end(made);
});

test("a failed turn says why in its place, and drops what waited behind it", async () => {
  const made = await talkTo("work, then fail", { adapter: "talks" });
  const { rows, field, way, pending, page } = made;
  await saw(rows, "line 1 of the work");
  await field.fill("after that");
  await way("After this turn").check();
  await field.press("Enter");
  await pending.getByText("after that").waitFor();
  await field.fill("finish");
  await way("Into this turn").check();
  await field.press("Enter");
  await saw(rows, "The model tide-9 does not exist.");
  await rows.getByText("the turn before it failed").waitFor();
  await rows.getByText("after that").waitFor();
  await pending.waitFor({ state: "detached" });
  expect(await page.locator(".notice-failure").count()).toBe(0);
  await end(made);
});

test("a draft is kept over a reload and another screen, and a refusal stands at its field", async () => {
  const made = await talkTo("work a while");
  const { page, opened, field, id } = made;
  await saw(made.rows, "line 1 of the work");
  await field.fill("a long thought, not sent");
  await opened.go("#/sessions");
  await page.getByRole("link", { name: "work a while" }).first().waitFor();
  await opened.go(`#/sessions/${id}`);
  await expect.poll(() => field.inputValue()).toBe("a long thought, not sent");
  await page.goto(`${host.address}/console?again#code=${await host.code()}`);
  await page.getByText("Live", { exact: true }).waitFor();
  await opened.go(`#/sessions/${id}`);
  await expect.poll(() => field.inputValue()).toBe("a long thought, not sent");
  const problem = { code: "too_large", detail: "Cannot accept it: it is too long.", hint: "Make it shorter." };
  await page.route("**/messages", (route) => route.fulfill({ status: 413, json: problem }), { times: 1 });
  await field.press("Enter");
  const failure = page.locator(".composer .failure");
  await failure.getByText("Cannot accept it: it is too long.").waitFor();
  await failure.getByText("Make it shorter.").waitFor();
  expect(await field.getAttribute("aria-invalid")).toBe("true");
  expect(await field.inputValue()).toBe("a long thought, not sent");
  await field.press("Enter");
  await saw(made.rows, "heard meanwhile: a long thought, not sent");
  await expect.poll(() => page.evaluate("Object.keys(localStorage).length")).toBe(0);
  await made.say("finish");
  await end(made);
});

test("a message whose answer was lost is sent again and heard once", async () => {
  const made = await talkTo("work a while");
  const { page, rows, id, hint, say } = made;
  await saw(rows, "line 1 of the work");
  // The host takes it, and the answer does not arrive.
  await page.route("**/messages", async (route) => {
    await route.fetch();
    await route.abort();
  }, { times: 1 });
  await say("only once");
  await saw(rows, "heard meanwhile: only once");
  await expect.poll(() => hint.textContent()).toBe("Goes into turn 1, while the agent works.");
  await made.page.waitForTimeout(300);
  expect(await timesHeard(id, "heard meanwhile: only once")).toBe(1);
  expect(await host.call<{ messages: object[] }>("GET", `/v1/conversations/${id}/messages`))
    .toMatchObject({ messages: [{ state: "delivered" }] });
  await say("finish");
  await end(made);
});

test("the host is killed and comes back: the draft is there, the message arrives once, no row is doubled", async () => {
  const made = await talkTo("work a while");
  const { page, rows, field, hint, id, say } = made;
  await saw(rows, "line 3 of the work");
  await field.fill("goes on after that");
  await host.kill();
  await page.locator(".offline").waitFor();
  expect(await field.inputValue()).toBe("goes on after that");
  await field.press("Enter");
  await hint.getByText("Not sent yet. Cannot reach the host.").waitFor();
  await hint.getByRole("button", { name: "Keep it as a draft" }).click();
  await field.fill("goes on after all");
  await field.press("Enter");
  await hint.getByText("Not sent yet").waitFor();
  await host.start();
  await page.locator(".offline").waitFor({ state: "detached", timeout: 15_000 });
  await saw(rows, "turn 2 heard: goes on after all");
  expect(await field.inputValue()).toBe("");
  expect(await timesHeard(id, "heard: goes on after all")).toBe(1);
  expect(await timesHeard(id, "goes on after that")).toBe(0);
  const shown = await rows.locator("a.seq").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  expect(shown.length).toBeGreaterThan(6);
  expect(new Set(shown).size).toBe(shown.length);
  const text = (await rows.locator(".row-text").allTextContents()).join("");
  expect(text.split("line 2 of the work").length).toBe(2);
  await say("last one");
  await saw(rows, "heard: last one");
  await end(made);
}, 90_000);

test("a page that may only look shows the conversation and what waits, and no composer", async () => {
  const made = await talkTo("work a while", { adapter: "deaf" });
  await saw(made.rows, "line 1 of the work");
  await made.say("later");
  const looking = await openConsole(browser, host, { hash: `#/sessions/${made.id}`, scope: "read" });
  const there = partsOf(looking.page);
  await there.pending.getByText("later").waitFor();
  await saw(there.rows, "of the work");
  expect(await there.field.count()).toBe(0);
  expect(await there.pending.getByRole("button").count()).toBe(0);
  expect(await looking.page.getByRole("button", { name: /Interrupt|End session|Run again/ }).count()).toBe(0);
  await made.button("Stop turn").click();
  await saw(there.rows, "turn 2 heard: later");
  await closeConsole(looking);
  await end(made);
});

test("messages with markup, scripts and acting characters are inert in the list, the heads and the turns", async () => {
  const made = await talkTo("work a while");
  const { page, rows, say, pending, field, way, head } = made;
  await saw(rows, "line 1 of the work");
  const text = nasty.replaceAll("\u0000", "");
  await field.fill(text);
  await way("After this turn").check();
  await field.press("Enter");
  await pending.getByText("javascript:document.title").first().waitFor();
  await field.fill(text);
  await field.press("Enter");
  await rows.locator(".said").waitFor();
  const harm = `document.querySelectorAll("main script, main img, main iframe, [onerror], a[href^=javascript]").length`;
  expect(await page.evaluate(harm)).toBe(0);
  await say("finish");
  await head(2).getByText("javascript:document.title").first().waitFor();
  expect(await page.evaluate(harm)).toBe(0);
  expect(await page.title()).not.toContain("owned");
  expect(await page.locator(".acting").count()).toBeGreaterThan(4);
  await end(made);
});

test("a session of one turn looks as it did: its prompt as its first row, no heads, and a field below", async () => {
  const made = await talkTo("only this", { keep_ms: 0 });
  const { rows, page, hint } = made;
  await rows.locator(".ended").waitFor();
  await rows.locator('.row[data-seq="1"] .prompt', { hasText: "only this" }).waitFor();
  await hint.getByText("Begins turn 2").waitFor();
  expect(await page.locator(".turn-head").count()).toBe(0);
  expect(await page.locator(".session-head").count()).toBe(0);
  await end(made);
});

test.each(["light", "dark"] as const)(
  "on a phone in %s there is a button to send and no sideways scroll",
  async (colorScheme) => {
    const made = await talkTo("work a while", {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
      colorScheme,
    });
    const { page, rows, field, button, way } = made;
    await saw(rows, "line 1 of the work");
    await field.fill("a first line");
    await field.press("Enter");
    await field.pressSequentially("x".repeat(120));
    expect(await field.inputValue()).toContain("a first line\n");
    await way("After this turn").check();
    await button("Send").tap();
    await made.pending.getByText("a first line").waitFor();
    const wide =
      `Math.max(...[document.documentElement, document.querySelector("main")].map((one) => one.scrollWidth - one.clientWidth))`;
    expect(await page.evaluate(wide)).toBeLessThanOrEqual(0);
    const box = await button("Send").boundingBox();
    expect(box!.y + box!.height).toBeLessThanOrEqual(844);
    expect(box!.height).toBeGreaterThanOrEqual(40);
    expect(await axeFindings(page)).toEqual([]);
    await field.fill("finish");
    await button("Send").tap();
    await saw(rows, "turn 2 heard: a first line");
    expect(await page.evaluate(wide)).toBeLessThanOrEqual(0);
    expect(await axeFindings(page)).toEqual([]);
    await end(made);
  },
);

test("Tab leads from the field over the choice, the files and Stop to Send, and Enter acts on them", async () => {
  const made = await talkTo("work a while");
  const { page, rows, field, hint } = made;
  await saw(rows, "line 1 of the work");
  await field.fill("by keys");
  const at = () => page.evaluate<string>(`document.activeElement.value || document.activeElement.textContent`);
  await page.keyboard.press("Tab");
  expect(await at()).toBe("steer");
  await page.keyboard.press("ArrowDown");
  expect(await at()).toBe("queue");
  await expect.poll(() => hint.textContent()).toBe("Waits until turn 1 is over.");
  expect(await hint.getAttribute("role")).toBe("status");
  await page.keyboard.press("Tab");
  expect(await at()).toBe("Add file");
  await page.keyboard.press("Tab");
  expect(await at()).toBe("Stop turn");
  await page.keyboard.press("Tab");
  expect(await at()).toBe("Send");
  await page.keyboard.press("Enter");
  await made.pending.getByText("by keys").waitFor();
  await made.say("finish");
  await saw(rows, "turn 2 heard: by keys");
  await end(made);
});

test("when too many messages wait, the host's refusal stands at the field and the words stay", async () => {
  const made = await talkTo("work a while", { adapter: "deaf" });
  await saw(made.rows, "line 1 of the work");
  for (let at = 1; at <= 64; at++) {
    await host.call("POST", `/v1/conversations/${made.id}/messages`, { text: `message ${at}` });
  }
  await expect.poll(() => made.pending.locator("li").count()).toBe(64);
  await made.say("one too many");
  await made.page.locator(".composer .failure").getByText("64 wait already").waitFor();
  expect(await made.field.inputValue()).toBe("one too many");
  await made.pending.locator("li").last().getByRole("button", { name: "Withdraw" }).click();
  await expect.poll(() => made.pending.locator("li").count()).toBe(63);
  await made.field.press("Enter");
  await made.pending.getByText("one too many").waitFor();
  await host.call("POST", `/v1/conversations/${made.id}/stop`, { drop_pending: true });
  await made.pending.waitFor({ state: "detached" });
  await end(made);
});

test("what a person reads stays in its place while turns end, begin, are closed and opened", async () => {
  const made = await talkTo("work a while");
  const { page, rows, say, head, hint } = made;
  await saw(rows, "line 40 of the work");
  await rows.evaluate((list: { scrollTop: number }) => void (list.scrollTop = 260));
  await page.getByRole("button", { name: /Follow the newest/ }).waitFor();
  const top = () => page.evaluate<number>(`document.querySelector('.row[data-seq="5"]').getBoundingClientRect().top`);
  const before = await top();
  // The session's first row, its prompt, becomes the head of its turn: what follows stays within that difference.
  await say("finish");
  await expect.poll(() => hint.textContent()).toContain("Begins turn 2");
  await page.waitForTimeout(200);
  expect(Math.abs(await top() - before)).toBeLessThan(2);
  await say("a second turn");
  await expect.poll(() => hint.textContent()).toContain("Begins turn 3");
  await page.waitForTimeout(300);
  const divided = await top();
  await say("a third turn");
  await expect.poll(() => hint.textContent()).toContain("Begins turn 4");
  await page.waitForTimeout(300);
  expect(Math.abs(await top() - divided)).toBeLessThan(2);
  await page.getByRole("button", { name: /Follow the newest/ }).click();
  await head(3).waitFor();
  // By keys alone: m leads to the field, and a head is a button.
  const fold = head(2).getByRole("button", { name: /Turn 2/ });
  const place = async () => (await fold.boundingBox())!.y;
  await fold.focus();
  await page.keyboard.press("Enter");
  await head(2).getByRole("button", { expanded: false }).waitFor();
  expect(await rows.textContent()).not.toContain("turn 2 heard");
  const closed = await place();
  await page.keyboard.press("Enter");
  await saw(rows, "turn 2 heard: a second turn");
  expect(Math.abs(await place() - closed)).toBeLessThan(2);
  await fold.evaluate((one) => (one as unknown as { blur(): void }).blur());
  await page.keyboard.press("m");
  expect(await made.field.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
  await end(made);
});

/** A picture of a page: a real PNG. */
const png = async (page: Page) => await page.screenshot({ clip: { x: 0, y: 0, width: 320, height: 200 } });

/** Pastes or drops files as a browser hands them over. */
const hand = (page: Page, how: "paste" | "drop", files: { name: string; base64: string; type: string }[]) =>
  page.evaluate(`(() => {
    const data = new DataTransfer();
    for (const { name, base64, type } of ${JSON.stringify(files)}) {
      data.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name, { type }));
    }
    const options = { bubbles: true, cancelable: true, clipboardData: data, dataTransfer: data };
    const [target, event] = "${how}" === "paste"
      ? [document.querySelector(".composer textarea"), new ClipboardEvent("paste", options)]
      : [document.querySelector(".timeline"), new DragEvent("drop", options)];
    return !target.dispatchEvent(event);
  })()`);

test("images are chosen, pasted and dropped, shown before they go, and stand in the list and the turns", async () => {
  const made = await talkTo("work a while", { adapter: "sees" });
  const { page, rows, field, button, pending, head, way, opened, id } = made;
  await saw(rows, "line 1 of the work");
  const picture = await png(page);
  const base64 = picture.toString("base64");
  const tray = page.getByRole("list", { name: "Images and files of your message" });
  await button("Add image").waitFor();
  await page.locator(".composer input[type=file]").setInputFiles({ name: "one.png", mimeType: "", buffer: picture });
  await tray.locator("[data-state=stored]", { hasText: "one.png" }).locator("canvas").waitFor();
  expect(await hand(page, "paste", [{ name: "two.png", base64, type: "image/png" }])).toBe(true);
  expect(await hand(page, "drop", [{ name: "three.png", base64, type: "image/png" }])).toBe(true);
  await expect.poll(() => tray.locator("li").count()).toBe(3);
  await tray.getByRole("button", { name: "Remove two.png" }).click();
  await tray.getByRole("button", { name: "Remove three.png" }).click();
  await field.fill("what is this");
  await way("After this turn").check();
  expect(await axeFindings(page)).toEqual([]);
  // As long as the page lives, they stay with the draft.
  await opened.go("#/sessions");
  await page.getByRole("link", { name: "work a while" }).first().waitFor();
  await opened.go(`#/sessions/${id}`);
  await tray.locator("canvas").waitFor();
  await way("After this turn").check();
  await field.press("Enter");
  await tray.waitFor({ state: "detached" });
  const waiting = pending.locator("li", { hasText: "what is this" });
  await waiting.locator("canvas").waitFor();
  // A change keeps the image.
  await waiting.getByRole("button", { name: "Edit" }).click();
  await pending.getByLabel("Change the message").fill("what is that");
  await pending.getByRole("button", { name: "Save" }).click();
  await pending.locator("li", { hasText: "what is that" }).locator("canvas").waitFor();
  const other = await openConsole(browser, host, { hash: `#/sessions/${id}` });
  await partsOf(other.page).pending.getByText(/PNG [0-9a-f]{6}/).waitFor();
  await closeConsole(other);
  await made.say("finish");
  await saw(rows, "turn 2 heard: what is that");
  await saw(rows, `saw image image/png of ${base64.length} letters`);
  await head(2).locator("canvas").waitFor();
  // An image needs no words.
  expect(await hand(page, "paste", [{ name: "alone.png", base64, type: "image/png" }])).toBe(true);
  await tray.locator("[data-state=stored]").waitFor();
  await button("Send").click();
  await head(3).locator("canvas").waitFor();
  await head(3).getByText("Done").waitFor();
  await end(made);
});

test("what an agent does not take is refused in words, and hostile names and an SVG do nothing", async () => {
  const made = await talkTo("begin it", { adapter: "sees" });
  const { page, button, hint } = made;
  await hint.getByText("Begins turn 2").waitFor();
  const refusals = page.locator(".tray-refusals");
  const svg = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" onload="document.title='owned'"/>`).toString(
    "base64",
  );
  await button("Add image").waitFor();
  await hand(page, "drop", [{ name: "logo.png", base64: svg, type: "image/png" }]);
  await refusals.getByText("logo.png was not added: it is no PNG, JPEG, GIF or WebP, and sees takes no other files.")
    .waitFor();
  const large = { name: "large.png", mimeType: "", buffer: Buffer.concat([await png(page), Buffer.alloc(5 << 20)]) };
  await page.locator(".composer input[type=file]").setInputFiles(large);
  await refusals.getByText("large.png was not added: an image may have 5 MiB").waitFor();
  await end(made);
  const deaf = await talkTo("begin it", { adapter: "deaf" });
  await deaf.hint.getByText("Begins turn 2").waitFor();
  await deaf.page.locator(".attach[aria-disabled=true]").press("Enter");
  await deaf.page.getByText("Nothing was added: deaf takes no images and files.").waitFor();
  await hand(deaf.page, "drop", [{ name: "one.png", base64: svg, type: "image/png" }]);
  await deaf.page.getByText("one.png was not added: deaf takes no images and files.").waitFor();
  await end(deaf);
  const reads = await talkTo("begin it", { adapter: "reads" });
  await reads.hint.getByText("Begins turn 2").waitFor();
  const name = `<img src=x onerror="document.title='owned'">\u202egnp.exe`;
  await reads.button("Add file").waitFor();
  await hand(reads.page, "drop", [{ name, base64: svg, type: "image/svg+xml" }]);
  await reads.page.locator("[data-state=stored]").waitFor();
  expect(await reads.page.locator(".tray canvas, .tray img").count()).toBe(0);
  await reads.say("read it");
  await saw(reads.rows, "turn 2 heard: read it");
  await saw(reads.rows, "saw file <img src=x");
  await reads.head(2).getByText("<img src=x").first().waitFor();
  expect(await reads.page.locator("main img, main svg[onload]").count()).toBe(0);
  expect(await reads.page.title()).not.toContain("owned");
  await end(reads);
});

test("an image that is added while the host is away goes out with its message, once", async () => {
  const made = await talkTo("begin it", { adapter: "sees" });
  const { page, hint, rows, field, id } = made;
  await hint.getByText("Begins turn 2").waitFor();
  const picture = await png(page);
  await page.route("**/v1/attachments", (route) => route.abort(), { times: 2 });
  await page.locator(".composer input[type=file]").setInputFiles({ name: "one.png", mimeType: "", buffer: picture });
  await page.getByText("goes out with the message").waitFor();
  await field.fill("look at it");
  await field.press("Enter");
  await hint.getByText("Not sent yet. Cannot reach the host.").waitFor();
  await saw(rows, `saw image image/png of ${picture.toString("base64").length} letters`);
  expect(await timesHeard(id, "heard: look at it")).toBe(1);
  await end(made);
});

test("another agent is chosen for the next turn, begins a session of its own, and says what it takes", async () => {
  const made = await talkTo("begin it", { adapter: "sees" });
  const { page, hint, rows, button, field } = made;
  await hint.getByText("Begins turn 2: the agent is kept for it.").waitFor();
  const agent = page.getByRole("combobox", { name: "Agent" });
  await agent.selectOption("reads");
  await button("Add file").waitFor();
  await hint.getByText("Begins turn 2 in a new session of reads, with a summary of the turns before.").waitFor();
  await field.fill("go on here");
  await field.press("Enter");
  await rows.getByText("reads: another agent goes on").waitFor();
  await hint.getByText("Begins turn 3: the agent is kept for it.").waitFor();
  expect(await agent.inputValue()).toBe("");
  expect(await agent.locator("option:checked").allTextContents()).toEqual(["reads"]);
  expect((await made.report()).sessions.map(({ adapter_id }) => adapter_id)).toEqual(["sees", "reads"]);
  expect(await axeFindings(page)).toEqual([]);
  await end(made);
});
