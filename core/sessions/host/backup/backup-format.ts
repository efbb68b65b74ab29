import { parseJson } from "../../../../plugin-sdk/json-fields.ts";
import { Type } from "@sinclair/typebox";
import { Check } from "@sinclair/typebox/value";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { closed } from "../../../../plugin-sdk/schema.ts";
import { readTextFile } from "../../../ground/config/read-text-file.ts";
import { dirname, join } from "../../../ground/platform/files/paths.ts";
import { installedFolder, lockFileOf } from "../../../packages/manifest/plugin-lock.ts";

/** Places of an installation: absolute paths. */
export interface Installation {
  stateDir: string;
  /** Undefined where the host has none. */
  manifestFile: string | undefined;
  secretsFile: string;
  /** Variables that name the folder of installed packages; default: this process's. */
  env?: Readonly<Record<string, string | undefined>>;
}

/** One file of a backup. */
export interface BackedUpFile {
  /** Its path in the backup, which begins with a key of {@link partsOf}. */
  name: string;
  bytes: number;
  sha256: string;
}

/** Content of `backup.json`, which is written last: a backup that has it is whole. */
export interface BackupIndex {
  bulkhead_backup: 1;
  made_at: string;
  /** Version and build of the host that made it. */
  version: string;
  files: BackedUpFile[];
}

/** Name of the file that lists the others. */
export const indexName = "backup.json";

const fileSchema = Type.Object({
  name: Type.String({ pattern: "^(state|config|installed|secrets)(/[^/\\\\\\u0000]+)+$", maxLength: 4096 }),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
}, closed);

const indexSchema = Type.Object({
  bulkhead_backup: Type.Literal(1),
  made_at: Type.String({ maxLength: 64 }),
  version: Type.String({ maxLength: 256 }),
  files: Type.Array(fileSchema, { maxItems: 1_000_000 }),
}, closed);

/** The folder that each first name of a path in a backup stands for; null where this installation has no place for it. */
export async function partsOf(
  { stateDir, manifestFile, secretsFile, env }: Installation,
): Promise<Readonly<Record<string, string | null>>> {
  return {
    state: stateDir,
    config: manifestFile === undefined ? null : dirname(manifestFile),
    installed: manifestFile === undefined ? null : await installedFolder(manifestFile, env),
    secrets: dirname(secretsFile),
  };
}

/** The files of a host manifest, by their names in a backup; the manifest may have any name here. */
export function configFiles(manifestFile: string): Readonly<Record<string, string>> {
  return { "config/bulkhead.yaml": manifestFile, "config/bulkhead.lock": lockFileOf(manifestFile) };
}

/**
 * Reads the list of a backup.
 * @throws {BulkheadError} `not_found`, `invalid_config` for what is no whole backup, or one of a newer version
 */
export async function readBackupIndex(folder: string): Promise<BackupIndex> {
  const file = join(folder, indexName);
  const text = await readTextFile(file, { maxBytes: 256 * 1024 * 1024, code: "invalid_config" }).catch(
    (error: unknown) => {
      if (!(error instanceof BulkheadError) || error.code !== "not_found") throw error;
      throw new BulkheadError("not_found", `There is no whole backup in "${folder}": it has no ${indexName}.`, {
        hint: 'Name a folder that "bulkhead backup" made to its end.',
      });
    },
  );
  const index = parseJson(text);
  const isSafe = (name: string) => name.split("/").every((part) => part !== ".." && part !== ".");
  if (Check(indexSchema, index) && index.files.every(({ name }) => isSafe(name))) return index;
  throw new BulkheadError(
    "invalid_config",
    `Cannot read "${file}": it is not the list of a backup that this host knows.`,
    {
      hint: "Use the version of Bulkhead that made it.",
    },
  );
}
