import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type StateJournal, stateJournals } from "../../sessions/host/state/state-journals.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import type { ChainPlace } from "../../records/journal/chain.ts";
import type { Invocation } from "./command.ts";
import { findState } from "./open-host.ts";

interface FoundJournals {
  stateDir: string;
  journals: StateJournal[];
  manifest: HostManifest | undefined;
}

/**
 * Finds the journals of the state folder that a host started here would use.
 * @throws {BulkheadError} `invalid_config`, `not_found` where there is none
 */
export async function findJournals(call: Invocation): Promise<FoundJournals> {
  const { stateDir, manifest } = await findState(call);
  const journals = await stateJournals(stateDir);
  if (journals.length > 0) return { stateDir, journals, manifest };
  throw new BulkheadError("not_found", `There is no journal in the state folder "${stateDir}".`, {
    hint: "It is made with the first session; name another folder with --state-dir.",
  });
}

/** Formats a chain's end as one word: the journal's part, the link's number, and its code. */
export function headText(part: number, { number, mac }: ChainPlace): string {
  return `${part}:${number}:${mac}`;
}

/**
 * Reads the word that `headText` wrote.
 * @throws {BulkheadError} `invalid_config`
 */
export function readHead(text: string): ChainPlace & { part: number } {
  const [, part, number, mac] = /^(\d{1,2}):(\d{1,15}):([0-9a-f]{64})$/.exec(text.trim()) ?? [];
  if (mac !== undefined) return { part: Number(part), number: Number(number), mac };
  throw new BulkheadError("invalid_config", `"${text}" is no head of a journal.`, {
    hint: 'It looks like 1:42:9f86… with 64 digits at its end, as "bulkhead journal verify" prints it.',
  });
}
