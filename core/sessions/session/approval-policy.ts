import type { PermissionOption, PermissionRequestEvent } from "../../../plugin-sdk/events.ts";
import type { Approval, ToolApproval } from "../../../plugin-sdk/request.ts";
import type { ToolKind } from "../../../plugin-sdk/tool-kinds.ts";

/** Rules that decide an agent's permission requests before a client is asked. */
export interface ApprovalRules {
  approval: Approval;
  allowed_tools?: readonly string[] | undefined;
  tool_approvals?: Readonly<Record<string, ToolApproval>> | undefined;
}

const reading: readonly ToolKind[] = ["read", "search", "think", "fetch"];
const editing: readonly ToolKind[] = [...reading, "edit", "delete", "move"];

/**
 * Returns the id of the option that policy chooses; null leaves the request to a client. The rule for the tool comes
 * first, then the list of allowed tools, which nothing widens, then the approval, which depends on the kind of the
 * tool.
 * @param kind kind of the tool call of the request; null when the agent names none
 */
export function policyAnswer(
  event: PermissionRequestEvent,
  rules: ApprovalRules,
  kind: ToolKind | null,
): string | null {
  switch (decide(event.tool, rules, kind)) {
    case "allow":
      return optionOf(event.options, ["allow_once", "allow_always"]);
    case "deny":
      return refusalOf(event.options);
    case "ask":
      return null;
  }
}

/** Returns the id of the option that says no; null where none does. */
export function refusalOf(options: readonly PermissionOption[]): string | null {
  return optionOf(options, ["reject_once", "reject_always"]);
}

/** Returns what the rules say of a tool, whether it asks or not. */
export function decide(
  tool: string,
  { approval, allowed_tools, tool_approvals = {} }: ApprovalRules,
  kind: ToolKind | null,
): ToolApproval {
  const rule = Object.entries(tool_approvals).find(([pattern]) => fits(tool, pattern))?.[1];
  const listed = allowed_tools?.some((pattern) => fits(tool, pattern));
  if (rule === "deny" || listed === false || approval === "deny") return "deny";
  if (rule !== undefined) return rule;
  if (listed === true || approval === "all") return "allow";
  if (approval === "reads") return kind !== null && reading.includes(kind) ? "allow" : "ask";
  if (approval === "edits") return kind !== null && editing.includes(kind) ? "allow" : "ask";
  return "ask";
}

/** Returns true for a kind that changes nothing. */
export function isReading(kind: ToolKind): boolean {
  return reading.includes(kind);
}

/** Returns true for a tool that the rules speak of by its name, or leave out of their list. */
export function isNamed(tool: string, { allowed_tools, tool_approvals = {} }: ApprovalRules): boolean {
  const pattern = Object.keys(tool_approvals).find((one) => fits(tool, one));
  if (pattern !== undefined && pattern !== "*") return true;
  return allowed_tools !== undefined && !allowed_tools.some((one) => fits(tool, one));
}

/** Matches a tool's name against a pattern in which `*` stands for anything, without a regular expression. */
function fits(tool: string, pattern: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return tool === pattern;
  const last = rest.pop() ?? "";
  if (!tool.startsWith(first) || tool.length < first.length + last.length || !tool.endsWith(last)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = tool.indexOf(part, at);
    if (found < 0 || found + part.length > tool.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}

function optionOf(options: readonly PermissionOption[], kinds: readonly PermissionOption["kind"][]): string | null {
  for (const kind of kinds) {
    const option = options.find((one) => one.kind === kind);
    if (option) return option.id;
  }
  return null;
}
