import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { readFile } from "../../ground/runtime/files.ts";
import { randomKey } from "../../ground/runtime/hash.ts";
import { writeNewFile } from "../../ground/runtime/write-new-file.ts";

/** Path of the key of a journal's chain, beside the journal. */
export function chainKeyFile(journalFile: string): string {
  return `${journalFile}.key`;
}

/**
 * Reads the key of a journal's chain, or makes one for its owner alone. A process killed meanwhile leaves no file: half
 * a key would keep every later host from opening the journal.
 * @throws {BulkheadError} `journal_error` for a file that holds no key; else the file system's errors
 */
export async function openChainKey(file: string): Promise<Uint8Array> {
  try {
    return await readChainKey(file);
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
  }
  const key = randomKey();
  try {
    await writeNewFile(file, { pieces: lineOf(key), replace: false });
    return key;
  } catch (error) {
    // Another process made one just now.
    if (isCode(error, "EEXIST")) return await readChainKey(file);
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/**
 * Reads the key of a journal's chain.
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

async function* lineOf(key: Uint8Array): AsyncGenerator<string, void, void> {
  yield `${Array.from(key, (byte) => byte.toString(16).padStart(2, "0")).join("")}\n`;
}
