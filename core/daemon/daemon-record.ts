import * as z from "zod";
import { readFile, rm } from "../runtime/files.ts";
import { replaceFile } from "../runtime/replace-file.ts";

/** What a daemon says of itself in its state folder, for whoever looks for it. */
export interface DaemonRecord {
  record: 1;
  pid: number;
  /** As `processStart()` gave it; null where it cannot be told. Guards against a pid used again. */
  start: string | null;
  started_at: string;
  version: string;
  runtime: string;
  /** Base address over TCP, such as `http://127.0.0.1:7717`. */
  address: string;
  /** Path of the unix socket; null where there is none. */
  socket: string | null;
  log_file: string;
  /** Host manifest it was made from; null without one. */
  config_file: string | null;
}

const schema: z.ZodType<DaemonRecord> = z.object({
  record: z.literal(1),
  pid: z.int().min(1),
  start: z.string().nullable(),
  started_at: z.string(),
  version: z.string(),
  runtime: z.string(),
  address: z.string(),
  socket: z.string().nullable(),
  log_file: z.string(),
  config_file: z.string().nullable(),
});

/** Writes it, all or nothing, for this user alone. */
export async function writeDaemonRecord(file: string, record: DaemonRecord): Promise<void> {
  await replaceFile(file, `${JSON.stringify(record)}\n`);
}

/** What stands there; null where there is nothing, `broken` for what no daemon of this version wrote. */
export async function readDaemonRecord(file: string): Promise<DaemonRecord | "broken" | null> {
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return null;
  try {
    const checked = schema.safeParse(JSON.parse(text));
    return checked.success ? checked.data : "broken";
  } catch {
    return "broken";
  }
}

/** Takes it away; it is no matter when there is none. */
export async function removeDaemonRecord(file: string): Promise<void> {
  await rm(file, { force: true });
}
