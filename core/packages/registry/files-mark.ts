import { stat } from "../../ground/platform/files/files.ts";
import { isBelow, join } from "../../ground/platform/files/paths.ts";
import type { Plugin, PluginScript } from "../manifest/plugin.ts";

/** Whether a person may edit the plugin's files where they lie; the files of other origins come from a package. */
export function isEditable({ origin }: Pick<Plugin, "origin">): boolean {
  return origin === "folder" || origin === "registered";
}

/** Whether a plugin's files are neither Bulkhead's own nor checked against the lock. */
export function isAuthored({ origin, hashes }: Pick<Plugin, "origin" | "hashes">): boolean {
  return origin !== "bundled" && origin !== "inline" && hashes === undefined;
}

/** Returns a text that changes when a person edits a plugin's manifest or one of the files that its script was made of. */
export async function filesMark(
  { folder, manifest }: Pick<Plugin, "folder" | "manifest">,
  script: Pick<PluginScript, "sources">,
): Promise<string> {
  const named = new Set(["plugin.yaml", manifest.entry ?? "plugin.yaml", ...script.sources()]);
  // A source map inside the package may name any path.
  const inside = [...named].map((name) => join(folder, name)).filter((path) => isBelow(folder, path));
  const marks = inside.map(async (path) =>
    await stat(path).then(({ mtimeMs, size }) => `${path} ${mtimeMs} ${size}`, () => path)
  );
  return (await Promise.all(marks)).join("\n");
}
