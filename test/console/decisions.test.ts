import { lstat, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openWholeConsole, type WholeConsole } from "./console-fixture.ts";
import { git } from "./git.ts";

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

/** Goes down in the inbox by keys until an item is the current one. */
async function stepTo(text: string): Promise<void> {
  const current = page.locator(".item.current", { hasText: text });
  for (let steps = 0; steps < 12 && await current.count() === 0; steps++) await page.keyboard.press("j");
  await current.waitFor();
}

test("a refused grant is tried on the history and given in the inbox", async () => {
  await opened.go("#/needs-you");
  const item = page.locator(".item-grant", { hasText: "api.example.com:443" });
  // What a manifest asks for, and no session was refused, waits for nobody.
  await page.getByText("Nothing waits for you").waitFor();
  await work("Be denied a host");
  await item.waitFor({ timeout: 15_000 });
  await page.locator("main").focus();
  await stepTo("api.example.com:443");
  await page.keyboard.press("1");
  await item.getByText(/calls? in the history/).waitFor();
  await item.getByRole("button", { name: "Grant", exact: true }).click();
  await item.waitFor({ state: "detached" });
  expect(await readFile(join(host.folder, "bulkhead.yaml"), "utf8")).toContain("api.example.com:443");
});

test("a plugin in quarantine stands in the inbox only while it holds up a session", async () => {
  const request = { workdir: host.workdir, prompt: "Crash", retry: "never" as const };
  await (await host.client.start(request, { adapter: "crashes" })).result();
  const waiting = async () => JSON.stringify(await host.call("GET", "/v1/waiting"));
  await expect.poll(waiting).toContain("quarantine crashes");
  await page.reload();
  await page.getByText("Nothing waits for you").waitFor();
  // The host says of no session of these tests that the plugin is its agent.
  const held = { session_id: "0123456789abcdef0123456789abcdef", adapter_id: "crashes", state: "running" };
  const facts = {
    workdir: host.workdir,
    title: "Held up",
    labels: {},
    waiting: [],
    started_at: "2026-01-01T00:00:00Z",
  };
  const ends = { task_id: null, ended_at: null, outcome: null, stop_reason: null, last_seq: 1, conversation_id: "" };
  await page.route(
    "**/v1/sessions?*",
    (route) => route.fulfill({ json: { sessions: [{ ...held, ...facts, ...ends }], next: null } }),
  );
  await page.reload();
  const item = page.locator(".item-quarantine", { hasText: "crashes" });
  await item.getByText("No luck").waitFor({ timeout: 15_000 });
  await item.getByRole("button", { name: "Let it run again" }).click();
  await page.getByText("crashes may run again.").waitFor();
  await item.waitFor({ state: "detached" });
  await page.unroute("**/v1/sessions?*");
  await page.reload();
});

test("changes that could not be applied wait in the inbox, with their files and diff, until they are applied", async () => {
  const file = join(host.workdir, "src/tally.js");
  const before = await readFile(file, "utf8");
  const id = await work("Meet a conflict");
  await writeFile(file, "export const tally = () => 0;\n");
  await opened.go(`#/review/${id}`);
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("alert").getByText("src/tally.js").last().waitFor();
  await opened.go("#/needs-you");
  const item = page.locator(".item-conflict", { hasText: "Meet a conflict" });
  await item.locator(".files", { hasText: "src/tally.js" }).waitFor();
  const link = item.locator(".item-who").getByRole("link", { name: "Meet a conflict", exact: true });
  expect(await link.getAttribute("href")).toBe(`#/sessions/${id}`);
  expect(await item.locator(".item-who").textContent()).toContain(id.slice(0, 8));
  expect(await item.getByText("Meet a conflict").count()).toBe(1);
  expect(await item.locator(".item-title").textContent()).toContain("changed there as well");
  await page.locator("main").focus();
  await stepTo("Meet a conflict");
  await item.getByRole("button", { name: "Show the diff" }).click();
  await item.getByText("// Words, as a text.").waitFor();
  await item.getByRole("button", { name: "Apply again" }).click();
  await page.locator(".notice-failure", { hasText: "changed there as well" }).waitFor();
  await writeFile(file, before);
  await item.getByRole("button", { name: "Apply again" }).click();
  await item.waitFor({ state: "detached" });
  expect(await readFile(file, "utf8")).toContain("// Words, as a text.");
  await git(host.workdir, "checkout", "-q", "--", ".");
});

