import { Type } from "@sinclair/typebox";
import { parseRecord } from "../../../ground/checks/read-record.ts";
import { closed, exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import { readFile } from "../../../ground/platform/files/files.ts";
import { swapFile } from "../../../ground/platform/files/replace-file.ts";
import { join } from "../../../ground/platform/files/paths.ts";

/** One repository for which a session has a private git folder, as the host wrote it down before the agent began. */
export interface PrivateRepository {
  /** Name of its folder beside the record. */
  name: string;
  top: string;
  git_dir: string;
  common_dir: string;
  object_format: string;
  /** Text of HEAD as it was. */
  head: string;
  /** Path of the session's folder below the top, with `/` at its end; empty for the top itself. */
  prefix: string;
  /** Whether commits may lack objects that a remote has. */
  is_partial: boolean;
  /** Folders of objects that are borrowed, the repository's own first. */
  borrowed: string[];
  /** Paths of its pointers to other repositories. */
  pointers: string[];
  /** Path of a submodule below its repository's top; empty for the repository itself. */
  below: string;
}

/** Record of a session's private git folders. */
export interface PrivateRecord {
  session_id: string;
  /** Whether the session has a worktree of its own: then no branch of the repository is moved. */
  is_worktree: boolean;
  repositories: PrivateRepository[];
  /** Places over which an empty folder of the session's own stands. */
  empty: string[];
  /** Empty folders that were made for mounts. */
  kept: string[];
}

const path = Type.String({ minLength: 1, maxLength: 16_384 });
const text = Type.String({ maxLength: 16_384 });

const schema: SchemaOf<PrivateRecord> = exactly<PrivateRecord>()(Type.Object({
  session_id: Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" }),
  is_worktree: Type.Boolean(),
  repositories: Type.Array(Type.Object({
    name: Type.String({ pattern: "^[a-z0-9-]{1,64}$" }),
    top: path,
    git_dir: path,
    common_dir: path,
    object_format: Type.String({ pattern: "^sha(1|256)$" }),
    head: text,
    prefix: text,
    is_partial: Type.Boolean(),
    borrowed: Type.Array(path),
    pointers: Type.Array(text),
    below: text,
  }, closed)),
  empty: Type.Array(path),
  kept: Type.Array(path),
}, closed));

const fileName = "record.json";

/** Writes the record into the session's folder. It must outlive the host's process, not the machine: nothing is synced. */
export async function writePrivateRecord(folder: string, record: PrivateRecord): Promise<void> {
  await swapFile(join(folder, fileName), JSON.stringify(record));
}

/** Reads the record of a session's folder; null where it was never written whole. */
export async function readPrivateRecord(folder: string): Promise<PrivateRecord | null> {
  return parseRecord(await readFile(join(folder, fileName), "utf8").catch(() => ""), schema);
}
