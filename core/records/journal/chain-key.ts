import { codeOf } from "../../ground/errors/write-fault.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { readFile, rename } from "../../ground/platform/files/files.ts";
import { randomKey } from "../../ground/platform/files/hash.ts";
import { dirname } from "../../ground/platform/files/paths.ts";
import { syncFolder } from "../../ground/platform/files/synced-file.ts";
import { writeNewFile } from "../../ground/platform/files/write-new-file.ts";

/** Path of the key of a journal's chain, beside the journal. */
export function chainKeyFile(journalFile: string): string {
  return `${journalFile}.key`;
}

/** The key of a journal's chain. */
export interface ChainKey {
  key: Uint8Array;
  /** `new`: there was none. `damaged`: what was there is no key, and was set aside. */
  state: "found" | "new" | "damaged";
}

/**
 * Reads the key of a journal's chain; makes one where there is none, which is not written yet.
 * @param options `mend`: one that is damaged is renamed, instead of an error
 * @throws {BulkheadError} `journal_error` for a file that holds no key; else the file system's errors
 */
export async function findChainKey(file: string, { mend }: { mend: boolean }): Promise<ChainKey> {
  try {
    return { key: await readChainKey(file), state: "found" };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { key: randomKey(), state: "new" };
    if (!mend || !(error instanceof BulkheadError)) throw error;
    await rename(file, `${file}.damaged-${new Date().toISOString().replace(/[:.]/g, "-")}`);
    return { key: randomKey(), state: "damaged" };
  }
}

/**
 * Writes a new key, for its owner alone. A process killed meanwhile leaves no file: half a key would cost the chain.
 * @returns the key that is there: another process may have made one just now
 */
export async function writeChainKey(file: string, key: Uint8Array): Promise<Uint8Array> {
  try {
    await writeNewFile(file, { pieces: lineOf(key), replace: false });
    // After a power loss a journal without its key would count as damaged.
    await syncFolder(dirname(file));
    return key;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return await readChainKey(file);
    throw error;
  }
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
