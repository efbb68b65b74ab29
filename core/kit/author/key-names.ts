import { defaultLimits } from "../../ground/config/limits.ts";
import { readTextFile } from "../../ground/config/read-text-file.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { ownPluginsDir } from "../../packages/manifest/find-plugins.ts";
import { readManifest } from "../../packages/manifest/read-manifest.ts";
import { everRequested } from "../../packages/permissions/requested-permissions.ts";

/** Names of the variables from which a program reads its key, as far as they are known. */
export type KeyNames = (program: string) => readonly string[];

/** Reads which program takes its key from which variables, as the host's own adapter for the protocol asks. */
export async function readKeyNames(): Promise<KeyNames> {
  const folder = join(ownPluginsDir, "acp");
  const [manifest, others] = await Promise.all([
    readManifest(folder).catch(() => null),
    readOthers(join(folder, "key-names.json")).catch(() => new Map<string, string[]>()),
  ]);
  const { run = [] } = manifest === null ? {} : everRequested(manifest);
  return (program) => {
    const asked = run.filter(({ binary }) => binary === program).flatMap(({ env = [] }) => env);
    return [...new Set([...asked, ...others.get(program) ?? []])];
  };
}

async function readOthers(file: string): Promise<ReadonlyMap<string, string[]>> {
  const text = await readTextFile(file, { maxBytes: defaultLimits.manifest_bytes, code: "invalid_config" });
  return new Map(Object.entries(JSON.parse(text) as Record<string, string[]>));
}
