import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { adapterCode, writePlugin } from "../sessions/host/test-host.ts";
import { axeFindings } from "./accessibility.ts";
import { git } from "./git.ts";
import { closeConsole, openConsole, openWholeConsole, type WholeConsole } from "./console-fixture.ts";

let { host, browser, opened, page, close } = {} as WholeConsole;

const tuned = {
  manifest: `models: [small-1, large-1]
accepts: [model, effort]
permissions:
  read: [workdir]
  net: [api.example.com:443]
config:
  type: object
  properties:
    style: { type: string, description: How it writes., enum: [plain, grand], default: plain }
    depth: { type: integer, description: How far it looks., minimum: 1, maximum: 9 }
    loud: { type: boolean, description: Whether it shouts. }
    words: { type: array, description: Words that it avoids. }`,
  code: adapterCode(`    const { params, model, prompt } = request;
    yield { type: "output", stream: "stdout", data: JSON.stringify({ params, model, prompt }) };`),
};
const modest = { code: adapterCode(`    yield { type: "completed", success: true, output: "done" };`) };

beforeAll(async () => {
  ({ host, browser, opened, page, close } = await openWholeConsole());
  await writePlugin(join(host.folder, "plugins/tuned"), "tuned", tuned);
  await writePlugin(join(host.folder, "plugins/modest"), "modest", modest);
  await host.call("POST", "/v1/reload");
  const session = await host.client.start({ workdir: host.workdir, prompt: "Begin" }, { adapter: "says" });
  await session.result();
});
afterAll(() => close?.());
beforeEach(async () => {
  await opened.go("#/agents");
  await opened.go("#/start");
  await page.getByRole("checkbox", { name: /works/ }).waitFor();
});

const off = (name: string) => page.locator(".off-agents > li", { hasText: name });
const manifest = () => readFile(join(host.folder, "bulkhead.yaml"), "utf8");

test("an agent that is off is enabled with what it asks for, of which a person leaves out what they will", async () => {
  await page.getByText(/\d+ more are off/).click();
  await off("tuned").getByRole("button", { name: "Enable …" }).click();
  const asks = off("tuned").getByRole("checkbox");
  await asks.first().waitFor();
  expect(await asks.count()).toBe(2);
  await off("tuned").getByRole("checkbox", { name: /api\.example\.com/ }).uncheck();
  expect(await axeFindings(page)).toEqual([]);
  await off("tuned").getByRole("button", { name: "Enable and grant 1" }).click();
  // It is chosen: the person wanted it.
  await expect.poll(() => page.getByRole("checkbox", { name: /^tuned/ }).isChecked()).toBe(true);
  expect(await host.call("GET", "/v1/plugins/tuned/grants")).toMatchObject({ grant: { read: ["workdir"] }, deny: {} });
  expect(await manifest()).not.toContain("api.example.com");
});

test("one that asks for nothing names the command that enables it, and that command does it", async () => {
  await page.getByText(/\d+ more are off/).click();
  await off("modest").getByRole("button", { name: "Enable …" }).click();
  const command = await off("modest").locator(".command").innerText();
  expect(command).toBe("bulkhead plugin enable modest");
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const program = "Deno" in globalThis
    ? ["run", "-A", join(root, "core/doors/cli/main.ts")]
    : [join(root, "dist/bundle/cli.js")];
  const env = { ...process.env, HOME: join(host.folder, "home") };
  await promisify(execFile)(process.execPath, [...program, ...command.split(" ").slice(1)], { cwd: host.folder, env });
  expect(await manifest()).toContain("modest");
  await host.call("POST", "/v1/reload");
  await page.getByRole("button", { name: "Look again" }).click();
  await page.getByRole("checkbox", { name: /^modest/ }).waitFor();
});

