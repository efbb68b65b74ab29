import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { changeManifest } from "../../packages/install/manifest-transaction.ts";
import type { GrantReplacement } from "../../packages/registry/edit-plugin-entry.ts";
import type * as Editor from "../../packages/registry/edit-host-manifest.ts";

/**
 * Adds one grant to a plugin's.
 * @throws {BulkheadError} as {@link writeGrants}
 */
export async function writeGrant(manifest: HostManifest | undefined, grant: Editor.NewGrant): Promise<void> {
  await edit(manifest, ({ addGrant }, { text, file }) => addGrant(text, grant, { file }));
}

/**
 * Writes a plugin's grants into the host manifest's file; null: removes them.
 * @throws {BulkheadError} `unsupported` without such a file, `not_found`, `invalid_config`, `busy`, `io_error`
 */
export async function writeGrants(
  manifest: HostManifest | undefined,
  { pluginId, grant }: { pluginId: string; grant: Permissions | null },
): Promise<void> {
  await edit(manifest, ({ setGrant }, { text, file }) => setGrant(text, { pluginId, grant }, { file }));
}

/**
 * Replaces one grant of a plugin by another, or takes it back.
 * @throws {BulkheadError} as {@link writeGrants}; `conflict` when no grant has that name
 */
export async function writeReplacement(
  manifest: HostManifest | undefined,
  replacement: GrantReplacement,
): Promise<void> {
  const { replaceGrant } = await import("../../packages/registry/edit-plugin-entry.ts");
  await edit(manifest, (_, { text, file }) => replaceGrant(text, replacement, { file }));
}

/** Edits the file. The library of YAML is loaded for the first edit: few daemons make one. */
async function edit(
  manifest: HostManifest | undefined,
  change: (editor: typeof Editor, at: { text: string; file: string }) => string,
): Promise<void> {
  const file = manifest?.file;
  if (file === undefined) {
    throw new BulkheadError("unsupported", "Cannot write grants: the daemon was started without a host manifest.", {
      hint: 'Write one with "bulkhead init", then restart the daemon.',
    });
  }
  const editor = await import("../../packages/registry/edit-host-manifest.ts");
  try {
    await changeManifest(file, async ({ text, writeText }) => {
      const after = change(editor, { text, file });
      if (after !== text) await writeText(after);
    });
  } catch (cause) {
    if (cause instanceof BulkheadError) throw cause;
    throw new BulkheadError("io_error", `Cannot write the host manifest "${file}".`, { cause });
  }
}
