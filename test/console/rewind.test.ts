import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Locator } from "playwright-core";
import type { ConversationReport } from "../../plugin-sdk/conversation.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeFindings } from "./accessibility.ts";
import {
  closeConsole,
  type ConsoleHost,
  openBrowser,
  openConsole,
  openConsoleHost,
  pause,
  pictures,
} from "./console-fixture.ts";
import { git } from "./git.ts";

let host: ConsoleHost & AsyncDisposable;
let browser: Browser;
let folders = 0;

beforeAll(async () => {
  [host, browser] = await Promise.all([openConsoleHost(), openBrowser(), mkdir(pictures, { recursive: true })]);
});

afterAll(async () => {
  await browser?.close();
  await host?.[Symbol.asyncDispose]();
});

/** A conversation of an agent that writes files in each turn, in a repository of its own, and its page. */
async function written(
  prompts: readonly string[],
  { keep_ms = 0, ...options }: Parameters<typeof openConsole>[2] & { keep_ms?: number } = {},
) {
  const workdir = join(host.folder, `written-${++folders}`);
  await mkdir(workdir);
  await writeFile(join(workdir, "tally.js"), "export const tally = 0;\n");
  await git(workdir, "init", "-q", "-b", "main");
  await git(workdir, "add", "-A");
  await git(workdir, "commit", "-q", "-m", "begin");
  const [prompt = "", ...more] = prompts;
  const session = await host.client.start({ workdir, prompt, keep_ms, checkpoints: true }, { adapter: "writes" });
  const { id } = session;
  const report = () => host.call<ConversationReport>("GET", `/v1/conversations/${id}`);
  const rests = async (count = prompts.length) => {
    for (;;) {
      const { state, turns, pending } = await report();
      if (state !== "working" && pending.length === 0 && turns.length >= count && turns.at(-1)?.outcome !== null) {
        return;
      }
      await pause(30);
    }
  };
  for (const [at, text] of more.entries()) {
    await rests(at + 1);
    await host.call("POST", `/v1/conversations/${id}/messages`, { text });
  }
  const opened = await openConsole(browser, host, { hash: `#/sessions/${id}`, ...options });
  const { page } = opened;
  const dialog = page.getByRole("dialog");
  return {
    id,
    workdir,
    opened,
    page,
    dialog,
    report,
    rests,
    head: (turn: number) => page.getByRole("region", { name: `Turn ${turn}`, exact: true }),
    files: (turn: number) => page.getByRole("region", { name: `Files of turn ${turn}` }),
    button: (name: string | RegExp) => dialog.getByRole("button", { name }),
    paths: (title: string) => dialog.getByRole("region", { name: title }).locator("code").allTextContents(),
    names: async () => (await readdir(workdir)).filter((name) => name !== ".git").sort(),
    picture: (name: string) => page.screenshot({ path: join(pictures, `rewind-${name}.png`) }),
  };
}

const fork = (head: Locator) => head.getByRole("button", { name: "Fork" });
const takeBack = (head: Locator) => head.getByRole("button", { name: "Take back" });

