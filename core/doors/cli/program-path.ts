import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { newPin } from "../../walls/broker/resolve-binary.ts";

/** Finds a program as a session that works in a folder would; null where it finds none. */
export async function programPath(binary: string, workdir: string): Promise<string | null> {
  try {
    const refuse = ({ because }: { because: string }) => new BulkheadError("permission_denied", `${because}.`);
    return (await newPin(binary, { workdir, writable: [workdir], refuse })).path;
  } catch (error) {
    if (error instanceof BulkheadError) return null;
    throw error;
  }
}
