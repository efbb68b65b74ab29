import { Value } from "@sinclair/typebox/value";
import { link, readFile, rename, rm, writeFile } from "../runtime/files.ts";
import { randomId } from "../runtime/hash.ts";
import { pid } from "../runtime/platform.ts";
import { processIsAlive } from "../runtime/process-alive.ts";
import { processStart } from "../runtime/process-rows.ts";
import { type Holder, holderSchema } from "./workspace-record.ts";

/** This process, as a file names it. */
export function thisProcess(): Holder {
  return { pid, start: processStart(pid) };
}

/** True while the process is there. */
export function isAlive(holder: Holder | null): boolean {
  if (holder === null || !processIsAlive(holder.pid)) return false;
  return holder.start === null || processStart(holder.pid) === holder.start;
}

/**
 * Makes a lock file that names this process, also in place of one whose process is gone.
 * @returns false while another process has it
 */
export async function takeLock(lock: string): Promise<boolean> {
  const draft = `${lock}.${randomId()}`;
  try {
    await writeFile(draft, JSON.stringify(thisProcess()), { mode: 0o600 });
    // Linking gives the file its name with all its text: nobody ever reads half of it.
    if (await succeeds(link(draft, lock))) return true;
    return await dropStale(lock) && await succeeds(link(draft, lock));
  } finally {
    await rm(draft, { force: true });
  }
}

/** Takes a lock away whose process is gone, and gives it back if in that moment somebody else took it. */
async function dropStale(lock: string): Promise<boolean> {
  const text = await readFile(lock, "utf8").catch(() => null);
  if (text !== null && isAlive(parse(text))) return false;
  const aside = `${lock}.${randomId()}`;
  if (!(await succeeds(rename(lock, aside)))) return true;
  const isStale = await readFile(aside, "utf8").catch(() => null) === text;
  if (!isStale) await succeeds(link(aside, lock));
  await rm(aside, { force: true });
  return isStale;
}

function parse(text: string): Holder | null {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(holderSchema, value) ? value : null;
  } catch {
    return null;
  }
}

function succeeds(act: Promise<unknown>): Promise<boolean> {
  return act.then(() => true, () => false);
}
