import { fieldsOf, type JsonFields, objectsOf } from "./json-fields.ts";
import type { ToolKind } from "./tool-kinds.ts";

/**
 * Tells an edit and a command among an agent's calls; null for reading, and for a call that shows neither. Where the agent
 * does not say of which kind a call is, its tool's name, its input and its title do.
 */
export function workOf(
  { tool, kind, input }: { tool: string; kind: ToolKind; input: unknown },
): "edit" | "execute" | null {
  if (kind === "execute") return "execute";
  if (kind === "edit" || kind === "delete" || kind === "move") return "edit";
  if (kind !== "other") return null;
  // A server's tool has the server's name in front.
  const name = tool.split(/__|[./:]/).at(-1) ?? tool;
  const fields = fieldsOf(input) ?? {};
  const title = typeof fields["title"] === "string" ? fields["title"] : "";
  if (commandNames.test(name) || isCommand(fields) || commandTitles.test(title)) return "execute";
  return editNames.test(name) || isEdit(fields) || editTitles.test(title) ? "edit" : null;
}

const commandNames =
  /^(?:bash|sh|zsh|shell|pwsh|powershell|cmd|terminal|exec|execute|command|(?:run|exec|execute)_?(?:in_)?(?:shell|bash|terminal|command|process|script|code)(?:_command)?)$/i;
const editNames =
  /^(?:write|edit|multi_?edit|notebook_?edit|patch|apply_?(?:patch|diff)|(?:str|search|search_and)_?replace\w*|replace|(?:write|edit|create|update|modify|replace|delete|remove|move|rename|append|insert|save)_?(?:to|in|into)?_?files?)$/i;
const commandTitles = /^(?:`|(?:run|running|execute|executing)\b)/i;
/** A title in words counts only with the name of a file. */
const editTitles =
  /^(?:write|writing|edit|editing|create|creating|modify|overwrite|delete|deleting|remove|move|rename|patch)\b.*\S[./\\]\S/i;

function isCommand(fields: JsonFields): boolean {
  return ["command", "cmd", "shell_command", "script"].some((name) => {
    const value = fields[name];
    return typeof value === "string" || (Array.isArray(value) && value.some((part) => typeof part === "string"));
  });
}

const newText = ["old_string", "new_string", "old_str", "new_str", "oldText", "newText", "patch", "diff", "file_text"];

function isEdit(fields: JsonFields): boolean {
  if (newText.some((name) => fields[name] !== undefined)) return true;
  return objectsOf(fields["content"]).some(({ type }) => type === "diff");
}