/** Keeps a comment of a review in the browser, as a person leaves it who goes to another screen. */
async function leaveComment(id: string): Promise<void> {
  const comment = { file: "src/tally.js", side: "new", from: 2, to: 2, text: "Why?" };
  const kept = JSON.stringify({ comments: [comment], draft: null, viewed: {}, at: Date.now() });
  await page.evaluate(`localStorage.setItem("bulkhead-review:${id}", ${JSON.stringify(kept)})`);
}

test("no screen applies or discards changes with comments that are not sent before a person agrees", async () => {
  const file = join(host.workdir, "src/tally.js");
  const before = await readFile(file, "utf8");
  const id = await work("Meet a comment");
  await writeFile(file, "export const tally = () => 0;\n");
  await expect(host.client.workspaces.apply(id)).rejects.toMatchObject({ code: "conflict" });
  await writeFile(file, before);
  await leaveComment(id);
  await opened.go("#/needs-you");
  const item = page.locator(".item-conflict", { hasText: "Meet a comment" });
  await item.getByRole("button", { name: "Apply again" }).click({ timeout: 15_000 });
  const question = page.getByRole("dialog", { name: "1 comment is not sent" });
  await question.getByRole("button", { name: "Back" }).click();
  await item.getByRole("button", { name: "Discard" }).click();
  await item.getByRole("group", { name: /1 comment that is not sent/ }).getByRole("button", { name: "Keep" }).click();
  await item.getByRole("button", { name: "Apply again" }).click();
  await question.getByRole("button", { name: "Apply without it" }).click();
  await item.waitFor({ state: "detached" });
  expect(await page.evaluate(`localStorage.getItem("bulkhead-review:${id}")`)).toBeNull();
  await git(host.workdir, "checkout", "-q", "--", ".");
  const asked = { prompt: "Compare with a comment", workdir: host.workdir, adapters: ["works", "differs"] };
  const { id: comparison } = await host.call<{ id: string }>("POST", "/v1/comparisons", asked);
  await opened.go(`#/compare/${comparison}`);
  await page.getByRole("button", { name: "Adopt …" }).nth(1).waitFor({ timeout: 20_000 });
  const { sessions } = await host.call<{ sessions: { session_id: string }[] }>("GET", `/v1/comparisons/${comparison}`);
  for (const { session_id } of sessions) await leaveComment(session_id);
  await page.getByRole("button", { name: "Adopt …" }).first().click();
  await page.getByRole("dialog").getByText("2 comments are not sent").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
});

test("a link that leads out is held, and is applied only on request", async () => {
  const id = await work("Leave a link");
  const worktree = (await host.client.workspaces.list()).find(({ session_id }) => session_id === id)!;
  await symlink("/etc/hosts", join(worktree.folder, "out"));
  await opened.go(`#/review/${id}`);
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByRole("alert").getByText("out → /etc/hosts").last().waitFor();
  expect(await lstat(join(host.workdir, "out")).then(() => true, () => false)).toBe(false);
  await opened.go("#/needs-you");
  const item = page.locator(".item-held", { hasText: "Leave a link" });
  await item.getByText("out → /etc/hosts").waitFor();
  await item.locator(".item-who").getByRole("link", { name: "Leave a link", exact: true }).waitFor();
  await item.getByRole("button", { name: "Apply all" }).click();
  await item.waitFor({ state: "detached" });
  expect((await lstat(join(host.workdir, "out"))).isSymbolicLink()).toBe(true);
  await rm(join(host.workdir, "out"));
  await git(host.workdir, "checkout", "-q", "--", ".");
});

test("a conflict is discarded in the inbox, after one more question", async () => {
  const file = join(host.workdir, "src/tally.js");
  const id = await work("Throw me away");
  await writeFile(file, "export const tally = () => 0;\n");
  await expect(host.client.workspaces.apply(id)).rejects.toMatchObject({ code: "conflict" });
  await git(host.workdir, "checkout", "-q", "--", ".");
  const item = page.locator(".item-conflict", { hasText: "Throw me away" });
  await item.getByRole("button", { name: "Ask the agent to merge" }).click({ timeout: 15_000 });
  const words = item.getByLabel("Message to the agent");
  expect(await words.inputValue()).toContain(
    `${host.workdir}: these files were changed there as well.\n- src/tally.js`,
  );
  await item.getByRole("button", { name: "Ask it to merge" }).click();
  const prompts = async () => (await host.client.list({ limit: 3 })).map(({ title }) => title).join();
  await expect.poll(prompts).toContain("Your changes cannot be applied");
  await item.getByRole("button", { name: "Discard" }).click({ timeout: 30_000 });
  await item.getByRole("group", { name: /Remove the worktree/ }).getByRole("button", { name: "Discard" }).click();
  await page.waitForTimeout(3000);
  await item.waitFor({ state: "detached" });
});
