import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { realpath, stat } from "../../ground/platform/files/files.ts";
import { basename, isAbsolute, isInside, join, resolve } from "../../ground/platform/files/paths.ts";
import { platform } from "../../ground/platform/engine/platform.ts";
import { runtimeCommand } from "../../ground/platform/processes/own-command.ts";
import type { BinaryPin } from "../../../plugin-sdk/plugin-report.ts";
import type { BinaryPins } from "./binary-pins.ts";
import { pathEntries, searchPath } from "./child-env.ts";
import { isUpgrade } from "./is-upgrade.ts";

/** A program that was found. */
export interface ResolvedBinary {
  /** Program to start, with links unresolved, because some programs look at the name they are called by. */
  file: string;
  /** The file after resolving links. */
  real: string;
  /** Arguments before the adapter's own. */
  prefix: string[];
}

/** Options of {@link resolveBinary}. All paths are real and absolute. */
interface ResolveBinaryOptions {
  workdir: string;
  pluginDir: string;
  /** Paths that the adapter or its session may write: it could have made a program there itself. */
  writable: readonly string[];
  /** Pins of programs; absent: each one is searched every time. */
  pins?: BinaryPins | undefined;
  /** How to install programs, by name, as the plugin's manifest has it. */
  install?: Readonly<Record<string, string>> | undefined;
  /** Makes the error for a denied program. */
  refuse(refusal: BinaryRefusal): Error;
  /** Called when a newer version of a pinned program takes its place. */
  onUpgrade?(upgrade: { from: BinaryPin; to: BinaryPin }): void;
}

/** Reason why a program that was found is denied. */
interface BinaryRefusal {
  binary: string;
  /** Half a sentence. */
  because: string;
  /** For a program that differs from its pin: the current one. A new grant accepts it. */
  change: { pin: BinaryPin; now: { path: string; real: string } } | null;
}

/**
 * Finds the program of a run permission: `@runtime`, `./path` in the plugin's folder, an absolute path, or a name on
 * the host's PATH, but never one in a place where the session works or may write. Pins the program: later it is started
 * from the same path, without another search, as long as the same file is behind it.
 *
 * @throws {BulkheadError} `binary_missing`, `unsupported`, `io_error`, and the error of `refuse`: outside the plugin's
 * folder, where the session may write, or different from its pin
 */
export async function resolveBinary(binary: string, options: ResolveBinaryOptions): Promise<ResolvedBinary> {
  if (binary === "@runtime") {
    const { file, prefix } = runtimeCommand();
    return { file, real: file, prefix };
  }
  const found = await (binary.startsWith("./") ? findOwn(binary, options) : findPinned(binary, options));
  // Windows runs these through a command shell, which parses the arguments again.
  if (platform === "win32" && /\.(bat|cmd)$/i.test(basename(found.real))) {
    throw new BulkheadError("unsupported", `Cannot run "${binary}": batch files cannot be given arguments safely.`);
  }
  return { ...found, prefix: [] };
}

/**
 * Finds a program's current location, as a pin.
 * @throws {BulkheadError} `binary_missing`, and the error of `refuse`
 */
export async function newPin(binary: string, options: SearchOptions): Promise<BinaryPin> {
  const { file, real } = await search(binary, options);
  return pinOf(binary, { path: file, real });
}

/** True when programs of this name are pinned: not those of the plugin's package or of the host itself. */
export function isPinned(binary: string): boolean {
  return binary !== "@runtime" && !binary.startsWith("./");
}

type SearchOptions = Pick<ResolveBinaryOptions, "workdir" | "writable" | "refuse" | "install">;

interface Found {
  file: string;
  real: string;
}

async function findOwn(binary: string, options: ResolveBinaryOptions): Promise<Found> {
  const { pluginDir, refuse } = options;
  const found = await executable(resolve(pluginDir, binary));
  if (found === null) throw missing(binary, options);
  if (!isInside(pluginDir, found.real)) {
    throw refuse({ binary, because: "it leads out of the plugin's folder", change: null });
  }
  return { file: found.real, real: found.real };
}

