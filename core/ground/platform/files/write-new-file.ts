import { link, mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { randomId } from "./hash.ts";
import { tellRefusal } from "../state/write-faults.ts";

/**
 * Writes a file from pieces; only this user may read it, and it is there only once it is whole.
 * @param replace takes the place of a file of that name; else one that is there makes it fail with `EEXIST`
 * @returns its bytes
 */
export async function writeNewFile(
  path: string,
  { pieces, replace }: { pieces: AsyncIterable<string>; replace: boolean },
): Promise<number> {
  const draft = `${path}.${randomId()}.tmp`;
  try {
    const file = await open(draft, "wx", 0o600);
    let bytes = 0;
    try {
      for await (const piece of pieces) {
        const encoded = new TextEncoder().encode(piece);
        await file.writeFile(encoded);
        bytes += encoded.byteLength;
      }
      await file.sync();
    } finally {
      await file.close();
    }
    // A link takes a name only where there is none.
    if (replace) await rename(draft, path);
    else await link(draft, path);
    return bytes;
  } catch (error) {
    tellRefusal(path, error);
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

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
