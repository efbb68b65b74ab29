import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, openConsole, openWholeConsole, type WholeConsole } from "./console-fixture.ts";
import { type FilledHost, fillHost } from "./filled-host.ts";

let { host, browser, page, close } = {} as WholeConsole;
let ids = {} as FilledHost;

beforeAll(async () => {
  ({ host, browser, page, close } = await openWholeConsole());
  ids = await fillHost(host);
});
afterAll(() => close?.());

/** Every screen with a text that shows that it is complete. One that is new has to be added: a test compares. */
const places = {
  "needs-you": () => ["#/needs-you", "rm -rf dist && npm run build"],
  "sessions": () => ["#/sessions", "Rebuild everything"],
  "sessions/done": () => [`#/sessions/${ids.done}`, "One test about plurals still fails."],
  "sessions/waiting": () => [`#/sessions/${ids.waiting}`, "Run a command that removes the build"],
  "start": () => ["#/start", "change nothing"],
  "agents": () => ["#/agents", "can take a session"],
  "review": () => ["#/review", "Meet a conflict"],
  "review/one": () => [`#/review/${ids.done}`, "// Words, as a text."],
  "review/held": () => [`#/review/${ids.held}`, "out"],
  "compare": () => ["#/compare", "Make tally return a text"],
  "compare/one": () => [`#/compare/${ids.comparison}`, "differs"],
  "walls": () => ["#/walls", "the working folder"],
  "walls/plugin": () => ["#/walls/plugins/works", "api.example.com:443"],
  "walls/denials": () => ["#/walls/denials", "api.example.com:443"],
  "walls/calls": () => ["#/walls/calls", "registry.example.org"],
  "walls/machine": () => ["#/walls/machine", "bulkhead doctor"],
  "history": () => ["#/history", "What ran when"],
  "spend": () => ["#/spend", "Cost per day"],
  "history/words": () => ["#/history/tally", "place"],
} satisfies Record<string, () => [hash: string, sign: string]>;

/** Controls that change nothing at the host, by where they are or by their words. */
const looking = [
  // Filters, folds and searches.
  ".chip",
  "[aria-expanded]",
  "[type=search]",
  ".filter-field :is(select, input)",
  ".find button",
  ".next-mark",
  ".segments button",
  ".compared-file",
  ".versus select",
  ".strip-days button",
  ".strip-play :is(button, select)",
  ".figures tbody button",
  // The page itself, and what this browser alone keeps.
  ".viewed-choice input",
  ".nav button",
  ".switch input",
  ".notice button",
  ".copy",
  ".to-end",
  ".address",
];
const lookingWords = [
  "Look again",
  "Envelope",
  "Show all",
  "Export",
  "Clear all filters",
  /^\d+ running$/,
  /^\d+ more in this session$/,
  /^Show older ones$/,
  /^Cut here\. Show all of event \d+$/,
];

/** Reads the controls of the page that are not known to look only. */
const found = (known: readonly string[]) =>
  `[...document.querySelectorAll("button, input, select, textarea, [role=button]")]
    .filter((one) => !one.matches(${JSON.stringify(known.join(", "))}))
    .map((one) => (one.textContent || one.ariaLabel || one.placeholder || one.name || one.className).trim())`;

test("the list of this test has every screen", async () => {
  await page.locator(".nav-link[href]").first().waitFor({ state: "attached" });
  const links = await page.evaluate<string[]>(
    `[...document.querySelectorAll(".nav-link[href]")].map(({ hash }) => hash)`,
  );
  expect(links.length).toBeGreaterThan(7);
  for (const link of links) expect(Object.values(places).map((place) => place()[0])).toContain(link);
});

test("a page that only reads has no control that acts, on any screen", async () => {
  const opened = await openConsole(browser, host, { scope: "read", viewport: { width: 1280, height: 3000 } });
  const { page, go } = opened;
  const sent: string[] = [];
  page.on("request", (request) => {
    if (!["GET", "HEAD"].includes(request.method())) {
      sent.push(`${request.method()} ${new URL(request.url()).pathname}`);
    }
  });
  const acting: string[] = [];
  for (const [name, place] of Object.entries(places)) {
    const [hash, sign] = place();
    await go(hash);
    await page.locator("main").getByText(sign).first().waitFor({ timeout: 15_000 }).catch(() =>
      acting.push(`${name}: no "${sign}"`)
    );
    await page.waitForTimeout(150);
    await page.evaluate(
      "for (const one of document.querySelectorAll('main details:not([open]) > summary')) one.click()",
    );
    await page.waitForTimeout(100);
    const words = await page.evaluate<string[]>(found(looking));
    const isKnown = (text: string) =>
      lookingWords.some((one) => typeof one === "string" ? one === text : one.test(text));
    acting.push(...words.filter((text) => !isKnown(text)).map((text) => `${name}: ${text}`));
    const leads = await page.evaluate<string[]>(
      `[...document.querySelectorAll("main a[href^='#/start']")].map((one) => one.textContent)`,
    );
    acting.push(...leads.map((text) => `${name}: leads to a form: ${text}`));
  }
  expect(acting).toEqual([]);
  // Keys act as buttons do.
  await go("#/needs-you");
  await page.getByText("rm -rf dist && npm run build").first().waitFor();
  await page.locator("main").focus();
  for (const key of ["1", "x", "a", "2"]) await page.keyboard.press(key);
  await page.waitForTimeout(300);
  expect(sent).toEqual([]);
  expect((await host.client.get(ids.waiting)).waiting).toHaveLength(1);
  await closeConsole(opened);
}, 180_000);
