import { Type } from "@sinclair/typebox";
import { parseRecord } from "../../ground/checks/read-record.ts";
import { exactly } from "../../../plugin-sdk/schema.ts";
import { absent } from "../../ground/errors/write-fault.ts";
import { readFile, rm } from "../../ground/platform/files/files.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";

/** A daemon's address and process, kept in its state folder for programs that look for it. */
export interface DaemonRecord {
  record: 1;
  pid: number;
  /** From `processStart()`; null where unknown. Guards against a reused pid. */
  start: string | null;
  started_at: string;
  version: string;
  runtime: string;
  /** Base address over TCP, for example `http://127.0.0.1:7717`. */
  address: string;
  /** Path of the unix socket; null where there is none. */
  socket: string | null;
  /** Holds the token with which this user may do everything. */
  token_file: string;
  log_file: string;
  /** Host manifest that the daemon started with; null without one. */
  config_file: string | null;
  /** RFC 3339, UTC: a person killed it then with "stop --now". */
  killed_at?: string;
}

const text = Type.String();
const orNull = Type.Union([Type.String(), Type.Null()]);

const schema = exactly<DaemonRecord>()(Type.Object({
  record: Type.Literal(1),
  pid: Type.Integer({ minimum: 1 }),
  start: orNull,
  started_at: text,
  version: text,
  runtime: text,
  address: text,
  socket: orNull,
  token_file: text,
  log_file: text,
  config_file: orNull,
  killed_at: Type.Optional(text),
}));

/** Writes the record atomically, readable for this user only. */
export async function writeDaemonRecord(file: string, record: DaemonRecord): Promise<void> {
  await replaceFile(file, `${JSON.stringify(record)}\n`);
}

/** Reads the record; null where there is none, `broken` for one that no daemon of this version wrote. */
export async function readDaemonRecord(file: string): Promise<DaemonRecord | "broken" | null> {
  const text = await readFile(file, "utf8").catch(absent);
  return text === null ? null : parseRecord(text, schema) ?? "broken";
}

/** Removes the record; a missing one is no error. */
export async function removeDaemonRecord(file: string): Promise<void> {
  await rm(file, { force: true });
}
