import { Type } from "@sinclair/typebox";
import { parseRecord } from "../../ground/checks/read-record.ts";
import { closed, exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import { absent } from "../../ground/errors/write-fault.ts";
import { readdir, readFile } from "../../ground/platform/files/files.ts";
import { swapFile } from "../../ground/platform/files/replace-file.ts";
import { basename, join } from "../../ground/platform/files/paths.ts";
import type { CountedSpan } from "./rolling-counts.ts";

/** Counts of one host for one access mode of one adapter. */
export interface UseRecord {
  adapter_id: string;
  /** Key of the mode, as `accessModeKey()` returns it. */
  access_mode: string;
  spans: CountedSpan[];
  /** Milliseconds since 1970; null when no limit was reported. */
  limited_until: number | null;
}

/** Content of one host's file. */
interface UseRecords {
  v: 1;
  uses: UseRecord[];
}

const count = Type.Number({ minimum: 0 });
/** Milliseconds since 1970, as far as a `Date` goes. */
const time = Type.Number({ minimum: 0, maximum: 8.64e15 });
const span = Type.Number({ minimum: 0, maximum: 24 * 3600 * 1000 });

/** Checks {@link UseRecords} as they were written to their file. */
export const useRecordsSchema: SchemaOf<UseRecords> = exactly<UseRecords>()(
  Type.Object({
    v: Type.Literal(1),
    uses: Type.Array(
      Type.Object({
        adapter_id: Type.String({ maxLength: 64 }),
        access_mode: Type.String({ maxLength: 512 }),
        spans: Type.Array(
          Type.Object({ at: time, width_ms: span, requests: count, tokens: count }, closed),
          { maxItems: 1024 },
        ),
        limited_until: Type.Union([time, Type.Null()]),
      }, closed),
      { maxItems: 4096 },
    ),
  }, closed),
);

/** Keeps counts over restarts, and shares them among the hosts of one state folder. */
export interface UseStore {
  /** Returns the earlier counts in this host's part of the state. */
  readOwn(): Promise<UseRecord[]>;
  readOthers(): Promise<UseRecord[]>;
  /** Replaces the records that {@link readOwn} returns, in one step. */
  write(uses: readonly UseRecord[]): Promise<void>;
}

/** Parses records that a host has written; null where the text is anything else. */
export function parseUses(text: string): UseRecord[] | null {
  return parseRecord(text, useRecordsSchema)?.uses ?? null;
}

/** Formats records for {@link parseUses}. */
export function usesText(uses: readonly UseRecord[]): string {
  return JSON.stringify({ v: 1, uses: [...uses] } satisfies UseRecords);
}

const fileName = "access-modes.json";

/**
 * Opens a file in each host's part of the state folder. Each host writes only its own and reads all, so no host waits
 * for a lock or overwrites another's counts.
 */
export function openUseFiles({ root, folder }: { root: string; folder: string }): UseStore {
  return {
    readOwn: () => read(join(folder, fileName)),
    readOthers: async () => {
      const parts = (await readdir(root).catch(absent) ?? []).filter((name) => /^host-\d+$/.test(name));
      const others = parts.filter((name) => name !== basename(folder));
      return (await Promise.all(others.map((name) => read(join(root, name, fileName))))).flat();
    },
    write: (uses) => swapFile(join(folder, fileName), usesText(uses)),
  };
}

/** Reads a file; a missing or half-written file counts as empty. */
async function read(file: string): Promise<UseRecord[]> {
  return parseUses(await readFile(file, "utf8").catch(absent) ?? "") ?? [];
}
