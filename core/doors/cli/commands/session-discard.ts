import type { Invocation } from "../command.ts";
import { findWorkspace } from "../find-workspace.ts";
import { openSessions } from "../open-sessions.ts";

/** `bulkhead session discard <id>`. */
export async function sessionDiscard(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { terminal, json, args } = call;
  const { session_id } = await findWorkspace(opened.workspaces, args[0] ?? "");
  await opened.workspaces.discard(session_id);
  await terminal.stdout.write(
    json ? `${JSON.stringify({ session_id, discarded: true })}\n` : `Discarded: ${session_id}.\n`,
  );
  return 0;
}
