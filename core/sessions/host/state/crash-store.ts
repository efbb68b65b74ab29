import { Type } from "@sinclair/typebox";
import { lazyCheck, parseChecked } from "../../../ground/checks/lazy-check.ts";
import { type ErrorCode, errorCodes } from "../../../../plugin-sdk/errors.ts";
import { closed, exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import type { CrashRecord } from "../../../../plugin-sdk/plugin-report.ts";
import type { CrashStore } from "../../../walls/pool/plugin-health.ts";
import { absent, nullIfMissing } from "../../../ground/errors/write-fault.ts";
import { mkdir, readdir, readFile, rm } from "../../../ground/platform/files/files.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { replaceFile } from "../../../ground/platform/files/replace-file.ts";

const time = Type.String({ maxLength: 64 });
const codes = Object.keys(errorCodes) as ErrorCode[];

/** Checks a {@link CrashRecord} read from its file. */
export const crashRecordSchema: SchemaOf<CrashRecord> = exactly<CrashRecord>()(
  Type.Object({
    plugin_id: Type.String({ maxLength: 64 }),
    crashes: Type.Array(
      Type.Object({
        at: time,
        code: Type.Unsafe<ErrorCode>(Type.Union(codes.map((code) => Type.Literal(code)))),
        message: Type.String(),
      }, closed),
    ),
    quarantined_at: Type.Union([time, Type.Null()]),
  }, closed),
);
const check = lazyCheck(crashRecordSchema);

/** The crash records of all plugins, one file each, in a folder that all hosts of one state folder share. */
export interface CrashFiles extends CrashStore {
  /** Returns the plugins in quarantine, by id. */
  quarantined(): Promise<CrashRecord[]>;
  /** Forgets a plugin's crashes; false when there were none. */
  remove(pluginId: string): Promise<boolean>;
}

/** Opens the folder; creates nothing before a plugin crashes. */
export function openCrashFiles(folder: string): CrashFiles {
  const fileOf = (pluginId: string): string => join(folder, `${encodeURIComponent(pluginId)}.json`);

  return { read, write, quarantined, remove };

  async function read(pluginId: string): Promise<CrashRecord | null> {
    // A half-written file counts as empty.
    return parseChecked(await readFile(fileOf(pluginId), "utf8").catch(nullIfMissing) ?? "", check);
  }

  async function write(record: CrashRecord): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await replaceFile(fileOf(record.plugin_id), JSON.stringify(record));
  }

  async function quarantined(): Promise<CrashRecord[]> {
    const names = await readdir(folder).catch(absent) ?? [];
    const ids = names.filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -".json".length)).sort();
    const records = await Promise.all(ids.map((id) => read(id).catch(absent)));
    return records.filter((record) => record !== null && record.quarantined_at !== null) as CrashRecord[];
  }

  async function remove(pluginId: string): Promise<boolean> {
    const known = await read(pluginId).catch(() => null);
    await rm(fileOf(pluginId), { force: true });
    return known !== null;
  }
}
