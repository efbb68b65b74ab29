import { stat } from "node:fs/promises";
import { userId } from "./pinned-folder.ts";

/** Users besides this one and the administrator who could put files into a folder, in words; null without any. */
export async function whoElseMayChange(folder: string, user: number | null = userId()): Promise<string | null> {
  const info = await stat(folder).catch(() => null);
  if (info === null || user === null) return null;
  if (info.uid !== user && info.uid !== 0) return "it belongs to another user";
  return (info.mode & 0o002) === 0 ? null : "everybody may write to it";
}
