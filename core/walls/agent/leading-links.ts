import { readdir, realpath } from "../../ground/runtime/files.ts";
import { isBelow, isInside, join } from "../../ground/runtime/paths.ts";

/** Links of one folder that are followed. */
const most = 200;

/**
 * Links in folders of programs that lead elsewhere in a home, as those of dotfiles managers and installers: a private home
 * would leave them dangling. Whether each may be shown is decided as for any place.
 * @param shown places that are shown as a whole
 */
export async function leadingLinks(
  folders: readonly string[],
  { homes, shown }: { homes: readonly string[]; shown: readonly string[] },
): Promise<string[]> {
  const found = await Promise.all(folders.map(async (folder) => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const links = entries.filter((entry) => entry.isSymbolicLink()).slice(0, most);
    return await Promise.all(links.map(async ({ name }) => {
      const end = await realpath(join(folder, name)).catch(() => null);
      const isMissed = end !== null && homes.some((home) => isBelow(home, end)) &&
        !shown.some((place) => isInside(place, end));
      return isMissed ? [join(folder, name)] : [];
    }));
  }));
  return found.flat(2);
}
