/** Families of tools, with the names that the Agent Client Protocol gives to tool kinds. */
export const toolKinds = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "other",
] as const;

/** A member of {@link toolKinds}. */
export type ToolKind = (typeof toolKinds)[number];
