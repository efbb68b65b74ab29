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

/** Fields of a tool's input that name its file. */
export const pathFields = [
  "path",
  "file_path",
  "filePath",
  "file",
  "filename",
  "absolute_path",
  "notebook_path",
] as const;

/** A member of {@link toolKinds}. */
export type ToolKind = (typeof toolKinds)[number];
