import { readFileSync } from "node:fs";

/** Name of the environment variable that all children of a session inherit. */
export const markName = "BULKHEAD_SESSION_MARK";

/** Whether an environment, its entries parted by NUL, holds a mark, or one that it covers: `a` covers `a.1`. */
export function holdsMark(environ: string, mark: string): boolean {
  const entry = `${markName}=${mark}`;
  for (let at = environ.indexOf(entry); at !== -1; at = environ.indexOf(entry, at + 1)) {
    const before = environ[at - 1];
    const after = environ[at + entry.length];
    if ((before === undefined || before === "\0") && (after === undefined || after === "\0" || after === ".")) {
      return true;
    }
  }
  return false;
}

/** The mark that a process was started with; null where it has none or `/proc` does not show it. */
export function markOf(pid: number): string | null {
  try {
    const environ = readFileSync(`/proc/${pid}/environ`, "utf8");
    return environ.split("\0").find((entry) => entry.startsWith(`${markName}=`))?.slice(markName.length + 1) ?? null;
  } catch {
    return null;
  }
}

/** All marks in the environment that a process was started with: it may have been given a second one. */
export function marksOf(pid: number): string[] {
  try {
    const environ = readFileSync(`/proc/${pid}/environ`, "utf8");
    if (!environ.includes(`${markName}=`)) return [];
    const entries = environ.split("\0").filter((entry) => entry.startsWith(`${markName}=`));
    return entries.map((entry) => entry.slice(markName.length + 1));
  } catch {
    return [];
  }
}

/** Whether a mark is another one, or begins with it and a point. */
export function isCovered(mark: string, by: string): boolean {
  return mark === by || mark.startsWith(`${by}.`);
}
