import type { Invocation } from "../command.ts";
import { findSession } from "../find-session.ts";
import { openSessions } from "../open-sessions.ts";

/** `bulkhead session interrupt <id>`. */
export async function sessionInterrupt(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { terminal, json, args } = call;
  const { session_id, state } = await findSession(opened.sessions, args[0] ?? "");
  const { outcome, stop_reason } = await (await opened.sessions.open(session_id)).interrupt();
  const was_running = state === "running";
  await terminal.stdout.write(
    json
      ? `${JSON.stringify({ session_id, was_running, outcome, stop_reason })}\n`
      : `${was_running ? "Ended" : "It had ended"}: ${session_id}, ${outcome} · ${stop_reason}.\n`,
  );
  return 0;
}
