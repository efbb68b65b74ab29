// Usage: npm run docs:pictures. Draws screens of the console, light and dark, for wide pages and for phones.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import {
  closeConsole,
  type ConsoleHost,
  openBrowser,
  openConsole,
  openConsoleHost,
  pause,
} from "../../console/console-fixture.ts";
import { root } from "../../structure/source.ts";

const folder = join(root, ".github/docs/pictures");

/** A session that has ended, and others that wait. */
async function prepare({ client, workdir }: ConsoleHost): Promise<string> {
  const request = { workdir, prompt: "Make tally return a text", workspace: "worktree" as const };
  const session = await client.start(request, { adapter: "works" });
  await session.result();
  await client.start({ workdir, prompt: "Rebuild everything", answer_timeout_ms: 600_000 }, { adapter: "asks" });
  await client.start({ workdir, prompt: "Tidy up the tally", answer_timeout_ms: 900_000 }, { adapter: "edits" });
  await client.start({ workdir, prompt: "Watch the tests for an hour" }, { adapter: "waits" });
  return session.id;
}

const screens = {
  "needs-you": { hash: () => "#/needs-you", sign: "rm -rf dist && npm run build" },
  "session": { hash: (done: string) => `#/sessions/${done}`, sign: "One test about plurals still fails." },
};

/** A phone's picture is its screen, so that its words keep their size in a document that is read on one. */
const shapes = {
  wide: { viewport: { width: 1000, height: 640 }, deviceScaleFactor: 1.5 },
  phone: { viewport: { width: 390, height: 620 }, deviceScaleFactor: 2 },
};

test("the pictures of the console are drawn", async () => {
  await mkdir(folder, { recursive: true });
  await using host = await openConsoleHost();
  const browser = await openBrowser();
  try {
    const done = await prepare(host);
    for (const [name, { hash, sign }] of Object.entries(screens)) {
      for (const [shape, look] of Object.entries(shapes)) {
        for (const colorScheme of ["light", "dark"] as const) {
          const opened = await openConsole(browser, host, { hash: hash(done), ...look, colorScheme });
          await opened.page.getByText(sign).first().waitFor();
          // What moves in has come to rest.
          await pause(600);
          await opened.page.screenshot({ path: join(folder, `console-${name}-${shape}-${colorScheme}.png`) });
          await closeConsole(opened);
        }
      }
    }
  } finally {
    await browser.close();
  }
}, 600_000);
