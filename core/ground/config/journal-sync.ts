/**
 * What an acknowledged event survives. `normal`: any end of the host, also a kill; a power loss can take the events of
 * about the last second. `full`: a power loss as well, since each commit waits for the disk.
 */
export type JournalSync = (typeof journalSyncs)[number];

/** Every {@link JournalSync}. */
export const journalSyncs = ["full", "normal"] as const;

/** A commit that waits for the disk holds up the host's thread, on a slow disk for 20 ms and more. */
export const defaultJournalSync: JournalSync = "normal";
