import { Type } from "@sinclair/typebox";
import { readRecord } from "../../ground/checks/read-record.ts";
import { mkdir, rm } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";
import { exactly } from "../../../plugin-sdk/schema.ts";
import type { OpenPaths } from "./claimed-paths.ts";
import type { StoredTurn } from "./store-record.ts";

/** Changed paths of a turn that are not, or not surely, the agent's; `all` for a turn that was cut off. */
export type OpenTurn = OpenPaths | "all";

const schema = exactly<{ unclaimed: string[]; surfaced: string[] }>()(
  Type.Object({ unclaimed: Type.Array(Type.String()), surfaced: Type.Array(Type.String()) }),
);

/** Writes down which paths of a turn are open. @returns whether any are */
export async function writeOpen(folder: string, turn: number, open: OpenTurn): Promise<boolean> {
  if (open === "all") return true;
  if (open.unclaimed.size + open.surfaced.size === 0) return false;
  await mkdir(join(folder, "turns"), { recursive: true, mode: 0o700 });
  const { unclaimed, surfaced } = open;
  await replaceFile(fileOf(folder, turn), JSON.stringify({ unclaimed: [...unclaimed], surfaced: [...surfaced] }));
  return true;
}

/** Reads which paths of a turn are open. Where that cannot be read, all are. */
export async function readOpen(
  folder: string,
  { turn, has_open }: Pick<StoredTurn, "turn" | "has_open">,
): Promise<OpenTurn> {
  if (!has_open) return { unclaimed: new Set(), surfaced: new Set() };
  const read = await readRecord(fileOf(folder, turn), schema);
  return read === null ? "all" : { unclaimed: new Set(read.unclaimed), surfaced: new Set(read.surfaced) };
}

/** Removes what is written down of turns that are no longer kept. */
export async function dropOpen(folder: string, turns: readonly number[]): Promise<void> {
  for (const turn of turns) await rm(fileOf(folder, turn), { force: true });
}

function fileOf(folder: string, turn: number): string {
  return join(folder, "turns", `${turn}.json`);
}
