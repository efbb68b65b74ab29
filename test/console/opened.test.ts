import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adapterCode, writePlugin } from "../sessions/host/test-host.ts";
import { axeFindings } from "./accessibility.ts";
import { openWholeConsole, pictures, type WholeConsole } from "./console-fixture.ts";
import { git } from "./git.ts";
import { type FilledHost, fillHost } from "./filled-host.ts";

let { host, page, opened, close } = {} as WholeConsole;
let ids = {} as FilledHost;
let written = "";
let reading = "";
let said = "";

const tuned = {
  manifest: `permissions:
  read: [workdir]
  net: [api.example.com:443]
config:
  type: object
  properties:
    style: { type: string, description: How it writes., enum: [plain, grand], default: plain }
    depth: { type: integer, description: How far it looks., minimum: 1, maximum: 9 }`,
  code: adapterCode(
    `    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`,
  ),
};

beforeAll(async () => {
  ({ host, page, opened, close } = await openWholeConsole());
  page.setDefaultTimeout(8000);
  await mkdir(pictures, { recursive: true });
  await writePlugin(join(host.folder, "plugins/tuned"), "tuned", tuned);
  await host.call("POST", "/v1/reload");
  await host.call("POST", "/v1/plugins/tuned/grants", { permission: "read", target: "workdir" });
  const { client, workdir } = host;
  const own = join(host.folder, "written");
  await mkdir(own);
  await writeFile(join(own, "tally.js"), "export const tally = 0;\n");
  await git(own, "init", "-q", "-b", "main");
  await git(own, "add", "-A");
  await git(own, "commit", "-q", "-m", "begin");
  const request = { workdir: own, prompt: "Begin the tally", checkpoints: true };
  const write = await client.start(request, { adapter: "writes" });
  written = write.id;
  await write.result();
  said = (await client.start({ workdir, prompt: "Say it" }, { adapter: "says" })).id;
  reading = (await client.start({ workdir, prompt: "work a while" }, { adapter: "reads" })).id;
  ids = await fillHost(host);
});
afterAll(() => close?.());

interface Opening {
  name: string;
  hash: () => string;
  open: () => Promise<unknown>;
  /** Selector of what opened. */
  part: string;
  /** Leads to what has the focus after Escape; null: Escape means nothing there. */
  back: (() => Locator) | null;
  /** It stands beside what has the focus, which keeps it. */
  isBeside?: boolean;
}

const button = (name: string | RegExp, within: Page | Locator = page) => within.getByRole("button", { name }).first();
const card = (kind: string) => page.locator(`.item-${kind}`).first();
const row = (text: string) => page.locator(".permissions li", { hasText: text });
const turn = () => page.locator(".turn-head").first();
const summary = () => page.locator(".comment-menu summary");
const draft = () => page.locator('td[data-at="new 2"]').first().click();

