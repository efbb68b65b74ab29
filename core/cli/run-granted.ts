import type { SessionResult } from "../../plugin-sdk/result.ts";
import { readGrantCommand } from "../broker/grant-command.ts";
import type { MissingGrant } from "../broker/session-broker.ts";
import { parseGrant } from "./parse-grant.ts";
import type { SessionCommand } from "./session-command.ts";
import { showSession } from "./show-session.ts";

/** What {@link runGranted} works with. */
export type GrantedRun = Pick<SessionCommand, "sessions" | "request" | "how" | "show" | "grant">;

/**
 * Runs a session in a daemon and shows it. Where it failed for want of a grant and somebody is there, they are asked for
 * it; with a yes it is granted in the daemon, and the session is started again.
 */
export async function runGranted({ sessions, request, how, show, grant }: GrantedRun): Promise<SessionResult> {
  const refused = new Set<string>();
  for (;;) {
    const missing = new Set<string>();
    const result = await showSession(await sessions.start(request, how), { ...show, missing });
    // A key stands for the session that failed.
    const isOver = result.outcome === "completed" || how.signal.aborted || request.idempotency_key !== undefined;
    if (isOver || grant === null || show.questions === undefined) return result;
    const asked = [...missing].filter((command) => !refused.has(command)).flatMap((command) =>
      missingIn(command) ?? []
    );
    let granted = 0;
    for (const one of asked) {
      refused.add(one.grant_command);
      if (!(await isWanted(one, { show, signal: how.signal }))) return result;
      await grant(one);
      granted++;
    }
    if (granted === 0) return result;
    await show.terminal.stderr.write("Granted. Starting again.\n");
  }
}

async function isWanted(
  { plugin_id, permission, target, grant_command }: MissingGrant,
  { show, signal }: Pick<SessionCommand, "show"> & { signal: AbortSignal },
): Promise<boolean> {
  const question = `The plugin "${plugin_id}" asks for ${permission}: ${target}\n` +
    `  always is the same as: ${grant_command}`;
  const choices = [{ word: "always", value: true }, { word: "no", value: false }];
  return await show.questions?.choose(question, { choices, signal }) === true;
}

/** What a command line that an event names would grant. */
function missingIn(grant_command: string): MissingGrant | null {
  const read = readGrantCommand(grant_command);
  if (read === null) return null;
  try {
    return { plugin_id: read.pluginId, ...parseGrant(read.word), grant_command };
  } catch {
    return null;
  }
}
