import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { ActedOnKind } from "./acted-on-kinds.ts";
import { lookAt, readContent } from "./content-state.ts";
import { acceptCommand } from "./demand-recorded.ts";
import { type ExposedFolder, exposedOver } from "./exposed-folders.ts";
import { placesOnTheWay, recordedName } from "./places-on-the-way.ts";
import { writeRecord } from "./records.ts";

/**
 * Accepts what stands at a path, if it is still what a person has seen.
 * @param path absolute
 * @throws {BulkheadError} `conflict` when something else stands there by now
 */
export async function acceptChange(
  path: string,
  { kind, digest }: { kind: ActedOnKind; digest: string },
): Promise<void> {
  const [name, folders] = await Promise.all([recordedName(path), exposedFoldersOf(path)]);
  const look = await lookAt(name);
  const content = await readContent(name);
  if (content.digest !== digest) {
    throw new BulkheadError("conflict", `Cannot accept ${name}: it has changed again.`, {
      hint: `Look at it. To accept what stands there now: ${acceptCommand(name, content.digest)}`,
      details: { path: name, digest: content.digest },
    });
  }
  for (const folder of folders) await writeRecord(folder, { path: name, kind, content, look });
}

async function exposedFoldersOf(path: string): Promise<ExposedFolder[]> {
  return await exposedOver(await placesOnTheWay(path), { within: true });
}
