import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Makes a folder with files by their paths in it, with `/`.
 * @param options `flag`: `wx` refuses a file that is there; default: it is overwritten
 */
export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>> | ReadonlyMap<string, string | Uint8Array>,
  { flag = "w" }: { flag?: "w" | "wx" } = {},
): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [path, content] of files instanceof Map ? files : Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content, { flag });
  }
}
