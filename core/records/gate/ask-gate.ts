import { fileURLToPath } from "../../ground/platform/files/paths.ts";
import { askThread } from "../../ground/platform/engine/thread-task.ts";
import type { LookAnswer, LookBounds, LookQuestion, MarkAnswer } from "./look-question.ts";

// As in `walls/pool/spare-container.ts`: this file may be the build's or the source.
const folder = new URL(import.meta.url.endsWith(".ts") ? "../../../dist/walls/" : "../../../walls/", import.meta.url);
const gateFile = fileURLToPath(new URL("gate.js", folder));

/** Default bounds of a look: ten times what the largest projects hold. */
const lookBounds: LookBounds = { entries: 3_000_000, ms: 120_000, found: 5000 };

/** Looks at what a session left in a folder, in a thread of its own. */
export async function askLook(
  question: Omit<LookQuestion, "task" | "bounds"> & { bounds?: LookBounds },
): Promise<LookAnswer> {
  return await askThread(gateFile, { bounds: lookBounds, ...question, task: "look" }) as LookAnswer;
}

/** Texts that change with these entries of a folder, as a look gives them; null for what is gone or cannot be read. */
export async function askMarks(top: string, paths: readonly string[]): Promise<MarkAnswer> {
  return await askThread(gateFile, { task: "mark", top, paths }) as MarkAnswer;
}
