import { lstat } from "../../ground/runtime/files.ts";

/** Looks at a path: a file's facts, null for nothing, or that access is denied. */
export async function lookAt(path: string): Promise<Awaited<ReturnType<typeof lstat>> | null | "unreadable"> {
  try {
    return await lstat(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    return code === "ENOENT" || code === "ENOTDIR" ? null : "unreadable";
  }
}
