import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { readGrantCommand } from "../../ground/config/grant-command.ts";
import type { MissingGrant } from "../../walls/broker/session-broker.ts";
import { grantQuestion } from "./ask-grant.ts";
import { parseGrant } from "./parse-grant.ts";
import type { SessionCommand } from "./session-command.ts";
import { showSession } from "./show-session.ts";

/** Parts of a session command that {@link runGranted} uses. */
type GrantedRun = Pick<SessionCommand, "sessions" | "request" | "how" | "show" | "grant">;

/** Asks for grants that sessions in a daemon lacked. */
interface AskedGrants {
  show: SessionCommand["show"];
  /** Whether the last session failed for want of grants that it now has, so that it can run again. */
  givenAfter(result: Pick<SessionResult, "outcome">): Promise<boolean>;
}

/** Runs a session in a daemon and shows it. Asks for a grant that it lacked; after a yes it starts again. */
export async function runGranted({ sessions, request, how, ...rest }: GrantedRun): Promise<SessionResult> {
  const grants = askForGrants({ request, how, ...rest });
  for (;;) {
    const result = await showSession(await sessions.start(request, how), grants.show);
    if (!(await grants.givenAfter(result))) return result;
  }
}

/** Asks where a person is present and the daemon can grant; does not repeat a question after a no. */
export function askForGrants({ request, how, show, grant }: Omit<GrantedRun, "sessions">): AskedGrants {
  // The idempotency key stands for the session that failed, so a retry would return that session.
  if (grant === null || show.questions === undefined || request.idempotency_key !== undefined) {
    return { show, givenAfter: () => Promise.resolve(false) };
  }
  const refused = new Set<string>();
  const missing = new Set<string>();
  return { show: { ...show, missing }, givenAfter };

  async function givenAfter({ outcome }: Pick<SessionResult, "outcome">): Promise<boolean> {
    const asked = [...missing].filter((command) => !refused.has(command)).flatMap((command) =>
      missingIn(command) ?? []
    );
    missing.clear();
    if (outcome === "completed" || how.signal.aborted || grant === null || asked.length === 0) return false;
    for (const one of asked) {
      refused.add(one.grant_command);
      const under = await decided(one, { show, signal: how.signal });
      if (under !== null) await grant(one, under);
      if (under !== "grant") return false;
    }
    await show.terminal.stderr.write("Granted. Starting again.\n");
    return true;
  }
}

/** Returns where to keep the answer: under grants or denials, or nowhere. */
async function decided(
  missing: MissingGrant,
  { show, signal }: Pick<SessionCommand, "show"> & { signal: AbortSignal },
): Promise<"grant" | "deny" | null> {
  const choices = [
    { word: "always", value: "grant" as const },
    { word: "no", value: null },
    { word: "never", value: "deny" as const },
  ];
  return await show.questions?.choose(await grantQuestion(missing), { choices, signal }) ?? null;
}

/** Parses the grant from an event's command line. */
function missingIn(grant_command: string): MissingGrant | null {
  const read = readGrantCommand(grant_command);
  if (read === null) return null;
  try {
    return { plugin_id: read.pluginId, ...parseGrant(read.word), grant_command };
  } catch {
    return null;
  }
}
