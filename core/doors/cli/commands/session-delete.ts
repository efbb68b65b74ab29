import type { Invocation } from "../command.ts";
import { findSession } from "../find-session.ts";
import { openSessions } from "../open-sessions.ts";

/** `bulkhead session delete <id>`. */
export async function sessionDelete(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { terminal, json, args } = call;
  const { session_id } = await findSession(opened.sessions, args[0] ?? "");
  await opened.sessions.delete(session_id);
  await terminal.stdout.write(
    json ? `${JSON.stringify({ session_id, deleted: true })}\n` : `Deleted: ${session_id}.\n`,
  );
  return 0;
}
