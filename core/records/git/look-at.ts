import { isMissing } from "../../ground/errors/write-fault.ts";
import { readPlainFile } from "../../ground/platform/files/read-plain-file.ts";
import { lstat } from "../../ground/platform/files/files.ts";
import { dirname, join } from "../../ground/platform/files/paths.ts";

/** Whether any folder between `top` and `path` is a symbolic link: the path then leads elsewhere. */
export async function isBehindLink(top: string, path: string): Promise<boolean> {
  for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) {
    if (await lstat(join(top, folder)).then((found) => found.isSymbolicLink(), () => false)) return true;
  }
  return false;
}

/** Looks at a path: a file's facts, null for nothing, or that access is denied. */
export async function lookAt(path: string): Promise<Awaited<ReturnType<typeof lstat>> | null | "unreadable"> {
  try {
    return await lstat(path);
  } catch (error) {
    return isMissing(error) ? null : "unreadable";
  }
}

/** Whether anything stands at a path, also a link that leads nowhere. */
export function isThere(path: string): Promise<boolean> {
  return lstat(path).then(() => true, () => false);
}

/** A plain file's text; empty for one of more bytes and for what cannot be read. */
export async function plainText(path: string, maxBytes: number): Promise<string> {
  const bytes = await readPlainFile(path, maxBytes);
  return bytes === null ? "" : new TextDecoder().decode(bytes);
}