const openings: Opening[] = [
  {
    name: "keys",
    hash: () => "#/walls",
    open: () => button(/^Keys/).click(),
    part: "dialog",
    back: () => button(/^Keys/),
  },
  {
    name: "palette",
    hash: () => "#/walls",
    open: async () => {
      await button(/^Keys/).focus();
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Screen, session or action" }).waitFor();
    },
    part: "dialog",
    back: () => button(/^Keys/),
  },
  {
    name: "address",
    hash: () => `#/sessions/${said}`,
    open: () => page.locator("button.address").first().click(),
    part: "dialog",
    back: () => page.locator("button.address").first(),
  },
  {
    name: "run-again",
    hash: () => `#/sessions/${ids.done}`,
    open: () => button("Run again").click(),
    part: "dialog",
    back: () => button("Run again"),
  },
  {
    name: "rewind",
    hash: () => `#/sessions/${written}`,
    open: async () => {
      await button(/^Take back/, turn()).click();
      await page.getByRole("dialog").getByRole("button", { name: /^Take back/ }).waitFor();
    },
    part: "dialog",
    back: () => button(/^Take back/, turn()),
  },
  {
    name: "fork",
    hash: () => `#/sessions/${written}`,
    open: () => button(/^Fork/, turn()).click(),
    part: "dialog",
    back: () => button(/^Fork/, turn()),
  },
  {
    name: "grant",
    hash: () => "#/walls/plugins/works",
    open: async () => {
      await button("Grant …", row("api.example.com")).click();
      await page.locator(".grant-form .preview, .grant-form .also").first().waitFor();
    },
    part: ".grant-form",
    back: () => button("Grant …", row("api.example.com")),
  },
  {
    name: "deny",
    hash: () => "#/needs-you",
    open: () => button("Deny for good", card("grant")).click(),
    part: ".item-grant",
    back: () => button("Deny for good", card("grant")),
  },
  {
    name: "matrix",
    hash: () => "#/walls",
    open: () => button("As a table").click(),
    part: ".table-scroll",
    back: null,
  },
  {
    name: "batch",
    hash: () => "#/needs-you",
    open: async () => {
      await card("permission").getByRole("checkbox").check();
      await page.keyboard.press("a");
      await button(/Allow once/, page.locator(".together")).click();
      await page.locator(".together-list").waitFor();
    },
    part: ".together",
    back: () => button(/Allow once/, page.locator(".together")),
  },
  {
    name: "reject",
    hash: () => "#/needs-you",
    open: () => button("Reject and say why …", card("permission")).click(),
    part: ".words-form",
    back: () => button("Reject and say why …", card("permission")),
  },
  {
    name: "merge",
    hash: () => "#/needs-you",
    open: () => button("Ask the agent to merge …", card("conflict")).click(),
    part: ".words-form",
    back: () => button("Ask the agent to merge …", card("conflict")),
  },
  {
    name: "drop",
    hash: () => "#/needs-you",
    open: () => button("Drop all", card("held")).click(),
    part: ".item-held",
    back: () => button("Drop all", card("held")),
  },
  {
    name: "comment",
    hash: () => `#/review/${ids.done}`,
    open: draft,
    part: ".comment.draft",
    back: () => page.locator("main"),
  },
  {
    name: "unsent",
    hash: () => `#/review/${ids.conflict}`,
    open: async () => {
      await draft();
      await page.keyboard.type("Say why");
      await page.keyboard.press("Control+Enter");
      await page.locator(".comment-menu summary").click();
      await button("Apply").click();
    },
    part: "dialog",
    back: () => button("Apply"),
  },
  {
    name: "adopt",
    hash: () => `#/compare/${ids.comparison}`,
    open: () => button(/^Adopt/).click(),
    part: "dialog",
    back: () => button(/^Adopt/),
  },
  {
    name: "versus",
    hash: () => `#/compare/${ids.comparison}`,
    open: () => button(/src\/tally\.js/).click(),
    part: ".versus",
    back: null,
  },
  {
    name: "options",
    hash: () => "#/start",
    open: async () => {
      await page.getByText(/\d+ more are off/).click();
      await button("Enable …", page.locator(".off-agents > li", { hasText: "replay" })).click();
      await button("Enable and grant 3").waitFor();
      await page.getByRole("checkbox", { name: /^tuned/ }).check();
      await page.getByRole("combobox", { name: "style" }).waitFor();
    },
    part: ".start-form",
    back: null,
  },
  {
    name: "composer",
    hash: () => `#/sessions/${reading}`,
    open: async () => {
      const input = page.locator(".composer input[type=file]");
      await input.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("notes") });
      await page.locator("[data-state=stored]").waitFor();
      await page.getByRole("textbox", { name: "Message to the agent" }).fill("Read it");
    },
    part: ".composer",
    back: null,
  },
  {
    name: "pending",
    hash: () => `#/sessions/${ids.talk}`,
    open: () => button("Edit", page.locator(".pending")).click(),
    part: ".pending",
    back: () => button("Edit", page.locator(".pending")),
  },
  {
    name: "comments",
    hash: () => `#/review/${ids.conflict}`,
    open: () => summary().click(),
    part: ".comment-menu",
    back: summary,
  },
  {
    name: "envelope",
    hash: () => `#/sessions/${ids.done}`,
    open: async () => {
      await page.locator(".row .seq").nth(2).focus();
      await page.keyboard.press("e");
      await page.locator(".raw .json").waitFor();
    },
    part: ".raw",
    back: () => page.locator(".row .seq").nth(2),
    isBeside: true,
  },
  {
    name: "files",
    hash: () => `#/sessions/${written}`,
    open: async () => {
      await button(/^2 files/, turn()).click();
      await page.getByText("export const turn1 = 1;").first().waitFor();
    },
    part: ".turn-files",
    back: null,
  },
  {
    name: "find",
    hash: () => `#/sessions/${ids.done}`,
    open: async () => {
      await page.getByRole("searchbox", { name: "Find in this session" }).waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("tally");
      await page.locator(".find-count", { hasText: /\d/ }).waitFor();
      await page.keyboard.press("Enter");
    },
    part: ".look-bar",
    back: null,
  },
  {
    name: "stop",
    hash: () => "#/sessions",
    open: async () => {
      await page.getByRole("searchbox", { name: "Search sessions" }).fill("a");
      await page.locator(".session-row input[type=checkbox], .session-list input[type=checkbox]").first().check();
      await page.locator(".stop-bar").waitFor();
    },
    part: ".screen",
    back: null,
  },
  {
    name: "found",
    hash: () => "#/history/tally",
    open: () => page.locator(".strip-field").first().focus().catch(() => {}),
    part: ".screen",
    back: null,
  },
  {
    name: "signed-out",
    hash: () => "#/walls",
    open: () => button("Sign out").click(),
    part: ".signed-out",
    back: null,
  },
];

const looks = [1440, 1024, 390].flatMap((width) =>
  (["light", "dark"] as const).map((colorScheme) => ({
    look: `${width}-${colorScheme}`,
    viewport: { width, height: width < 500 ? 844 : 900 },
    media: { colorScheme, forcedColors: "none" as "none" | "active" },
  }))
);
const [first] = looks;
/** The window of 1280 by 800 at 200 %, and the colours of the system. */
const others = [
  { look: "zoomed", viewport: { width: 640, height: 400 }, media: first!.media },
  {
    look: "forced",
    viewport: { width: 1024, height: 800 },
    media: { colorScheme: "dark" as const, forcedColors: "active" as const },
  },
];
/** Looks of which a picture is kept. */
const kept = ["1440-light", "390-dark", "zoomed", "forced"];
/** What axe looks for besides the colours and sizes is the same in each. */
const ofLook = ["color-contrast", "target-size", "scrollable-region-focusable", "link-in-text-block"];

