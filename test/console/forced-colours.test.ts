import type { Locator } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ConsolePage, openConsole, openWholeConsole, type WholeConsole } from "./console-fixture.ts";

let { host, browser, close } = {} as WholeConsole;
let done = "";

beforeAll(async () => {
  ({ host, browser, close } = await openWholeConsole());
  const { client, workdir } = host;
  const session = await client.start({ workdir, prompt: "Make tally return a text", workspace: "worktree" }, {
    adapter: "works",
  });
  done = session.id;
  await session.result();
  for (const prompt of ["Edit the first", "Edit the second"]) {
    await client.start({ workdir, prompt, answer_timeout_ms: 600_000 }, { adapter: "edits" });
  }
});
afterAll(() => close?.());

/** All that tells one part from another where the system chooses the colours: shadows and own backgrounds are gone. */
const look = (part: Locator): Promise<string> =>
  part.first().evaluate((node) => {
    const { backgroundColor, outline, border, textDecorationLine, fontWeight } = (globalThis as unknown as {
      getComputedStyle(of: unknown): Record<string, string>;
    }).getComputedStyle(node);
    return [backgroundColor, outline, border, textDecorationLine, fontWeight].join(" | ");
  });

interface Case {
  name: string;
  hash: () => string;
  act?: (opened: ConsolePage) => Promise<unknown>;
  current: string;
  /** Null: it must be underlined or have an outline. */
  other: string | null;
}

const review = () => `#/review/${done}`;
const cases: Case[] = [
  {
    name: "the current screen",
    hash: () => "#/walls",
    current: ".nav-link[aria-current]",
    other: "a.nav-link:not([aria-current])",
  },
  {
    name: "the theme",
    hash: () => "#/walls",
    current: ".nav-end [aria-pressed=true]",
    other: ".nav-end [aria-pressed=false]",
  },
  {
    name: "the part of Walls",
    hash: () => "#/walls/calls",
    current: ".tabs [aria-current]",
    other: ".tabs a:not([aria-current])",
  },
  {
    name: "the open plugin",
    hash: () => "#/walls/plugins/works",
    current: ".wall-card.current",
    other: ".wall-card:not(.current)",
  },
  { name: "the current card", hash: () => "#/needs-you", current: ".item.current", other: ".item:not(.current)" },
  {
    name: "the days of History",
    hash: () => "#/history",
    current: ".panel .chip[aria-pressed=true]",
    other: ".panel .chip[aria-pressed=false]",
  },
  {
    name: "the current entry of the palette",
    hash: () => "#/walls",
    act: ({ page }) => page.keyboard.press("Control+k"),
    current: "[role=option][aria-selected=true]",
    other: "[role=option][aria-selected=false]",
  },
  {
    name: "the current file of a review",
    hash: review,
    act: ({ page }) => page.keyboard.press("Shift+J"),
    current: "header.current-file",
    other: ".diff-file > header:not(.current-file)",
  },
  { name: "a changed word", hash: review, current: ".changed-word", other: null },
  {
    name: "the event of a link",
    hash: () => `#/sessions/${done}/7`,
    current: ".row.target",
    other: null,
  },
];

test.each(["light", "dark"] as const)(
  "in forced colours what is current differs from the others, %s",
  async (colorScheme) => {
    const opened = await openConsole(browser, host, { forcedColors: "active", colorScheme });
    opened.page.setDefaultTimeout(10_000);
    const same: string[] = [];
    for (const { name, hash, act, current, other } of cases) {
      await opened.go("#/spend");
      await opened.page.getByRole("heading", { level: 1, name: "Spend" }).waitFor();
      await opened.go(hash());
      try {
        await opened.page.getByRole("heading", { level: 1, name: "Spend" }).waitFor({ state: "detached" });
        if (name.includes("review")) await opened.page.locator(".diff-file").first().waitFor();
        await act?.(opened);
        await opened.page.locator(current).first().waitFor();
        const its = await look(opened.page.locator(current));
        const isSame = other === null
          ? !/underline|solid \dpx/.test(its)
          : its === await look(opened.page.locator(other));
        if (isSame) same.push(`${name}: ${its}`);
      } catch (error) {
        same.push(`${name}: ${String(error).slice(0, 200)}`);
      }
      await opened.page.keyboard.press("Escape");
    }
    expect(same).toEqual([]);
    await closeConsole(opened);
  },
);

test("in forced colours the time left is text in the colour of text", async () => {
  const opened = await openConsole(browser, host, {
    forcedColors: "active",
    colorScheme: "light",
    hash: "#/needs-you",
  });
  const colour = (selector: string) =>
    opened.page.locator(selector).first().evaluate((node) =>
      (globalThis as unknown as { getComputedStyle(of: unknown): { color: string } }).getComputedStyle(node).color
    );
  await opened.page.locator(".deadline-near").first().waitFor();
  expect(await colour(".deadline-near")).toBe(await colour("h1"));
  await opened.go("#/walls/plugins/works");
  await opened.page.locator(".wall-card.current .plugin-permissions").waitFor();
  expect(await colour(".wall-card.current .plugin-permissions")).toBe(await colour("h1"));
  await closeConsole(opened);
});
