import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process, { execPath } from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { aimed, type Figure } from "./measure.ts";
import { programUrl } from "./programs/program-url.ts";

const run = promisify(execFile);

/** A script in a file of `NODE_V8_COVERAGE`. */
interface CoveredScript {
  url: string;
  functions: { functionName: string; ranges: { count: number }[] }[];
}

/**
 * Files, functions and calls of the host that a warm session of 53 recorded events in a git repository touches, counted by Node's
 * `NODE_V8_COVERAGE` on the host as compiled file by file. The guest is not counted.
 */
export async function touchedFiles(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-"));
  try {
    const workdirs = await Promise.all(["first", "second"].map((name) => repository(join(folder, name))));
    const coverage = join(folder, "coverage");
    await run(execPath, [fileURLToPath(programUrl("warm-session")), ...workdirs, join(folder, "state")], {
      env: { ...process.env, NODE_V8_COVERAGE: coverage },
    });
    const scripts = await secondOf(coverage);
    const calls = scripts.map(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0));
    return [
      aimed({ name: "touched.files", value: scripts.length, unit: "count" }, { most: 120 }),
      { name: "touched.functions", value: calls.flat().filter((count) => count > 0).length, unit: "count" },
      { name: "touched.calls", value: calls.flat().reduce((sum, count) => sum + count, 0), unit: "count" },
      ...rooms(scripts),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function repository(workdir: string): Promise<string> {
  await mkdir(workdir);
  await writeFile(join(workdir, "README.md"), "A repository.\n");
  const git = (...args: string[]) => run("git", ["-C", workdir, ...args]);
  await git("init", "--quiet");
  await git("add", ".");
  await git("-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "--quiet", "--message", "base");
  return workdir;
}

/** Scripts of the host in which a function ran between the first and the second time that coverage was taken. */
async function secondOf(coverage: string): Promise<CoveredScript[]> {
  const host = pathToFileURL(resolve("dist/core")).href;
  const files = await Promise.all((await readdir(coverage)).map(async (name) => {
    const { result, timestamp } = JSON.parse(await readFile(join(coverage, name), "utf8")) as {
      result: CoveredScript[];
      timestamp: number;
    };
    return { timestamp, scripts: result.filter(({ url }) => url.startsWith(host)) };
  }));
  // The process of the host alone has scripts of the host; its third file is of its end.
  const [, second] = files.filter(({ scripts }) => scripts.length > 0).sort((a, b) => a.timestamp - b.timestamp);
  return (second?.scripts ?? []).filter(({ functions }) => functions.some(ran));
}

/** Whether a function with a name ran: a module's own body runs once, as it is loaded. */
function ran({ functionName, ranges }: CoveredScript["functions"][number]): boolean {
  return functionName !== "" && (ranges[0]?.count ?? 0) > 0;
}

function rooms(scripts: readonly CoveredScript[]): Figure[] {
  const counts = new Map<string, number>();
  for (const { url } of scripts) {
    const room = url.split("/dist/core/")[1]?.split("/").slice(0, 2).join(".") ?? "";
    counts.set(room, (counts.get(room) ?? 0) + 1);
  }
  return [...counts].sort(([a], [b]) => a.localeCompare(b))
    .map(([room, value]) => ({ name: `touched.${room}`, value, unit: "count" }));
}
