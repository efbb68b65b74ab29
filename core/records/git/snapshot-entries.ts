import { createBlobId } from "../../ground/runtime/hash.ts";
import { pathText } from "./raw-diff.ts";
import { eachInShadow, gitInShadow } from "./shadow-repository.ts";
import { indexBefore, type Snapshot } from "./snapshot.ts";

/** A file or link as a snapshot has it. */
export interface EntryBefore {
  /** In octal: `100644`, `100755`, `120000` for a link. */
  mode: string;
  /** Id of its content in git. */
  id: string;
}

/**
 * Finds what a snapshot has of these paths, relative to its working directory.
 * @throws {BulkheadError} `io_error`
 */
export async function entriesBefore(
  { held }: Snapshot,
  { paths, signal }: { paths: ReadonlySet<string>; signal: AbortSignal },
): Promise<Map<string, EntryBefore>> {
  const found = new Map<string, EntryBefore>();
  if (held === null || paths.size === 0) return found;
  const take = (record: Uint8Array) => {
    const [head = "", ...rest] = pathText(record).split("\t");
    const [mode, id] = head.split(" ");
    const path = rest.join("\t");
    if (mode !== undefined && id !== undefined && paths.has(path)) found.set(path, { mode, id });
  };
  await eachInShadow(held.shadow, ["ls-files", "-s", "-z"], { index: indexBefore, signal, take });
  return found;
}

/** The content that a snapshot has of an entry; null where it was hashed and not stored. */
export async function contentBefore(
  { held }: Snapshot,
  { id, signal }: { id: string; signal: AbortSignal },
): Promise<Uint8Array | null> {
  if (held === null) return null;
  return await gitInShadow(held.shadow, ["cat-file", "blob", id], { index: indexBefore, signal }).catch(() => null);
}

/** Whether git would give this content that id. */
export function hasId(content: Uint8Array, id: string): boolean {
  return createBlobId(content, id.length === 64 ? "sha256" : "sha1") === id;
}
