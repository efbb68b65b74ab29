import { stat } from "../../ground/platform/files/files.ts";
import { dirname, isInside } from "../../ground/platform/files/paths.ts";
import type { BinaryPin } from "../../../plugin-sdk/plugin-report.ts";

/**
 * Whether the file behind a pinned path is a newer version of the same program: the same place but for numbers, from
 * the same user or the system's, where not everybody may write. Who could put it there could have changed the pinned
 * file itself just as well.
 */
export async function isUpgrade(pin: BinaryPin, real: string): Promise<boolean> {
  if (withoutVersions(pin.real) !== withoutVersions(real)) return false;
  const common = commonFolder(pin.real, real);
  const way: string[] = [];
  for (let at = real; at !== common && dirname(at) !== at; at = dirname(at)) way.push(at);
  const infos = await Promise.all([...way, common].map((path) => stat(path).catch(() => null)));
  const owned = (uid: number) => uid === pin.owner || uid === 0;
  return infos.every((info) => info !== null && owned(info.uid) && (info.mode & 0o002) === 0);
}

/** A path with every version number in it as `#`: `/opt/tool-1.2.0-beta.3/bin` becomes `/opt/tool-#/bin`. */
export function withoutVersions(path: string): string {
  return path.replace(/\d+(?:[._-]\d+)*(?:[.+_-]?(?:alpha|beta|rc|pre|dev|canary|nightly)(?:[._-]?\d+)*)*/g, "#");
}

function commonFolder(a: string, b: string): string {
  let folder = dirname(a);
  while (!isInside(folder, b) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
