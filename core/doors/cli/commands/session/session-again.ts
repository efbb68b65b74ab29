import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../../../plugin-sdk/request.ts";
import { type EarlierSession, readEarlier, repeatedRequest } from "../../../../sessions/host/earlier-session.ts";
import { chooseAdapter, unsearched } from "../../find-adapters.ts";
import type { Invocation } from "../../command.ts";
import { exitCodeOf } from "../../exit-code.ts";
import { findSession } from "../../find-session.ts";
import { runGranted } from "../../run-granted.ts";
import { prepareSessions, textFlag } from "../../session-command.ts";
import { changedRequest } from "../../session-request.ts";

/** `bulkhead session rerun <id>`: runs a session again, from its beginning. */
export async function sessionRerun(call: Invocation): Promise<number> {
  await using prepared = await prepareSessions(call, async (opened) => {
    const { session_id } = await findSession(opened.sessions, call.args[0] ?? "");
    const earlier = await readEarlier(opened.sessions, session_id);
    requireEnv(earlier, call);
    const plugins = await opened.plugins();
    const enabled = earlier.candidates.filter((id) => plugins.some((plugin) => plugin.id === id && plugin.enabled));
    const chain = textFlag(call, "agent") ?? (enabled.length > 0 ? enabled : earlier.candidates).join(",");
    const adapter = chooseAdapter({ given: chain, plugins, routing: undefined });
    const found = unsearched(adapter);
    const config = call.options["param"] === undefined ? undefined : await opened.configOf(found.first);
    const { options, terminal: { cwd } } = call;
    return { request: changedRequest(withoutSilence(repeatedRequest(earlier)), { options, cwd, config }), ...found };
  });
  return exitCodeOf(await runGranted(prepared));
}

/** Drops that no client will answer: that depends on who runs the command now. */
function withoutSilence({ answer_timeout_ms, ...request }: SessionRequest): SessionRequest {
  return answer_timeout_ms === undefined || answer_timeout_ms === 0 ? request : { ...request, answer_timeout_ms };
}

/** Asks for the values of an earlier session's `env`: they may be credentials, so they are never kept. */
export function requireEnv({ session_id, requested }: EarlierSession, { options }: Invocation): void {
  const given = Object.keys(options["env"] ?? {});
  const lacking = Object.keys(requested.env ?? {}).filter((name) => !given.includes(name));
  if (lacking.length === 0) return;
  throw new BulkheadError("invalid_config", `The values of env of session "${session_id}" were not kept.`, {
    hint: `Give them again: ${lacking.map((name) => `-e ${name}=…`).join(" ")}`,
  });
}
