import { stat } from "node:fs/promises";
import { userId } from "./pinned-folder.ts";

/**
 * Who besides this user and the system's administrator could put other files into a folder, in words; null where nobody
 * could, where there is no such folder, and where the system knows no users.
 */
export async function whoElseMayChange(folder: string, user: number | null = userId()): Promise<string | null> {
  const info = await stat(folder).catch(() => null);
  if (info === null || user === null) return null;
  if (info.uid !== user && info.uid !== 0) return "it belongs to another user";
  return (info.mode & 0o002) === 0 ? null : "everybody may write to it";
}
