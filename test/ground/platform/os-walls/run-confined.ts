import { spawn } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { confine } from "../../../../core/ground/platform/os-walls/confine.ts";
import {
  type Confinement,
  defaultOsWallUses,
  type OsWallName,
  osWallNames,
} from "../../../../core/ground/platform/os-walls/os-wall.ts";
import { execPathForOthers, runtimeName } from "../../../../core/ground/platform/engine/platform.ts";

/** How a program behind walls ended; `report` is its last line, if that is JSON. */
export interface ConfinedEnd {
  exit_code: number | null;
  signal: string | null;
  output: string;
  report: Record<string, unknown>;
}

/**
 * Runs a program of `programs/` with all the rights the runtime can give, as code would have that broke out of every
 * other wall: only the walls named here hold it.
 */
export async function runConfined(
  program: string,
  { walls, args = [], confinement = {} }: {
    walls: readonly OsWallName[];
    args?: readonly string[];
    confinement?: Partial<Confinement>;
  },
): Promise<ConfinedEnd> {
  const file = fileURLToPath(new URL(`./programs/${program}`, import.meta.url));
  const home = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-confined-")));
  const uses = { ...defaultOsWallUses };
  for (const name of osWallNames) uses[name] = walls.includes(name) ? "required" : "off";
  const prefix = runtimeName === "deno" ? ["run", "-A", "--quiet", "--no-config", "--no-lock"] : [];
  const confined = await confine(
    { file: execPathForOthers, args: [...prefix, file, ...args], env: { HOME: home }, cwd: home },
    { rssMb: 256, openFiles: 64, workers: 0, readable: [dirname(file)], ...confinement },
    { uses },
  );
  try {
    return await finish(confined.command);
  } finally {
    await confined.release();
    await rm(home, { recursive: true, force: true });
  }
}

function finish(
  command: { file: string; args: string[]; env: Record<string, string>; cwd: string },
): Promise<ConfinedEnd> {
  const { file, args, env, cwd } = command;
  const child = spawn(file, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exit_code, signal) => {
      const last = output.trimEnd().split("\n").at(-1) ?? "";
      const report = last.startsWith("{") ? JSON.parse(last) as Record<string, unknown> : {};
      resolve({ exit_code, signal, output, report });
    });
  });
}
