import { channel } from "node:diagnostics_channel";
import { writeFault } from "../../errors/write-fault.ts";
import { isInside } from "../files/paths.ts";

interface RefusedWrite {
  path: string;
  error: unknown;
}

const refused = channel("bulkhead.refused-write");

/** Tells those who watch a folder that a write in it was refused; other failures are not told. */
export function tellRefusal(path: unknown, error: unknown): void {
  if (!refused.hasSubscribers || typeof path !== "string" || writeFault(error, "") === null) return;
  refused.publish({ path, error } satisfies RefusedWrite);
}

/**
 * Watches for refused writes in a folder, and for missing descriptors, which hit every folder.
 * @returns stops it
 */
export function onRefusal(folder: string, act: (refusal: RefusedWrite) => void): () => void {
  const hear = (message: unknown): void => {
    const refusal = message as RefusedWrite;
    const code = writeFault(refusal.error, "")?.code;
    if (code === "EMFILE" || code === "ENFILE" || isInside(folder, refusal.path)) act(refusal);
  };
  refused.subscribe(hear);
  return () => void refused.unsubscribe(hear);
}
