import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Runs git in a folder, as nobody in particular. */
export async function git(folder: string, ...args: string[]): Promise<string> {
  const who = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
  const { stdout } = await promisify(execFile)("git", ["-C", folder, ...who, ...args]);
  return stdout;
}
