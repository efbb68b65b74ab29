import type { HostManifest } from "./host-manifest.ts";
import type { Limits } from "./limits.ts";

/** Bytes that a journal may fill where the host manifest does not say: 1 GiB. */
export const defaultJournalBytes: number = 1024 ** 3;

/** Most bytes of all events of one session: half of the journal. */
export function mostEventBytes(journal: HostManifest["journal"]): number {
  return Math.floor((journal?.max_bytes ?? defaultJournalBytes) / 2);
}

/** The limits, with a session's bytes held to what the journal may fill. */
export function withinJournal(limits: Limits, journal: HostManifest["journal"]): Limits {
  return { ...limits, event_bytes_total: Math.min(limits.event_bytes_total, mostEventBytes(journal)) };
}
