import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { adapterCode, writePlugin } from "../sessions/host/test-host.ts";
import { axeFindings } from "./accessibility.ts";
import { closeConsole, openConsole, openWholeConsole, type WholeConsole } from "./console-fixture.ts";

let { host, browser, opened, page, close } = {} as WholeConsole;

const tuned = {
  manifest: `models: [small-1, large-1]
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
  const env = { ...process.env, HOME: join(host.folder, "home"), BULKHEAD_STATE_DIR: join(host.folder, "state") };
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

test.each([1440, 1024, 390])(
  "Start fits with its options and an open agent, and axe finds nothing, at %i px",
  async (width) => {
    for (const colorScheme of ["light", "dark"] as const) {
      const one = await openConsole(browser, host, { viewport: { width, height: 1000 }, colorScheme, hash: "#/start" });
      await one.page.getByRole("checkbox", { name: /^tuned/ }).check();
      await one.page.getByText(/\d+ more are off/).click();
      await one.page.locator(".off-agents > li", { hasText: "replay" }).getByRole("button", { name: "Enable …" })
        .click();
      await one.page.getByRole("button", { name: "Enable and grant 3" }).waitFor();
      expect(await axeFindings(one.page)).toEqual([]);
      const wide = await one.page.evaluate<number>(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("main"))`,
      );
      expect(wide).toBeLessThanOrEqual(1);
      await closeConsole(one);
    }
  },
);
