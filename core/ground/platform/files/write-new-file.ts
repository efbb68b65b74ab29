import { link, open, rename, rm } from "node:fs/promises";
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
