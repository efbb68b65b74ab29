import { BulkheadError } from "../../plugin-sdk/errors.ts";
import { open, readFile } from "../runtime/files.ts";
import { randomKey } from "../runtime/hash.ts";

/** Where the key of a journal's chain lies: beside it. */
export function chainKeyFile(journalFile: string): string {
  return `${journalFile}.key`;
}

/**
 * The key of a journal's chain; made, for its owner alone, when there is none.
 * @throws {BulkheadError} `journal_error` for a file that holds no key; else the file system's errors
 */
export async function openChainKey(file: string): Promise<Uint8Array> {
  const key = randomKey();
  try {
    const handle = await open(file, "wx", 0o600);
    try {
      await handle.writeFile(`${toHex(key)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    return key;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  return await readChainKey(file);
}

/**
 * The key of a journal's chain.
 * @throws {BulkheadError} `journal_error` for a file that holds no key; else the file system's errors
 */
export async function readChainKey(file: string): Promise<Uint8Array> {
  const text = (await readFile(file, "utf8")).trim();
  if (!/^[0-9a-f]{64}$/.test(text)) {
    throw new BulkheadError("journal_error", `Cannot read the journal's key "${file}": it holds no key.`, {
      hint: "Restore it from a copy; or remove it: then what is in the journal can no longer be verified.",
    });
  }
  return Uint8Array.from(text.match(/../g) ?? [], (byte) => parseInt(byte, 16));
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
