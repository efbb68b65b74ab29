import type { Invocation } from "../command.ts";
import { findWorkspace } from "../find-workspace.ts";
import { openHost } from "../open-host.ts";

/** `bulkhead session discard <id>`. */
export async function sessionDiscard(call: Invocation): Promise<number> {
  await using opened = await openHost(call);
  const { terminal, json, args } = call;
  const { session_id } = await findWorkspace(opened.host, args[0] ?? "");
  await opened.host.workspaces.discard(session_id);
  await terminal.stdout.write(
    json ? `${JSON.stringify({ session_id, discarded: true })}\n` : `Discarded: ${session_id}.\n`,
  );
  return 0;
}
