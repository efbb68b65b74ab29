import { lstat } from "../../ground/runtime/files.ts";
import { sha256Hex } from "../../ground/runtime/hash.ts";
import { join } from "../../ground/runtime/paths.ts";
import { joinNul } from "./git-call.ts";
import { gitInShadow, type ShadowCall, type ShadowRepository } from "./shadow-repository.ts";

/** Files above this are compared by size and time, not by content: reading them would take longer than the session. */
export const hugeBytes: number = 1024 * 1024 * 1024;

/** Up to this many changed files are stored, so that a rename with a change can be told from a new file. */
const storedFiles = 2000;
const storedBytes = 64 * 1024 * 1024;
/** Beyond this many, reading each file's size would cost more than it saves. */
const measuredFiles = 5000;
/** Files measured concurrently. */
const atOnce = 64;

/** Measurements of changed files before they are read. */
interface Measure {
  /** They are few and small enough to store. */
  isSmall: boolean;
  huge: HugeFile[];
}

interface HugeFile {
  path: Uint8Array;
  /** Changes with size or time. */
  mark: string;
  isProgram: boolean;
}

/** Measures files below a folder. */
export async function measureFiles(folder: string, paths: readonly Uint8Array[]): Promise<Measure> {
  const huge: HugeFile[] = [];
  if (paths.length > measuredFiles) return { isSmall: false, huge };
  let bytes = 0;
  const measure = async (path: Uint8Array): Promise<void> => {
    const found = await lstat(join(folder, new TextDecoder().decode(path))).catch(() => null);
    if (!found?.isFile()) return;
    bytes += found.size;
    if (found.size <= hugeBytes) return;
    const { size, mtimeMs, ctimeMs, ino, mode } = found;
    huge.push({ path, mark: sha256Hex(`${size} ${mtimeMs} ${ctimeMs} ${ino}`), isProgram: (mode & 0o100) !== 0 });
  };
  for (let at = 0; at < paths.length; at += atOnce) await Promise.all(paths.slice(at, at + atOnce).map(measure));
  return { isSmall: paths.length <= storedFiles && bytes <= storedBytes, huge };
}

/** Puts huge files into the index under the id of a content that does not exist. */
export async function addHugeFiles(
  shadow: ShadowRepository,
  huge: readonly HugeFile[],
  call: ShadowCall,
): Promise<void> {
  if (huge.length === 0) return;
  await dropHugeFiles(shadow, huge, call);
  const digits = shadow.repository?.objectFormat === "sha256" ? 64 : 40;
  const lines = huge.map(({ path, mark, isProgram }) => {
    const head = new TextEncoder().encode(`${isProgram ? "100755" : "100644"} ${mark.slice(0, digits)}\t`);
    const line = new Uint8Array(head.byteLength + path.byteLength);
    line.set(head);
    line.set(path, head.byteLength);
    return line;
  });
  await gitInShadow(shadow, ["update-index", "-z", "--index-info"], { ...call, stdin: joinNul(lines) });
}

/** Takes huge files out again: git would read a whole file to find out whether it still matches the index. */
export async function dropHugeFiles(
  shadow: ShadowRepository,
  huge: readonly HugeFile[],
  call: ShadowCall,
): Promise<void> {
  if (huge.length === 0) return;
  const stdin = joinNul(huge.map(({ path }) => path));
  await gitInShadow(shadow, ["update-index", "--force-remove", "-z", "--stdin"], { ...call, stdin });
}
