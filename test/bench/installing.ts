import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { aimed, type Figure, quantile, timed } from "./measure.ts";

/** Benches are run from the package's root. */
const program = "Deno" in globalThis
  ? ["run", "-A", join(process.cwd(), "core/doors/cli/main.ts")]
  : [join(process.cwd(), "dist/bundle/cli.js")];

/**
 * From `plugin add` of a packed plugin on this machine to the first event of a session of it: two processes, the second
 * of which bundles the plugin for the first time and makes its journal.
 */
export async function installing({ quick }: { quick: boolean }): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-"));
  try {
    await finished(start(["plugin", "new", "greeter", "--yes"], { cwd: folder, home: folder }));
    await finished(start(["plugin", "pack", "greeter"], { cwd: folder, home: folder }));
    const archive = (await readdir(folder)).find((name) => name.endsWith(".tgz"));
    if (archive === undefined) throw new Error("The plugin was not packed.");
    const adding: number[] = [];
    const whole: number[] = [];
    for (let round = -1; round < (quick ? 3 : 10); round++) {
      const home = join(folder, `home-${round + 1}`);
      await mkdir(home);
      const add = ["plugin", "add", join(folder, archive), "--yes"];
      const added = await timed(() => finished(start(add, { cwd: home, home })));
      const session = start(["run", "greeter", "Hello.", "--json"], { cwd: home, home });
      const first = await timed(() => firstOutput(session));
      await finished(session);
      if (round < 0) continue;
      adding.push(added);
      whole.push(added + first);
    }
    return [
      { name: "install.plugin_add", value: quantile(adding, 0.5), unit: "ms" },
      aimed({ name: "install.to_first_event", value: quantile(whole, 0.5), unit: "ms" }, { most: 3000 }),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function start(args: readonly string[], { cwd, home }: { cwd: string; home: string }): ChildProcess {
  const own = ["DATA", "STATE", "CACHE", "CONFIG"].map((word) => [`XDG_${word}_HOME`, join(home, word.toLowerCase())]);
  return spawn(process.execPath, [...program, ...args], {
    cwd,
    env: { ...process.env, ...Object.fromEntries(own) },
    stdio: ["ignore", "pipe", "inherit"],
  });
}

function finished(child: ChildProcess): Promise<void> {
  child.stdout?.resume();
  return new Promise((resolve, reject) => {
    if (child.exitCode !== null) return child.exitCode === 0 ? resolve() : reject(failed(child.exitCode));
    child.on("close", (code) => code === 0 ? resolve() : reject(failed(code)));
  });
}

function failed(code: number | null): Error {
  return new Error(`A command ended with code ${code}.`);
}

/** Until the adapter itself has said something. */
function firstOutput(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
      if (text.includes('"source":"agent"')) resolve();
    });
    child.on("close", () => resolve());
  });
}
