import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { agentPlaces } from "../../ground/platform/places/key-places.ts";
import { type PersonHomes, personHomes } from "../../ground/platform/files/homes.ts";
import { keyPaths } from "../../ground/platform/places/key-paths.ts";

/**
 * Finds the homes that must be kept from an agent.
 * @throws {BulkheadError} `unavailable` where there is none: the host would not know what to hide
 */
export async function homesToHide(): Promise<PersonHomes & { first: string }> {
  const { first, all } = await personHomes();
  if (first !== null) return { first, all };
  throw new BulkheadError("unavailable", "Cannot contain the agent: this user has no home folder to keep from it.", {
    hint: "Set HOME to a folder of this user before you start the host (a service without User= has none).",
  });
}

/** Paths of keys, and of the logins of all agents but these, in a person's homes. */
export function hiddenAtHome(homes: readonly string[], ownTools: readonly string[]): Promise<string[]> {
  const logins = Object.entries(agentPlaces).filter(([tool]) => !ownTools.includes(tool));
  return keyPaths(homes, logins.flatMap(([, places]) => places));
}