test("a turn shows what it changed, and is taken back and brought back from its head", async () => {
  const made = await written(["Begin the tally", "Add a second", "And a third"], { keep_ms: 600_000 });
  const { page, head, files, button, paths, dialog, workdir, names, rests, picture } = made;
  await rests();
  await head(2).getByRole("button", { name: "2 files" }).click();
  await files(2).getByText("+export const turn2 = 2;").or(files(2).getByText("export const turn2 = 2;")).waitFor();
  await files(2).getByRole("region", { name: "Changes of note-2.md" }).getByText("# Add a second").waitFor();
  expect(await files(2).textContent()).not.toContain("turn3");
  expect(await axeFindings(page)).toEqual([]);
  await picture("files");

  await takeBack(head(2)).focus();
  await page.keyboard.press("Enter");
  await button("Take back 3 files").waitFor();
  await dialog.getByRole("heading", { name: "Take back turn 2 and 3" }).waitFor();
  expect(await paths("These are taken back")).toEqual(["note-2.md", "note-3.md", "tally.js"]);
  expect(await axeFindings(page)).toEqual([]);
  await picture("plan");
  // To look changes nothing.
  expect(await names()).toContain("note-3.md");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await takeBack(head(2)).evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);

  await page.keyboard.press("Enter");
  await button("Take back 3 files").click();
  await dialog.getByText("3 files taken back.").first().waitFor();
  expect(await names()).toEqual(["note-1.md", "tally.js"]);
  expect(await button("Close").evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
  await picture("done");
  await button("Undo").click();
  await button("Bring back 3 files").click();
  await dialog.getByText("3 files brought back.").first().waitFor();
  expect(await readFile(join(workdir, "tally.js"), "utf8")).toContain("turn3");
  await button("Take back 3 files").waitFor({ state: "detached" });

  // Taken back again, and left: the head says so, and the turn can be brought back later.
  await button("Close").click();
  await takeBack(head(3)).click();
  await button("Take back 2 files").click();
  await button("Close").click();
  await head(3).getByText("Taken back").waitFor();
  await takeBack(head(3)).click();
  await dialog.getByText("No file would change").waitFor();
  await button("Undo the last rewind").click();
  await button("Bring back 2 files").click();
  await dialog.getByText("2 files brought back.").first().waitFor();
  await button("Close").click();
  expect(await names()).toContain("note-3.md");

  // A turn between turns that are taken back finds the one before.
  await takeBack(head(2)).click();
  await button("Take back 3 files").click();
  await button("Close").click();
  await takeBack(head(3)).click();
  await dialog.getByText("Turn 3 is taken back already.").waitFor();
  await button("Close").click();
  await host.call("POST", `/v1/conversations/${made.id}/messages`, { text: "A fourth" });
  await head(4).getByText("Done").waitFor();
  await rests();
  await takeBack(head(4)).click();
  await button("Take back 2 files").click();
  await dialog.getByText("2 files taken back.").first().waitFor();
  expect(await names()).toEqual(["note-1.md", "tally.js"]);
  await button("Close").click();
  await closeConsole(made.opened);
});

test("what a person changed is a conflict or stays, unless the person decides otherwise", async () => {
  const made = await written(["Begin the tally", "think first"]);
  const { head, button, paths, dialog, workdir, names, rests, picture } = made;
  await head(2).or(made.page.getByText("turn 2 heard")).first().waitFor();
  await writeFile(join(workdir, "mine.md"), "a thought of mine\n");
  await rests();
  await writeFile(join(workdir, "note-2.md"), "mine now\n");
  await takeBack(head(1)).click();
  await dialog.getByRole("heading", { name: "Take back turn 1 and 2" }).waitFor();
  await dialog.getByText("Changed by others as well").waitFor();
  expect(await paths("Changed by others as well: these stand in the way")).toEqual(["note-2.md"]);
  expect(await paths("Nothing shows that the agent changed these: they stay")).toEqual(["mine.md"]);
  expect(await button("Take back 2 files").isDisabled()).toBe(true);
  await picture("conflict");
  expect(await axeFindings(made.page)).toEqual([]);
  await dialog.getByLabel("Leave these as they are").check();
  await dialog.getByLabel("Take back also").check();
  await button("Take back 3 files").click();
  await dialog.getByText("3 files taken back.").first().waitFor();
  expect(await paths("Left as they were")).toEqual(["note-2.md"]);
  expect(await names()).toEqual(["note-2.md", "tally.js"]);
  expect(await readFile(join(workdir, "note-2.md"), "utf8")).toBe("mine now\n");
  await button("Close").click();
  await closeConsole(made.opened);
});

test("while a turn runs it says so, and looks again", async () => {
  const made = await written(["Begin the tally", "hold on"], { keep_ms: 600_000 });
  const { head, button, dialog, page } = made;
  await takeBack(head(1)).click();
  await dialog.getByText("a turn of it runs").waitFor();
  await dialog.getByText("Wait for its end, or stop it.").waitFor();
  await host.call("POST", `/v1/conversations/${made.id}/stop`, {});
  await made.rests();
  await button("Look again").click();
  await button("Take back 2 files").waitFor();
  await page.keyboard.press("Escape");
  await closeConsole(made.opened);
});