test("an agent's own options are fields with its words, and travel with the session, as its model does", async () => {
  await page.getByRole("checkbox", { name: /^tuned/ }).check();
  await page.getByLabel("Prompt", { exact: true }).fill("Be grand");
  await page.getByRole("combobox", { name: "Folder" }).fill(host.workdir);
  const models = await page.locator("#models option").evaluateAll((nodes) =>
    nodes.map((node) => (node as unknown as { value: string }).value)
  );
  expect(models).toEqual(["small-1", "large-1"]);
  await page.getByRole("combobox", { name: "Model" }).fill("large-1");
  await page.getByRole("combobox", { name: "style" }).selectOption("grand");
  await page.getByRole("spinbutton", { name: "depth" }).fill("3");
  await page.getByRole("combobox", { name: "loud" }).selectOption("yes");
  await page.getByText("How far it looks.").waitFor();
  await page.getByText("How it writes. Where nothing is set: plain.").waitFor();
  // Lists have no field here.
  expect(await page.getByRole("textbox", { name: "words" }).count()).toBe(0);
  await page.getByLabel("Prompt", { exact: true }).press("Control+Enter");
  await page.waitForURL(/#\/sessions\/[0-9a-f]{32}$/);
  const id = page.url().split("/").at(-1)!;
  const { output } = await (await host.client.open(id)).result();
  expect(JSON.parse(output)).toEqual({
    params: { style: "grand", depth: 3, loud: true },
    model: "large-1",
    prompt: "Be grand",
  });
  const events: Envelope[] = [];
  for await (const envelope of (await host.client.open(id)).events()) events.push(envelope);
  expect(events[0]!.event).toMatchObject({ requested: { params: { style: "grand", depth: 3, loud: true } } });
});

test("options that are left alone are not sent, and those of two agents have no field", async () => {
  await page.getByRole("checkbox", { name: /^tuned/ }).check();
  await page.getByRole("combobox", { name: "style" }).waitFor();
  expect(await page.getByRole("combobox", { name: "style" }).inputValue()).toBe("");
  await page.getByRole("checkbox", { name: /^modest/ }).check();
  expect(await page.getByRole("combobox", { name: "style" }).count()).toBe(0);
  await page.getByRole("checkbox", { name: /^modest/ }).uncheck();
  await page.getByLabel("Prompt", { exact: true }).fill("Alone");
  await page.getByRole("combobox", { name: "Folder" }).fill(host.workdir);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/#\/sessions\/[0-9a-f]{32}$/);
  const { output } = await (await host.client.open(page.url().split("/").at(-1)!)).result();
  expect(JSON.parse(output)).toMatchObject({ prompt: "Alone" });
  expect(output).not.toContain("style");
});

test("the folders of earlier sessions can be chosen", async () => {
  const folders = await page.locator("#folders option").evaluateAll((nodes) =>
    nodes.map((node) => (node as unknown as { value: string }).value)
  );
  expect(folders).toContain(host.workdir);
  expect(await page.getByRole("combobox", { name: "Folder" }).inputValue()).toBe(host.workdir);
});

test("a folder says which branch it has checked out, and whether all is committed", async () => {
  const state = page.locator("#folder-state");
  const folder = page.getByRole("combobox", { name: "Folder" });
  await folder.fill(host.workdir);
  const { commit } = await host.client.workspaces.folderState(host.workdir);
  await expect.poll(() => state.innerText()).toBe(`main at ${commit!.slice(0, 8)}, all committed.`);
  await folder.fill(join(host.workdir, "none"));
  await expect.poll(() => state.innerText()).toContain("does not exist");
  await writeFile(join(host.workdir, "new.txt"), "new");
  await git(host.workdir, "switch", "-q", "-c", "feature/new");
  await folder.fill(host.workdir);
  await expect.poll(() => state.innerText()).toContain("feature/new at");
  expect(await state.innerText()).toContain("with changes that are not committed: a worktree begins with them.");
  await rm(join(host.workdir, "new.txt"));
  await git(host.workdir, "switch", "-q", "main");
  await folder.fill(join(host.folder, "home"));
  await expect.poll(() => state.innerText()).toContain("In no git repository");
});

/** The request of the session that the page shows. */
async function requested() {
  await page.waitForURL(/#\/sessions\/[0-9a-f]{32}$/);
  const events = (await host.client.open(page.url().split("/").at(-1)!)).events();
  for await (const { event } of events) if (event.type === "session_started") return event.requested;
  throw new Error("It has no beginning.");
}

test("a session begins with the terms of an earlier one, those without a field too, and what was changed", async () => {
  const terms = {
    workdir: host.workdir,
    workspace: "worktree" as const,
    model: "large-1",
    approval: "edits" as const,
    effort: "high" as const,
    params: { style: "grand", depth: 3, loud: false, words: ["very"] },
    budget: { cost: 2, tokens: 5000, turns: 4 },
    timeout_ms: 90_000,
    labels: { team: "web", note: "two words" },
    tool_approvals: { Bash: "deny" as const },
    best_effort: true,
  };
  const { id, result } = await host.client.start({ ...terms, prompt: "With terms" }, { adapter: "tuned" });
  await result();
  await page.getByRole("combobox", { name: "As in an earlier session" }).selectOption(id);
  await expect.poll(() => page.getByRole("checkbox", { name: /^tuned/ }).isChecked()).toBe(true);
  await page.getByText("Also as there: tool_approvals, labels.").waitFor();
  // Of a worktree, the folder that it was asked for.
  expect(await page.getByRole("combobox", { name: "Folder" }).inputValue()).toBe(host.workdir);
  expect(await page.getByRole("combobox", { name: "Effort" }).inputValue()).toBe("high");
  expect(await page.getByRole("spinbutton", { name: "Minutes at most" }).inputValue()).toBe("1.5");
  expect(await page.getByRole("textbox", { name: "Labels" }).inputValue()).toBe("team=web");
  expect(await page.getByLabel("Prompt", { exact: true }).inputValue()).toBe("");
  await page.getByRole("spinbutton", { name: "depth" }).fill("5");
  await page.getByRole("combobox", { name: "Approvals" }).selectOption("");
  await page.getByLabel("Prompt", { exact: true }).fill("Another");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  const { approval: _, ...others } = terms;
  expect(await requested()).toEqual({ ...others, prompt: "Another", params: { ...terms.params, depth: 5 } });
});

test("a session's page starts another one with its terms, and Ctrl-Enter in any field sends once", async () => {
  const { id, result } = await host.client.start({ workdir: host.workdir, prompt: "First", model: "small-1" }, {
    adapter: "tuned",
  });
  await result();
  await opened.go(`#/sessions/${id}`);
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByRole("link", { name: "Start another" }).click();
  const model = page.getByRole("combobox", { name: "Model" });
  await expect.poll(() => model.inputValue()).toBe("small-1");
  await page.getByLabel("Prompt", { exact: true }).fill("Second");
  const before = (await host.client.list()).length;
  await model.focus();
  await page.keyboard.press("Control+Enter");
  await page.keyboard.press("Control+Enter");
  expect(await requested()).toMatchObject({ model: "small-1", prompt: "Second" });
  expect((await host.client.list()).length).toBe(before + 1);
});

test("an agent of an earlier session that is off now is named, and not chosen", async () => {
  const { id, result } = await host.client.start({ workdir: host.workdir, prompt: "Off" }, { adapter: "modest" });
  await result();
  const one = await openConsole(browser, host);
  await one.page.route("**/v1/agents*", async (route) => {
    const { agents } = await (await route.fetch()).json() as { agents: { id: string }[] };
    const off = (agent: { id: string }) => agent.id === "modest" ? { ...agent, availability: "disabled" } : agent;
    await route.fulfill({ json: { agents: agents.map(off) } });
  });
  await one.go(`#/start/${id}`);
  await one.page.getByText("Its agent, modest, is off: choose one.").waitFor();
  await closeConsole(one);
});

test("where no agent is on, those that are off stand open", async () => {
  const one = await openConsole(browser, host);
  await one.page.route("**/v1/agents*", async (route) => {
    const { agents } = await (await route.fetch()).json() as { agents: Record<string, unknown>[] };
    await route.fulfill({ json: { agents: agents.map((agent) => ({ ...agent, availability: "disabled" })) } });
  });
  await one.go("#/start");
  await one.page.getByText("No agent is on yet. Enable one here").waitFor();
  await one.page.locator(".off-agents > li", { hasText: "replay" }).getByRole("button", { name: "Enable …" }).waitFor();
  await closeConsole(one);
});
