import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { isPluginId, reservedIds } from "../../ground/config/plugin-ids.ts";
import { type KnownId, similarId } from "../../packages/install/id-policy.ts";
import { findPlugins } from "../../packages/manifest/find-plugins.ts";

/** Places whose plugins and tools have ids already. */
export interface TakenPlaces {
  /** Folder of the host manifest. */
  root: string;
  /** Ids of the tools in the host manifest. */
  tools?: readonly string[] | undefined;
}

/** Ids that are taken, each with what has it. */
export type TakenIds = ReadonlyMap<string, { what: string; folder: string | null }>;

/** Returns the ids of the plugins and tools of a host. */
export async function takenIds({ root, tools = [] }: TakenPlaces): Promise<TakenIds> {
  const found = await findPlugins({ root });
  const taken = new Map<string, { what: string; folder: string | null }>();
  for (const id of tools) taken.set(id, { what: "a tool in bulkhead.yaml", folder: null });
  for (const { id, origin, folder } of found) {
    taken.set(id, { what: `the ${origin === "folder" ? "" : `${origin} `}plugin in ${folder}`, folder });
  }
  return taken;
}

/**
 * The id of a new plugin in a folder. Nothing else may have it, since two plugins with one id would shut each other out,
 * and it may not look like another one.
 * @throws {BulkheadError} `invalid_config`, `already_exists`
 */
export function freeId(id: string, { folder, taken }: { folder: string; taken: TakenIds }): string {
  const hint = `Give it another id: --id ${suggestion(id, taken)}`;
  if (!isPluginId(id)) {
    const words = reservedIds.includes(id) ? "means something else" : "is not lowercase letters, digits and hyphens";
    throw new BulkheadError("invalid_config", `Cannot import ${JSON.stringify(id)}: the id ${words}.`, { hint });
  }
  const other = taken.get(id);
  if (other !== undefined && other.folder !== folder) {
    const message = `Cannot import "${id}": its id is taken by ${other.what}.`;
    throw new BulkheadError("already_exists", message, { hint, details: { id } });
  }
  const near = other === undefined ? similarTo(id, taken) : undefined;
  if (near !== undefined) {
    const message = `Cannot import "${id}": its id looks like "${near.id}", which is ${near.origin}.`;
    throw new BulkheadError("already_exists", message, { hint, details: { id, similar_to: near.id } });
  }
  return id;
}

function similarTo(id: string, taken: TakenIds): KnownId | undefined {
  return similarId(id, [...taken].map(([known, { what }]) => ({ id: known, origin: what })));
}

function suggestion(id: string, taken: TakenIds): string {
  const plain = id.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^[^a-z]+|-+$/g, "").slice(0, 56) || "agent";
  const isFree = (one: string) => !taken.has(one) && similarTo(one, taken) === undefined;
  for (let number = 2;; number++) {
    const one = number === 2 ? `my-${plain}` : `my-${plain}-${number}`;
    if (isFree(one)) return one;
  }
}
