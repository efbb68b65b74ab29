import type { Journal } from "./journal.ts";
import type { SessionRecord } from "./session-record.ts";

/** Use of a journal by each plugin. */
interface PluginShares {
  /** The session to remove next, which no longer counts from then on; null where none may go. */
  take(): string | null;
}

/** Use by one plugin's sessions. */
interface Use {
  bytes: number;
  /** Its ended sessions, the latest end first. */
  ended: { id: string; bytes: number; last_gseq: number }[];
}

/** Sessions listed at once. */
const pageSize = 200;

/**
 * Measures the use of each plugin's sessions. Each plugin may use the same share of the journal; plugins beyond it, the
 * largest first, lose the sessions that ended first. The other plugins keep theirs, even while a running session keeps
 * the journal over its size.
 */
export async function measureShares(
  journal: Pick<Journal, "bytesOf" | "sessions">,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal | undefined },
): Promise<PluginShares> {
  const uses = new Map<string, Use>();
  let before: SessionRecord | undefined;
  do {
    const page = await journal.sessions({ limit: pageSize, before });
    for (const { session_id: id, adapter_id, state, last_gseq } of page) {
      if (signal?.aborted) break;
      const use = uses.get(adapter_id ?? "") ?? { bytes: 0, ended: [] };
      uses.set(adapter_id ?? "", use);
      const bytes = await journal.bytesOf(id);
      use.bytes += bytes;
      if (state === "ended") use.ended.push({ id, bytes, last_gseq });
    }
    before = page.at(-1);
  } while (before !== undefined && !signal?.aborted);
  for (const { ended } of uses.values()) ended.sort((one, other) => other.last_gseq - one.last_gseq);
  const share = maxBytes / uses.size;
  return {
    take() {
      const largest = [...uses.values()].sort((one, other) => other.bytes - one.bytes);
      const beyond = largest.filter(({ bytes }) => bytes > share);
      // The journal's own tables need space as well, so it may be too large with no plugin beyond its share.
      const from = (beyond.length > 0 ? beyond : largest).find(({ ended }) => ended.length > 0);
      const session = from?.ended.pop();
      if (from === undefined || session === undefined) return null;
      from.bytes -= session.bytes;
      return session.id;
    },
  };
}
