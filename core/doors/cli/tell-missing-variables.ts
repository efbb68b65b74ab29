import type { Terminal } from "../../ground/platform/terminal/terminal.ts";
import type { ListedPlugin } from "./open-sessions.ts";
import { asTyped } from "./render/as-typed.ts";
import { safeLine } from "./render/agent-text.ts";

/**
 * Tells on standard error which variables of this terminal the daemon lacks, where enabled plugins read them. Only names
 * are compared and told.
 * @param options.wanted ids of the plugins that matter, or `auto` for all
 */
export async function tellMissingVariables(
  terminal: Terminal,
  { plugins, wanted = "auto" }: { plugins: readonly ListedPlugin[]; wanted?: string | readonly string[] },
): Promise<void> {
  const readers = new Map<string, string[]>();
  for (const { id, enabled, env_missing = [] } of plugins) {
    if (!enabled || wanted !== "auto" && ![wanted].flat().includes(id)) continue;
    for (const name of env_missing) if (terminal.env(name)) readers.set(name, [...readers.get(name) ?? [], id]);
  }
  if (readers.size === 0) return;
  const names = [...readers].map(([name, ids]) => `${safeLine(name)} (read by ${ids.map(safeLine).join(", ")})`);
  await terminal.stderr.write(
    `The daemon was started without variables that this terminal has: ${names.join(", ")}.\n` +
      asTyped(
        '  To give them to it: bulkhead restart. For one that the system starts, "bulkhead service install" says how.\n',
      ),
  );
}
