import { safeLine } from "./agent-text.ts";
import { asTyped } from "./as-typed.ts";

/** Says that a daemon runs other code of a plugin than its files hold now, and how to change that. */
export function editedLine(pluginId: string): string {
  return `${safeLine(pluginId)}'s files changed since the daemon loaded them: ${asTyped("bulkhead reload")}`;
}
