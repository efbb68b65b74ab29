import { execFile } from "node:child_process";
import { realpath, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { isAbsolute, resolve } from "node:path";
import process from "node:process";
import { promisify } from "node:util";

/** Real paths of a person's homes. */
export interface PersonHomes {
  /** The one that programs use: that of `$HOME`, else that of the user's passwd entry; null where there is neither. */
  first: string | null;
  /** Both of them, without the doubles. */
  all: readonly string[];
}

/**
 * Finds the homes of the person who runs this host: `$HOME` and the home of the user's passwd entry, which differ under
 * `sudo` and in services. A path that is empty, relative, missing, no folder or the whole disk is no home: there would be
 * nothing to keep from an agent.
 */
export async function personHomes(): Promise<PersonHomes> {
  const found = await Promise.all([process.env["HOME"], await passwdHome()].map(homeAt));
  const all = [...new Set(found.filter((home) => home !== null))];
  return { first: all[0] ?? null, all };
}

async function homeAt(named: string | undefined | null): Promise<string | null> {
  if (!named || !isAbsolute(named)) return null;
  const home = await realpath(resolve(named)).catch(() => null);
  if (home === null || home === "/") return null;
  return await stat(home).then((info) => info.isDirectory(), () => false) ? home : null;
}

let asked: Promise<string | null> | null = null;

/** Home of the passwd entry; null for a user without one, as in a container with a random user id. */
async function passwdHome(): Promise<string | null> {
  try {
    return userInfo().homedir;
  } catch (error) {
    // Deno asks for a permission that the host may lack; Node throws this for a user without an entry.
    if (error instanceof Error && "code" in error && error.code === "ERR_SYSTEM_ERROR") return null;
  }
  return await (asked ??= askSystem());
}

async function askSystem(): Promise<string | null> {
  const ran = promisify(execFile)("/bin/sh", ["-c", 'getent passwd "$(id -u)"'], { timeout: 5000 });
  return await ran.then(({ stdout }) => stdout.trim().split(":")[5] ?? null, () => null);
}
