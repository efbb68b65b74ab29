import { stat } from "node:fs/promises";
import { userId } from "./pinned-folder.ts";

/**
 * Users, besides this one and the system's administrator, who could put other files into a folder, in words; null where
 * there are none, where the folder is missing, and where the system knows no users.
 */
export async function whoElseMayChange(folder: string, user: number | null = userId()): Promise<string | null> {
  const info = await stat(folder).catch(() => null);
  if (info === null || user === null) return null;
  if (info.uid !== user && info.uid !== 0) return "it belongs to another user";
  return (info.mode & 0o002) === 0 ? null : "everybody may write to it";
}
