import { lstat, mkdir, rmdir } from "../../../ground/platform/files/files.ts";

/** Empty folders for mounts that sessions of this host use, and how many use each. */
const places = new Map<string, { users: number; isMade: Promise<boolean> }>();

/**
 * Makes an empty folder for a mount, or shares the one that another session has made.
 * @returns `there` for a folder that stood there before, `taken` for anything else that does
 */
export async function keepPlace(path: string): Promise<"made" | "there" | "taken"> {
  const place = places.get(path) ?? { users: 0, isMade: mkdir(path).then(() => true, () => false) };
  places.set(path, place);
  place.users += 1;
  if (await place.isMade) return "made";
  if (places.get(path) === place) places.delete(path);
  return await lstat(path).then((info) => info.isDirectory(), () => false) ? "there" : "taken";
}

/** Removes a folder that was made with the last session that needs it, if it is empty. */
export async function leavePlace(path: string): Promise<void> {
  const place = places.get(path);
  if (place !== undefined && --place.users > 0) return;
  places.delete(path);
  await rmdir(path).catch(() => {});
}
