import type { FileAccess } from "bulkhead/plugin-sdk";
import type { FileStep } from "./recording.ts";

/** Does one recorded change in the working directory, under the session's permissions. */
export async function applyFileStep(step: FileStep, fs: FileAccess): Promise<void> {
  switch (step.kind) {
    case "write":
      return await fs.writeText(step.path, step.text);
    case "write_base64":
      return await fs.writeBase64(step.path, step.base64);
    case "delete":
      return await fs.remove(step.path);
    case "rename":
      await fs.writeText(step.to, await fs.readText(step.from));
      return await fs.remove(step.from);
  }
}
