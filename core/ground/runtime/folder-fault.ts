/** Reason of the system not to write to a folder: the rest of a sentence about it, and what helps. */
interface FolderFault {
  /** The system's code, or "unknown error". */
  code: string;
  why: string;
  hint: string;
}

const faults: Readonly<Record<string, readonly [why: string, help: (folder: string) => string]>> = {
  ENOENT: ["it does not exist", (folder) => `Make "${folder}"`],
  ENOTDIR: ["it is no folder", (folder) => `Move what stands at "${folder}" away`],
  EACCES: ["this user may not write there", mayWrite],
  EPERM: ["this user may not write there", mayWrite],
  EROFS: ["it is read-only", (folder) => `Make the disk of "${folder}" writable`],
  ENOSPC: ["its disk is full", (folder) => `Free some space on the disk of "${folder}"`],
  EDQUOT: ["its disk is full for this user", (folder) => `Free some space on the disk of "${folder}"`],
  EIO: ["its disk has failed", (folder) => `Look after the disk of "${folder}"`],
  EMFILE: ["this process has too many files open", () => "Raise its limit (ulimit -n)"],
  ENFILE: ["this machine has too many files open", () => "End programs that hold many"],
  ENOLCK: ["its file system has no locks", (folder) => `Mount that of "${folder}" with locks (for NFS with lockd)`],
};

/** Says why the system refused to write to a folder, or to something in it. */
export function folderFault(cause: unknown, folder: string): FolderFault {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown error";
  const [why, help] = faults[code] ?? [`the system refused it (${code})`, mayWrite];
  return { code, why, hint: `${help(folder)}, or use another one.` };
}

function mayWrite(folder: string): string {
  return `Let this user write to "${folder}"`;
}
