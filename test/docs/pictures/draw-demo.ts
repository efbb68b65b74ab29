import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { root } from "../../structure/source.ts";
import { movingPicture, palettes, type TimedLine } from "./terminal-picture.ts";

/** So few columns can be read on a phone. */
const columns = 60;
const rows = 24;

/** A pause of the run is shown no longer than this. Milliseconds. */
const longestPauseMs = 700;

/** How long a line stands at least before the next one. Milliseconds. */
const shortestMs = 60;

/** Runs the demo at a terminal and draws what it shows, as it comes. */
export async function drawDemo(folder: string): Promise<void> {
  const lines = inPace(excerpt(await record("bulkhead demo")));
  for (const [name, palette] of Object.entries(palettes)) {
    writeFileSync(join(folder, `demo-${name}.svg`), movingPicture(lines, { palette, columns, rows }));
  }
}

/** Runs a command line at a terminal of its own, and notes when each line came. */
async function record(line: string): Promise<TimedLine[]> {
  const place = mkdtempSync(join(tmpdir(), "bulkhead-picture-"));
  try {
    symlinkSync(join(root, "dist/bundle/cli.js"), join(place, "bulkhead"));
    const typed = `stty columns ${columns} rows 40; ${line}`;
    const child = spawn("script", ["--quiet", "--flush", "--return", "--command", typed, "/dev/null"], {
      cwd: place,
      env: {
        ...process.env,
        PATH: `${place}:${process.env["PATH"]}`,
        SHELL: "/bin/sh",
        TERM: "xterm",
        FORCE_COLOR: "1",
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const began = performance.now();
    const lines: TimedLine[] = [{ text: `\u001b[2m$\u001b[22m ${line}`, atMs: 0 }];
    let open = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const whole = (open + text).replaceAll("\r\n", "\n").split("\n");
      open = whole.pop() ?? "";
      for (const one of whole) lines.push({ text: one.trimEnd(), atMs: performance.now() - began });
    });
    const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
    if (code !== 0) throw new Error(`Cannot draw "${line}": it ended with exit code ${code}. Run: npm run build`);
    return lines;
  } finally {
    rmSync(place, { recursive: true });
  }
}

/** Leaves out the results of each session: they say again what was seen live. Folders are shown as a person's own. */
function excerpt(lines: readonly TimedLine[]): TimedLine[] {
  const at = (text: string) => lines.findIndex((line) => line.text.includes(text));
  const [results, checks] = [at("── results"), at("── checks")];
  return [...lines.slice(0, 1), ...lines.slice(4, results), ...lines.slice(checks)].filter(({ text }) => text !== "")
    .map(({ text, atMs }) => ({ text: text.replaceAll(/\/tmp\/bulkhead-demo-\S*/g, "~/tidepool"), atMs }));
}

/** Shortens pauses, and gives each line of many that came at once a moment of its own. */
function inPace(lines: readonly TimedLine[]): TimedLine[] {
  let now = 400;
  let before = 0;
  return lines.map(({ text, atMs }, index) => {
    if (index > 0) now += Math.min(longestPauseMs, Math.max(shortestMs, atMs - before));
    before = atMs;
    return { text, atMs: index === 0 ? 0 : now };
  });
}

if (spawnSync("script", ["--version"]).status !== 0) {
  throw new Error("Cannot draw the demo: script of util-linux, which opens a terminal, is missing.");
}
