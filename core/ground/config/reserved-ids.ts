/** Names that mean something else where a plugin's id may stand. */
export const reservedIds: readonly string[] = [
  "all",
  "any",
  "auto",
  "bulkhead",
  "constructor",
  "default",
  "host",
  "none",
  "prototype",
];
