import type { ToolKind } from "bulkhead/plugin-sdk";

const kinds: Readonly<Record<string, ToolKind>> = {
  Read: "read",
  NotebookRead: "read",
  ListMcpResources: "read",
  ReadMcpResource: "read",
  BashOutput: "read",
  TaskOutput: "read",
  Glob: "search",
  Grep: "search",
  LS: "search",
  ToolSearch: "search",
  WebFetch: "fetch",
  WebSearch: "fetch",
  web_search: "fetch",
  web_fetch: "fetch",
  Edit: "edit",
  MultiEdit: "edit",
  Write: "edit",
  NotebookEdit: "edit",
  Bash: "execute",
  KillShell: "execute",
  Monitor: "execute",
  TodoWrite: "think",
  TaskCreate: "think",
  TaskGet: "think",
  TaskList: "think",
  TaskUpdate: "think",
};

/** Family of a tool of the program; what it does not list, a server's tools too, is `other`. */
export function kindOfTool(tool: string): ToolKind {
  return Object.hasOwn(kinds, tool) ? kinds[tool] ?? "other" : "other";
}

/** Tools of these families. */
export function knownTools(families: readonly ToolKind[]): string[] {
  return Object.keys(kinds).filter((tool) => families.includes(kindOfTool(tool)));
}

/**
 * The value of `--tools` that leaves only the allowed tools there: some of the program's tools never ask, so answering
 * its requests is not enough. A name with `*` stands for those known here; those of servers are not chosen by it.
 */
export function toolsOption(allowed: readonly string[] | undefined): string {
  if (allowed === undefined || allowed.includes("*")) return "default";
  const names = allowed.flatMap((name) => {
    if (name.startsWith("mcp__")) return [];
    return name.includes("*") ? Object.keys(kinds).filter((known) => fits(known, name)) : [name];
  });
  return [...new Set(names)].join(",");
}

function fits(name: string, pattern: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop() ?? "";
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > name.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}