/** The short form is for the second runtime, which changes no look. */
const isShort = process.env["BULKHEAD_CONSOLE"] === "short";

/** What is too wide, outside of the window, or out of reach. */
const misplaced = (part: string) =>
  `(() => {
    const [main, part] = [document.querySelector("main"), document.querySelector(${JSON.stringify(part)})];
    document.activeElement?.scrollIntoView({ block: "nearest" });
    const isDialog = part.matches("dialog");
    const found = [document.documentElement, main, ...isDialog ? [part] : []]
      .map((one) => one.scrollWidth - one.clientWidth)
      .filter((wide) => wide > 1)
      .map((wide) => wide + " pixels too wide");
    for (const one of [part, ...part.querySelectorAll("button, input, select, textarea, summary")]) {
      if (one.getClientRects().length === 0 || one.closest(".table-scroll, .diff-scroll, .hidden") !== null) continue;
      const words = one === part ? "it" : one.textContent || one.ariaLabel || one.name;
      const { left, right } = one.getBoundingClientRect();
      if (left < -1 || right > innerWidth + 1) found.push(words + " is outside of the window");
      // Only what is in a dialog cannot be reached otherwise: the page below does not scroll.
      if (!isDialog || one === part) continue;
      one.scrollIntoView({ block: "nearest" });
      const { top, bottom } = one.getBoundingClientRect();
      if (top < -1 || bottom > innerHeight + 1) found.push(words + " is out of reach");
    }
    return found;
  })()`;

const holdsFocus = (part: string) =>
  page.evaluate(`document.querySelector(${JSON.stringify(part)}).contains(document.activeElement)`);

async function wear({ viewport, media }: Pick<typeof looks[number], "viewport" | "media">): Promise<void> {
  await page.setViewportSize(viewport);
  await page.emulateMedia(media);
}

/** Opens one thing, looks at it in each look, and closes it. */
async function findingsOf({ name, hash, open, part, back, isBeside = false }: Opening): Promise<string[]> {
  const findings: string[] = [];
  await wear(first!);
  await opened.go("#/spend");
  await page.getByRole("heading", { level: 1, name: "Spend" }).waitFor();
  await opened.go(hash());
  await page.getByRole("heading", { level: 1, name: "Spend" }).waitFor({ state: "detached" });
  await open();
  await page.locator(part).first().waitFor();
  if (back !== null) {
    if (!isBeside && !await holdsFocus(part)) findings.push("the focus is not inside");
    await page.keyboard.press("Escape");
    const hasFocus = () => back().evaluate((one) => one === one.ownerDocument.activeElement);
    await expect.poll(hasFocus, { timeout: 2000 }).toBe(true)
      .catch(() => findings.push("Escape does not close it, or the focus does not go back"));
    await open();
    await page.locator(part).first().waitFor();
  }
  for (const one of isShort ? looks.slice(0, 1) : [...looks, ...others]) {
    await wear(one);
    const found = await page.evaluate<string[]>(misplaced(part));
    found.push(...await axeFindings(page, { part, ...(one === first ? {} : { rules: ofLook }) }));
    findings.push(...found.map((finding) => `${one.look}: ${finding}`));
    if (kept.includes(one.look)) await page.screenshot({ path: join(pictures, `opened-${name}-${one.look}.png`) });
  }
  await page.keyboard.press("Escape");
  return findings;
}

test("a plugin in quarantine is told in one sentence", async () => {
  await opened.go("#/agents");
  const why = page.locator(".agent-row", { hasText: "quarantine" }).locator(".agent-why");
  await why.waitFor();
  expect(await why.innerText()).toMatch(/^It crashed once and gets no session\. Since (just now|\d+ min ago)\.$/);
});

test("on a phone the keys begin with the first, and a turn's time is as in its timeline", async () => {
  await opened.go(`#/sessions/${written}`);
  expect(await page.locator(".turn-facts time").first().innerText()).toMatch(/^\d\d:\d\d$/);
  await page.setViewportSize({ width: 390, height: 700 });
  await page.locator("h1").click();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  await dialog.waitFor();
  const heading = await dialog.getByRole("heading").boundingBox();
  expect(heading!.y).toBeGreaterThanOrEqual((await dialog.boundingBox())!.y);
  await page.keyboard.press("Escape");
});

test("what opens fits in all looks, has the focus, and gives it back at Escape, and axe finds nothing", async () => {
  const findings: string[] = [];
  for (const opening of openings) {
    const found = await findingsOf(opening).catch((error: unknown) => [String(error).slice(0, 400)]);
    findings.push(...found.map((finding) => `${opening.name}: ${finding}`));
  }
  expect(findings).toEqual([]);
}, 300_000);
