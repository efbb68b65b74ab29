import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { parseHostManifest } from "../../ground/config/parse-host-manifest.ts";
import { removePluginEntry } from "../manifest/edit-plugin-entry.ts";
import { instancesOf } from "../registry/instances.ts";
import { rm } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { changeManifest } from "./manifest-transaction.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";

/**
 * Removes an installed plugin: its grants, its lock entry and its files. Of an instance, or of another entry that names
 * a source, it removes the entry.
 * @throws {BulkheadError} `not_found` when no plugin of that id is installed, `busy` also while it has instances
 */
export async function removePlugin(manifestFile: string, id: string): Promise<void> {
  await changeManifest(manifestFile, async ({ file, text, readLock, installed, writeText, writeLock }) => {
    const lock = await readLock();
    const hostManifest = parseHostManifest(text, { file, leaveOut: true });
    const { plugins: entries, left_out = {} } = hostManifest;
    // An entry that is wrong is in the way of nothing but itself, so it goes without a question.
    const isEntry = entries[id]?.source !== undefined || Object.hasOwn(left_out, id);
    const without = isEntry ? removePluginEntry(text, { pluginId: id, file }) : text;
    if (!Object.hasOwn(lock.plugins, id) && without !== text) return await writeText(without);
    if (!Object.hasOwn(lock.plugins, id)) {
      throw new BulkheadError("not_found", `Cannot remove plugin "${id}": it is not installed.`, {
        hint: `To stop using one that is bundled or lies in a folder: bulkhead plugin disable ${id}`,
      });
    }
    const [instance, ...others] = instancesOf(hostManifest, id);
    if (instance !== undefined) {
      const all = [instance, ...others].join(", ");
      throw new BulkheadError("busy", `Cannot remove plugin "${id}": it has the instances ${all}.`, {
        hint: `Remove them first: bulkhead plugin remove ${instance}`,
      });
    }
    const { [id]: _, ...plugins } = lock.plugins;
    // Grants first, files last: a process killed in between leaves a plugin without grants.
    await writeText(removePluginEntry(text, { pluginId: id, file }));
    await writeLock({ ...lock, plugins });
    await removeTree(join(installed, id));
  });
}

/** Removes all data that a plugin of this id has kept, so that a later plugin with the same id finds none of it. */
export async function forgetPlugin(stateFolder: string, id: string): Promise<void> {
  await Promise.all([
    removeTree(join(stateFolder, "data", id)),
    removeTree(join(stateFolder, "pins", id)),
    rm(join(stateFolder, "crashes", `${id}.json`), { force: true }),
  ]);
}
