import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Runs git in a folder. */
export function gitIn(cwd: string, ...args: string[]): Buffer {
  return execFileSync("git", args, { cwd, stdio: "pipe" });
}

/** Makes a repository with one commit on `main`, and returns its folder. */
export async function makeRepository(folder: string): Promise<string> {
  await mkdir(join(folder, "part"), { recursive: true });
  await writeFile(join(folder, "part", "here.txt"), "here\n");
  gitIn(folder, "init", "-q", "-b", "main");
  gitIn(folder, "add", ".");
  gitIn(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first");
  return folder;
}