test("a conversation of one turn can be taken back on a phone, and a page that only looks cannot", async () => {
  const made = await written(["Begin the tally"], { viewport: { width: 390, height: 844 }, hasTouch: true });
  const { head, files, button, dialog, page, names, rests, picture } = made;
  await rests();
  await head(1).getByRole("button", { name: "2 files" }).tap();
  await files(1).getByText("export const turn1 = 1;").waitFor();
  await picture("narrow-files");
  await takeBack(head(1)).tap();
  await button("Take back 2 files").waitFor();
  await picture("narrow-plan");
  const box = await dialog.boundingBox();
  expect(box!.x).toBeGreaterThanOrEqual(0);
  expect(box!.x + box!.width).toBeLessThanOrEqual(390);
  expect(await axeFindings(page)).toEqual([]);
  await button("Take back 2 files").tap();
  await dialog.getByText("2 files taken back.").first().waitFor();
  expect(await names()).toEqual(["tally.js"]);
  const reader = await openConsole(browser, host, { hash: `#/sessions/${made.id}`, scope: "read" });
  await reader.page.getByRole("button", { name: "2 files" }).click();
  await reader.page.getByText("export const turn1 = 1;").waitFor();
  expect(await reader.page.getByRole("button", { name: "Take back" }).count()).toBe(0);
  await closeConsole(reader);
  await closeConsole(made.opened);
});

test("wide and dark, the files of a turn and its plan are drawn whole", async () => {
  const made = await written(["Begin the tally", "Add a second"], {
    viewport: { width: 1440, height: 900 },
    colorScheme: "dark",
  });
  const { head, files, button, page, rests, picture } = made;
  await rests();
  await head(2).getByRole("button", { name: "2 files" }).click();
  await files(2).getByText("export const turn2 = 2;").waitFor();
  await picture("dark-files");
  await takeBack(head(1)).click();
  await button("Take back 3 files").waitFor();
  await picture("dark-plan");
  expect(await axeFindings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await closeConsole(made.opened);
});

test("the talk goes back with the files, and comes back with them", async () => {
  const made = await written(["Begin the tally", "Add a second", "And a third"], { keep_ms: 600_000 });
  const { head, button, dialog, names, rests, report, page, picture } = made;
  await rests();
  await takeBack(head(2)).click();
  await button("Take back 3 files").waitFor();
  await dialog.getByLabel("The agent forgets these turns, too").check();
  await button("Take back 3 files and the talk").waitFor();
  await dialog.getByText("The agent then does not know turn 2 and 3.").waitFor();
  await picture("talk");
  expect(await axeFindings(page)).toEqual([]);
  await button("Take back 3 files and the talk").click();
  await dialog.getByText("3 files and the talk taken back.").first().waitFor();
  expect(await names()).toEqual(["note-1.md", "tally.js"]);
  const { sessions } = await report();
  expect(sessions.at(-1)).toMatchObject({ why: "rewind" });
  await button("Undo").click();
  await button("Bring back 3 files and the talk").click();
  await dialog.getByText("3 files and the talk brought back.").first().waitFor();
  expect(await names()).toContain("note-3.md");
  await button("Close").click();
  await made.page.getByText("it was taken back").first().waitFor();
  await closeConsole(made.opened);
});

test("a fork goes on from a turn in a conversation of its own, and a refused one says why", async () => {
  const made = await written(["Begin the tally", "Add a second"], { keep_ms: 600_000 });
  const { head, button, dialog, rests, page, id, names, picture } = made;
  await rests();
  await fork(head(1)).click();
  await dialog.getByText("with the files as they were after turn 1").waitFor();
  await dialog.getByLabel("First message").fill("The other way");
  await dialog.getByLabel("Agent").fill("nobody");
  await button("Fork").click();
  await dialog.getByRole("alert").waitFor();
  await picture("fork");
  expect(await axeFindings(page)).toEqual([]);
  await dialog.getByLabel("Agent").fill("");
  await button("Fork").click();
  await dialog.waitFor({ state: "detached" });
  await expect.poll(() => page.url()).not.toContain(id);
  await page.getByText("turn 2 is done").waitFor();
  const forked = page.url().split("/").at(-1)!;
  const report = () => host.call<ConversationReport>("GET", `/v1/conversations/${forked}`);
  await expect.poll(async () => (await report()).turns.at(-1)?.outcome).toBe("completed");
  const { conversation_id, sessions } = await report();
  expect([conversation_id, sessions[0]!.why]).toEqual([forked, "fork"]);
  // Its files are its own.
  expect(await names()).toEqual(["note-1.md", "note-2.md", "tally.js"]);
  const { workdir } = await host.call<{ workdir: string }>("GET", `/v1/sessions/${forked}`);
  expect(await readdir(workdir)).toEqual(expect.arrayContaining(["note-1.md", "tally.js"]));
  expect(await readdir(workdir)).not.toContain("note-3.md");
  await made.opened.go(`#/sessions/${id}`);
  await fork(head(2)).click();
  await dialog.getByLabel("In a worktree of its own").waitFor();
  await page.keyboard.press("Escape");
  await closeConsole(made.opened);
});
