import { Type } from "@sinclair/typebox";
import { closed, exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import { lazyCheck, parseChecked } from "../../ground/checks/lazy-check.ts";
import { rm } from "../../ground/platform/files/files.ts";
import { readPlainText } from "../../ground/platform/files/read-plain-file.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";

/** How far the events of a journal were sent. */
export interface ExportPosition {
  /** Number of the last event that was sent or dropped. */
  exported: number;
  /** Number before the first event of the oldest session that was open then: its spans are made of all its events. */
  from: number;
  /** Events that were dropped and are not in the log yet. */
  dropped: number;
}

const number = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Checks an {@link ExportPosition} read from its file. */
const exportPositionSchema: SchemaOf<ExportPosition> = exactly<ExportPosition>()(
  Type.Object({ exported: number, from: number, dropped: number }, closed),
);
const check = lazyCheck(exportPositionSchema);

/** Reads the position; null where there is none that can be read: then the export begins with what comes. */
export async function readPosition(file: string): Promise<ExportPosition | null> {
  return parseChecked(await readPlainText(file, 4096) ?? "", check);
}

/** Writes the position. It is made again where it is lost, so a failure is none of the export. */
export async function writePosition(file: string, position: ExportPosition): Promise<void> {
  await replaceFile(file, JSON.stringify(position)).catch(() => {});
}

/** Forgets the position: the export was turned off. */
export async function removePosition(file: string): Promise<void> {
  await rm(file, { force: true }).catch(() => {});
}
