/**
 * Failures that an acknowledged event survives. `normal`: any end of the host, also a kill; a power loss can take the events of
 * about the last second. `full`: a power loss as well, since no event is acknowledged before the disk has it.
 */
export type JournalSync = (typeof journalSyncs)[number];

/** Every {@link JournalSync}. */
export const journalSyncs = ["full", "normal"] as const;

/** With `full` an event that comes alone, such as a session's first one, waits for the disk: on a busy one 10 ms. */
export const defaultJournalSync: JournalSync = "normal";
