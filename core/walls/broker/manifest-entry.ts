import { cleanText } from "../../ground/log/terminal-text.ts";

const maxLength = 1024;
const plainWord = /^(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z/][\w./-]*$/i;

/** A permission that is asked for. */
interface AskedEntry {
  permission: string;
  target: string;
  /** Entry of the permission's list; default: the target. */
  entry?: unknown;
}

/** Writes the line with which plugin.yaml asks for what was demanded; null for one that is too long to be shown. */
export function manifestEntry({ permission, target, entry = target }: AskedEntry): string | null {
  const asked = permission === "kv" ? true : [entry];
  const line = cleanText(`permissions: ${flowText({ [permission]: asked })}`);
  return line.length > maxLength ? null : line;
}

/** Writes a value as YAML on one line. */
function flowText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flowText).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    return `{ ${Object.entries(value).map(([key, held]) => `${key}: ${flowText(held)}`).join(", ")} }`;
  }
  return typeof value === "string" && plainWord.test(value) ? value : JSON.stringify(value);
}
