import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { lookAt, readContent } from "./content-state.ts";
import { acceptCommand, kindOf } from "./demand-recorded.ts";
import { exposedOver } from "./exposed-folders.ts";
import { placesOnTheWay, roadIn } from "./places-on-the-way.ts";
import { writeRecord } from "./records.ts";

/**
 * Accepts what stands at a path, if it is still what a person has seen.
 * @param path absolute
 * @throws {BulkheadError} `unaccepted_change` when something else stands there by now
 */
export async function acceptChange(path: string, digest: string): Promise<void> {
  const kind = await kindOf(path);
  const places = await placesOnTheWay(path);
  for (const folder of exposedOver(places, { within: true })) {
    const road = roadIn(folder.path, places);
    const look = await lookAt(road);
    const content = await readContent(road);
    if (content.digest !== digest) {
      throw new BulkheadError("unaccepted_change", `Cannot accept ${path}: it has changed again.`, {
        hint: `Look at it. To accept what stands there now: ${acceptCommand(path, content.digest)}`,
        details: { path, kind, digest: content.digest },
      });
    }
    writeRecord(folder, { path, road, kind, content, look });
  }
}
