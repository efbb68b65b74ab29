import { BulkheadError } from "../../plugin-sdk/errors.ts";
import { realpath, stat } from "../runtime/files.ts";
import { basename, isAbsolute, join, resolve } from "../runtime/paths.ts";
import { platform } from "../runtime/platform.ts";
import { runtimeCommand } from "../runtime/runtime-command.ts";
import { searchPath } from "./child-env.ts";
import { isInside } from "./contain-path.ts";

/** A program that was found. */
export interface ResolvedBinary {
  /** What to start; some programs look at the name they are called by, so links are not followed here. */
  file: string;
  /** The file behind it. */
  real: string;
  /** Arguments before the adapter's own. */
  prefix: string[];
}

/** Where to look. Real absolute paths. */
export interface ResolveBinaryOptions {
  workdir: string;
  pluginDir: string;
  /** Roots that the adapter may write to: a program there could be one it has written itself. */
  writable: readonly string[];
}

/**
 * Finds the program of a run permission: `@runtime`, `./path` in the plugin's folder, an absolute path, or a name on
 * the host's PATH, but never one that stands in the working directory, nor where the adapter may write.
 *
 * @throws {BulkheadError} `binary_missing`, `permission_denied` (outside the plugin's folder, in a folder that the
 * adapter may write to), `unsupported`
 */
export async function resolveBinary(binary: string, options: ResolveBinaryOptions): Promise<ResolvedBinary> {
  if (binary === "@runtime") {
    const { file, prefix } = runtimeCommand();
    return { file, real: file, prefix };
  }
  const found = await find(binary, options);
  // Windows runs these through a command shell, which reads the arguments anew.
  if (platform === "win32" && /\.(bat|cmd)$/i.test(basename(found.real))) {
    throw new BulkheadError("unsupported", `Cannot run "${binary}": batch files cannot be given arguments safely.`);
  }
  return { ...found, prefix: [] };
}

async function find(binary: string, { workdir, pluginDir, writable }: ResolveBinaryOptions) {
  if (binary.startsWith("./")) {
    const found = await executable(resolve(pluginDir, binary));
    if (found === null) throw missing(binary);
    if (!isInside(pluginDir, found.real)) {
      throw new BulkheadError("permission_denied", `Cannot run "${binary}": it leads out of the plugin's folder.`, {
        details: { permission: "run", target: binary },
      });
    }
    return { file: found.real, real: found.real };
  }
  if (isAbsolute(binary)) {
    const found = await executable(binary);
    if (found === null) throw missing(binary);
    if ([binary, found.real].some((path) => writable.some((root) => isInside(root, path)))) throw selfMade(binary);
    return found;
  }
  if (!/^[A-Za-z0-9_][\w.+-]*$/.test(binary)) throw missing(binary);
  for (const folder of searchPath(workdir)) {
    const found = await executable(join(folder, binary));
    if (found === null || isInside(workdir, found.real)) continue;
    // Passed over, as if it were not there: the next one may be the one that was meant.
    if (![found.file, found.real].some((path) => writable.some((root) => isInside(root, path)))) return found;
  }
  throw missing(binary);
}

async function executable(file: string): Promise<{ file: string; real: string } | null> {
  try {
    const real = await realpath(file);
    const info = await stat(real);
    // Not `access()`: on Deno it asks for the right to know the user's id, and fails where nobody can catch it.
    return info.isFile() && (platform === "win32" || (info.mode & 0o111) !== 0) ? { file, real } : null;
  } catch {
    return null;
  }
}

function selfMade(binary: string): BulkheadError {
  return new BulkheadError(
    "permission_denied",
    `Cannot run "${binary}": it stands where the plugin may write, so it may be a program of the plugin's own making.`,
    {
      hint: "Grant a program that stands elsewhere, or take the write permission away.",
      details: { permission: "run", target: binary },
    },
  );
}

function missing(binary: string): BulkheadError {
  return new BulkheadError("binary_missing", `Cannot run "${binary}": no such program was found on this machine.`, {
    details: { binary },
  });
}
