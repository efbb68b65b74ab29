import type { BulkheadError, ErrorData } from "../../../plugin-sdk/errors.ts";
import type { Host } from "../../sessions/host/host.ts";
import { tryPlugins } from "../../sessions/host/try-plugins.ts";
import type { Invocation } from "./command.ts";
import { loadManifest, openHost } from "./open-host.ts";
import { safeText } from "./render/agent-text.ts";
import { asTyped } from "./render/as-typed.ts";
import { whileWaiting } from "./while-waiting.ts";

/** Loads a plugin that was enabled; returns why it cannot be loaded, null where it can. */
export async function loadFault(call: Invocation, id: string): Promise<BulkheadError | null> {
  await using opened = await openHost(call);
  return await loadFaultIn(opened.host, { call, id });
}

/** The same in a host that was opened before the host manifest enabled the plugin. */
export async function loadFaultAfter(
  host: Host,
  { call, id }: { call: Invocation; id: string },
): Promise<BulkheadError | null> {
  const manifest = await loadManifest(call);
  if (manifest !== undefined) await host.reload(manifest);
  return await loadFaultIn(host, { call, id });
}

async function loadFaultIn(host: Host, { call, id }: { call: Invocation; id: string }): Promise<BulkheadError | null> {
  const work = tryPlugins(host, { ids: [id] }).next();
  const { value } = await whileWaiting(`Loading ${id} …`, { terminal: call.terminal, work });
  return value ?? null;
}

/** The same for programs. */
export function errorOf(fault: BulkheadError | null): { error?: ErrorData } {
  return fault === null ? {} : { error: fault.toJSON() };
}

/** The lines about it below what was done. */
export function faultText(fault: BulkheadError | null): string {
  if (fault === null) return "";
  const { message, hint } = fault;
  return `\n\nIt cannot run yet. ${safeText(message)}${hint === undefined ? "" : `\n${safeText(asTyped(hint))}`}`;
}
