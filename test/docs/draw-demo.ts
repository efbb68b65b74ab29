// Usage: npm run docs:picture. Runs the demo and draws what it prints, for the README.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { root } from "../structure/source.ts";
import { palettes, terminalPicture } from "./terminal-picture.ts";

const env = { ...process.env, FORCE_COLOR: "1", COLUMNS: "100" };
const { status, stdout } = spawnSync("node", [join(root, "dist/bundle/cli.js"), "demo"], { env, encoding: "utf8" });
if (status !== 0) throw new Error(`Cannot draw the demo: it ended with exit code ${status}. Run: npm run build`);
const shown = excerpt(stdout.split("\n").map((line) => line.replaceAll(/\/\S*\/(tidepool)/g, "~/$1")));
const folder = join(root, ".github/docs/pictures");
mkdirSync(folder, { recursive: true });
for (const [name, palette] of Object.entries(palettes)) {
  writeFileSync(join(folder, `demo-${name}.svg`), terminalPicture(shown, palette));
}

/** The start of the live view, the line that tells of the crash, and the checks. */
function excerpt(lines: readonly string[]): string[] {
  const live = lines.findIndex((line) => line.includes("── live"));
  const crash = lines.findIndex((line) => line.includes("✘ error · crash"));
  const checks = lines.findIndex((line) => line.includes("── checks"));
  const more = "\x1b[2m  ⋮\x1b[22m";
  return [
    "\x1b[2m$\x1b[22m npx bulkhead demo",
    ...lines.slice(2, live + 11),
    more,
    ...lines.slice(crash - 3, crash + 4),
    more,
    ...lines.slice(checks).filter((line) => line.trim() !== ""),
  ].map((line) => line.trimEnd());
}
