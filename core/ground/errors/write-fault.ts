/** Why the system refuses to write: what is wrong with the place, and what helps. */
export interface WriteFault {
  /** The system's code, for example `ENOSPC`. */
  code: string;
  /** A clause, for example `the disk of "/state" is full`. */
  state: string;
  hint: string;
}

type Words = readonly [state: (place: string) => string, hint: string];

const freeRoom = "Free some space on that disk; a running host goes on by itself.";
const otherFolder = "set another state_dir";
const noPermission = `Give the user of the host the folder again, with chown and chmod, or ${otherFolder}.`;

const words: Readonly<Record<string, Words>> = {
  ENOSPC: [(place) => `the disk of ${place} is full`, freeRoom],
  EDQUOT: [
    (place) => `the disk of ${place} is full for this user`,
    "Free some of this user's space, or raise the quota; a running host goes on by itself.",
  ],
  EFBIG: [
    (place) => `a file in ${place} would be larger than this process may make one`,
    'Raise the limit of the file size ("ulimit -f") and restart the host.',
  ],
  EROFS: [
    (place) => `the disk of ${place} is read-only`,
    `Mount it for writing (after an error of the disk the system makes it read-only: see dmesg), or ${otherFolder}.`,
  ],
  EIO: [
    (place) => `the disk of ${place} has an input/output error`,
    `Look at the disk with dmesg, and copy the folder to another one, or ${otherFolder}.`,
  ],
  EMFILE: [
    (place) => `this process has no file descriptors left to write ${place}`,
    'Raise the limit of open files ("ulimit -n") and restart the host, or run fewer sessions at once.',
  ],
  ENFILE: [
    (place) => `the system has no file descriptors left to write ${place}`,
    "End other programs, or raise fs.file-max.",
  ],
  EACCES: [(place) => `this user has no permission to write ${place}`, noPermission],
  EPERM: [
    (place) => `the system does not permit this user to write ${place}`,
    `Look at its attributes with lsattr, give it to the user of the host, or ${otherFolder}.`,
  ],
  ESTALE: [
    (place) => `the disk of ${place} is gone`,
    "Mount it again and restart the host.",
  ],
};

/** Faults of a place that may never have been one to write to. */
const unusable: Readonly<Record<string, Words>> = {
  ENOENT: [(place) => `${place} does not exist`, "Make it, or use another folder."],
  ENOTDIR: [(place) => `${place} is no folder`, "Move what stands there away, or use another folder."],
  ENOLCK: [
    (place) => `the file system of ${place} has no locks`,
    `Mount it with locks (for NFS with lockd), or ${otherFolder}.`,
  ],
};

/** The same faults as SQLite names them, by the beginning of its codes; the longest counts. */
const sqliteCodes: readonly (readonly [string, string])[] = [
  // Where the file that connections share cannot grow.
  ["SQLITE_IOERR_SHMSIZE", "ENOSPC"],
  ["SQLITE_FULL", "ENOSPC"],
  ["SQLITE_READONLY", "EACCES"],
  ["SQLITE_PERM", "EACCES"],
  ["SQLITE_CANTOPEN", "EACCES"],
  ["SQLITE_IOERR", "EIO"],
];

/** Codes of SQLite that have several causes: only the system's own code tells which one it is. */
const vague = /^SQLITE_(READONLY|CANTOPEN|IOERR(?!_SHMSIZE))/;

/** Returns the code of a thrown thing; empty where it has none. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
}

/**
 * Returns the fault that keeps a place from being written; null for any other error.
 * @param place as a sentence names it, for example `"/state"` with its quotation marks
 */
export function writeFault(thrown: unknown, place: string): WriteFault | null {
  const given = codeOf(thrown);
  const code = sqliteCodes.find(([start]) => given.startsWith(start))?.[1] ?? given;
  const found = words[code];
  return found === undefined ? null : { code, state: found[0](place), hint: found[1] };
}

/** Returns the fault that keeps a folder, which need not exist, from being used; of another error its code. */
export function folderFault(thrown: unknown, folder: string): WriteFault {
  const place = `"${folder}"`;
  const code = codeOf(thrown) || "unknown error";
  const [state, hint] = unusable[code] ?? [() => `the system refused to write ${place} (${code})`, noPermission];
  return (isVague(thrown) ? null : writeFault(thrown, place)) ?? { code, state: state(place), hint };
}

/** Whether an error may have another cause than {@link writeFault} says. */
export function isVague(thrown: unknown): boolean {
  return vague.test(codeOf(thrown));
}

/** Whether what is missing is room. */
export function isFullDisk({ code }: WriteFault): boolean {
  return code === "ENOSPC" || code === "EDQUOT";
}

/** Errors of a read that say nothing of the file. */
const unreadNow: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "EIO", "ESTALE"]);

/**
 * Takes the error of a read of a file that may be missing: null stands for one that is not there. What could not be
 * looked at, for want of descriptors or by a broken disk, is not missing.
 * @throws the error of such a read
 */
export function absent(error: unknown): null {
  if (unreadNow.has(codeOf(error))) throw error;
  return null;
}

/** Whether an error says that nothing is at a path, or that the way to it is none. */
export function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(codeOf(error));
}

/**
 * Takes the error of a file that need not be there: null stands for one that is missing.
 * @throws any other error
 */
export function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}
