/** Families of tools, with the names of tool kinds in the Agent Client Protocol. */
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
