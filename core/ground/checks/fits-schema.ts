import { askThread } from "../platform/engine/thread-task.ts";
import { fileURLToPath } from "../platform/files/paths.ts";

// As in `records/gate/ask-gate.ts`: this file may be the build's or the source.
const folder = new URL(import.meta.url.endsWith(".ts") ? "../../../dist/walls/" : "../../../walls/", import.meta.url);
const schemaFile = fileURLToPath(new URL("schema.js", folder));

/** Question to the thread. */
export interface SchemaQuestion {
  schema: unknown;
  data: unknown;
}

/** Longest check, and the heap of its thread: a stranger's schema may ask for work without end. */
const bounds = { ms: 5000, heapMb: 128 } as const;

/**
 * Checks data against a JSON Schema without faults, in a thread that is ended when it takes too long.
 * @returns why the data does not fit; null where it does
 */
export async function fitsSchema(
  question: SchemaQuestion,
  { ms = bounds.ms }: { ms?: number } = {},
): Promise<string | null> {
  try {
    return await askThread(schemaFile, question, { ms, heapMb: bounds.heapMb }) as string | null;
  } catch (error) {
    return `it could not be checked: ${error instanceof Error ? error.message : String(error)}`;
  }
}
