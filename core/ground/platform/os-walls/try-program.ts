import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { hostEnv } from "../engine/platform.ts";

/** How a trial run ended. */
type Trial = { works: true; stdout: string } | { works: false; why: string };

/** Longest trial run. Milliseconds. */
const tryTimeoutMs = 5000;
const systemFolders = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/** Programs found last, by PATH and name: every contained program needs two of them, several times. */
const lastFound = new Map<string, { file: string; at: number }>();

/** How long a program counts as there. One that goes meanwhile is missed when it is started. Milliseconds. */
const freshMs = 1000;

/** Absolute path of a program of the system, by the host's PATH and then the usual folders; null when there is none. */
export async function findProgram(name: string): Promise<string | null> {
  const path = hostEnv("PATH") ?? "";
  const key = `${name}${delimiter}${path}`;
  const last = lastFound.get(key);
  if (last !== undefined && performance.now() - last.at < freshMs) return last.file;
  if (last !== undefined && await isProgram(last.file)) return keep(key, last.file);
  lastFound.delete(key);
  for (const folder of [...path.split(delimiter).filter(isAbsolute), ...systemFolders]) {
    const file = join(folder, name);
    if (await isProgram(file)) return keep(key, file);
  }
  return null;
}

function keep(key: string, file: string): string {
  lastFound.set(key, { file, at: performance.now() });
  return file;
}

function isProgram(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(() => true, () => false);
}

/** Runs a program to its end, only to see whether it works. Never throws. */
export function tryProgram(file: string, args: readonly string[]): Promise<Trial> {
  return new Promise((resolve) => {
    const fail = (error: unknown, stderr = "") => resolve({ works: false, why: firstLine(stderr) || firstLine(error) });
    try {
      execFile(
        file,
        [...args],
        { timeout: tryTimeoutMs, killSignal: "SIGKILL", env: { LC_ALL: "C" }, encoding: "utf8" },
        (error, stdout, stderr) => error === null ? resolve({ works: true, stdout }) : fail(error, stderr),
      );
    } catch (error) {
      // One of the runtimes refuses here what the host was not allowed to run.
      fail(error);
    }
  });
}

function firstLine(problem: unknown): string {
  const text = problem instanceof Error ? problem.message : String(problem);
  return (text.trim().split("\n")[0] ?? "").replace(/\.$/, "").slice(0, 300);
}
