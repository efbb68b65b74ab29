import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { Permissions } from "../../plugin-sdk/permissions.ts";
import type { HostManifest } from "../config/host-manifest.ts";
import { replaceGrant } from "../registry/edit-host-manifest.ts";
import { chmod, readFile, realpath, stat } from "../runtime/files.ts";
import { replaceFile } from "../runtime/replace-file.ts";

/**
 * Writes a plugin's grants into the file that the host manifest came from; null: none.
 * @throws {BulkheadError} `unsupported` without such a file, `not_found`, `invalid_config`, `io_error`
 */
export async function writeGrants(
  manifest: HostManifest | undefined,
  { pluginId, grant }: { pluginId: string; grant: Permissions | null },
): Promise<void> {
  const file = manifest?.file;
  if (file === undefined) {
    throw new BulkheadError("unsupported", "Cannot write grants: the daemon was started without a host manifest.", {
      hint: 'Write one with "bulkhead init", then restart the daemon.',
    });
  }
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new BulkheadError("io_error", `Cannot read the host manifest "${file}".`, { cause });
  });
  const after = replaceGrant(text, { pluginId, grant }, { file });
  try {
    // A link to the file stays one.
    const real = await realpath(file);
    const { mode } = await stat(real);
    await replaceFile(real, after);
    await chmod(real, mode & 0o777);
  } catch (cause) {
    throw new BulkheadError("io_error", `Cannot write the host manifest "${file}".`, { cause });
  }
}