async function findPinned(binary: string, options: ResolveBinaryOptions): Promise<Found> {
  const { pins, writable, refuse, onUpgrade } = options;
  const pin = await pins?.read(binary) ?? null;
  if (pin === null) {
    const found = await search(binary, options);
    await pins?.write(await pinOf(binary, { path: found.file, real: found.real }));
    return found;
  }
  const found = await executable(pin.path);
  if (found === null) {
    const { file: path, real } = await search(binary, options);
    throw refuse(changed(pin, { path, real }));
  }
  if (isWritable(found, writable)) throw refuse(selfMade(binary));
  if (found.real === pin.real) return found;
  if (!(await isUpgrade(pin, found.real))) throw refuse(changed(pin, { path: pin.path, real: found.real }));
  const to = await pinOf(binary, { path: pin.path, real: found.real });
  await pins?.write(to);
  onUpgrade?.({ from: pin, to });
  return found;
}

async function search(binary: string, options: SearchOptions): Promise<Found> {
  const { workdir, writable, refuse } = options;
  if (isAbsolute(binary)) {
    const found = await executable(binary);
    if (found === null) throw missing(binary, options);
    if (isWritable(found, writable)) throw refuse(selfMade(binary));
    return found;
  }
  if (!/^[A-Za-z0-9_][\w.+-]*$/.test(binary)) throw missing(binary, options);
  for (const folder of searchPath(workdir)) {
    const found = await executable(join(folder, binary));
    if (found === null || isInside(workdir, found.real)) continue;
    // Skipped, as if it were missing: the next match may be the intended one.
    if (!isWritable(found, writable)) return found;
  }
  throw await skippedOn(binary, options) ?? missing(binary, options);
}

/** Makes the error for a program of PATH that stands where none is started from; null where PATH has none either. */
async function skippedOn(binary: string, { workdir, writable }: SearchOptions): Promise<BulkheadError | null> {
  for (const folder of pathEntries()) {
    const found = await executable(join(folder, binary));
    if (found === null) continue;
    const { file, real } = found;
    const where = [file, real].some((path) => isInside(workdir, path)) ? "lies in the working directory" : null;
    const why = where ?? (isWritable(found, writable) ? "lies where the session may write" : null);
    if (why === null) continue;
    return new BulkheadError("binary_missing", `Cannot run "${binary}": "${file}" ${why}.`, {
      hint: "No program is started from there, since an agent could have made it. Put it in another folder of PATH.",
      details: { binary },
    });
  }
  return null;
}

async function executable(file: string): Promise<Found | null> {
  try {
    const [real, info] = await Promise.all([realpath(file), stat(file)]);
    // Not `access()`: on Deno it needs the permission to read the user id, and its failure cannot be caught.
    return info.isFile() && (platform === "win32" || (info.mode & 0o111) !== 0) ? { file, real } : null;
  } catch {
    return null;
  }
}

async function pinOf(binary: string, { path, real }: { path: string; real: string }): Promise<BinaryPin> {
  const owner = await stat(real).then(({ uid }) => uid, () => -1);
  return { binary, path, real, owner, pinned_at: new Date().toISOString() };
}

function isWritable({ file, real }: Found, writable: readonly string[]): boolean {
  return [file, real].some((path) => writable.some((root) => isInside(root, path)));
}

function changed(pin: BinaryPin, now: { path: string; real: string }): BinaryRefusal {
  const place = (path: string, real: string) => (path === real ? path : `${path} (${real})`);
  const because = `it was ${place(pin.path, pin.real)} when it was pinned, and is ${place(now.path, now.real)} now`;
  return { binary: pin.binary, because, change: { pin, now } };
}

function selfMade(binary: string): BinaryRefusal {
  const because = "it stands where the session works or may write, so it may be a program of the plugin's own making";
  return { binary, because, change: null };
}

function missing(binary: string, { install = {} }: Pick<ResolveBinaryOptions, "install">): BulkheadError {
  const how = Object.hasOwn(install, binary) ? install[binary] : undefined;
  return new BulkheadError("binary_missing", `Cannot run "${binary}": no such program was found on this machine.`, {
    hint: how === undefined ? undefined : `Install it, as its plugin says: ${how}`,
    details: { binary },
  });
}
