import { readFile, rm } from "../../ground/runtime/files.ts";
import { replaceFile } from "../../ground/runtime/replace-file.ts";

/**
 * Marks a journal as damaged, for the host that has it or the next one: a process that only reads a journal finds damage
 * too. Best effort: the mark is lost where the folder cannot be written.
 */
export async function markSuspect(file: string, problem: string): Promise<void> {
  await replaceFile(markOf(file), problem).catch(() => {});
}

/** The problem of a marked journal; null where there is none. */
export async function suspectedProblem(file: string): Promise<string | null> {
  return await readFile(markOf(file), "utf8").catch(() => null);
}

/** Takes the mark away. */
export async function clearSuspect(file: string): Promise<void> {
  await rm(markOf(file), { force: true });
}

function markOf(file: string): string {
  return `${file}.suspect`;
}
