import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../../../plugin-sdk/request.ts";
import { defaultLimits } from "../../../../ground/config/limits.ts";
import {
  continuedRequest,
  type EarlierSession,
  readEarlier,
  repeatedRequest,
} from "../../../../sessions/host/earlier-session.ts";
import { chooseAdapter, unsearched } from "../../find-adapters.ts";
import type { Invocation } from "../../command.ts";
import { exitCodeOf } from "../../exit-code.ts";
import { findSession } from "../../find-session.ts";
import type { OpenedSessions } from "../../open-sessions.ts";
import { readPrompt } from "../../prompt.ts";
import { runGranted } from "../../run-granted.ts";
import { type AskedSession, prepareSessions, textFlag } from "../../session-command.ts";
import { changedRequest } from "../../session-request.ts";

/** `bulkhead session continue <id> <prompt>`: says something more to the agent of a session that has ended. */
export function sessionContinue(call: Invocation): Promise<number> {
  return runAgain(call, async (opened, earlier) => {
    const { prompt } = await readPrompt({
      args: [earlier.adapter, call.args[1]],
      promptFile: textFlag(call, "promptFile"),
      adapters: [earlier.adapter],
      maxBytes: opened.manifest?.limits.prompt_bytes ?? defaultLimits.prompt_bytes,
    }, call.terminal);
    return { request: continuedRequest(earlier, prompt), ...unsearched(earlier.adapter) };
  });
}

/** `bulkhead session rerun <id>`: runs a session again, from its beginning. */
export function sessionRerun(call: Invocation): Promise<number> {
  return runAgain(call, async (opened, earlier) => {
    const plugins = await opened.plugins();
    const enabled = earlier.candidates.filter((id) => plugins.some((plugin) => plugin.id === id && plugin.enabled));
    const chain = textFlag(call, "agent") ?? (enabled.length > 0 ? enabled : earlier.candidates).join(",");
    const adapter = chooseAdapter({ given: chain, plugins, routing: undefined });
    return { request: repeatedRequest(earlier), ...unsearched(adapter) };
  });
}

async function runAgain(
  call: Invocation,
  ask: (opened: OpenedSessions, earlier: EarlierSession) => Promise<AskedSession>,
): Promise<number> {
  await using prepared = await prepareSessions(call, async (opened) => {
    const { session_id } = await findSession(opened.sessions, call.args[0] ?? "");
    const earlier = await readEarlier(opened.sessions, session_id);
    requireEnv(earlier, call);
    const { request, ...found } = await ask(opened, earlier);
    const config = call.options["param"] === undefined ? undefined : await opened.configOf(found.first);
    const { options, terminal: { cwd } } = call;
    return { request: changedRequest(withoutSilence(request), { options, cwd, config }), ...found };
  });
  return exitCodeOf(await runGranted(prepared));
}

/** Drops that no client will answer: that depends on who runs the command now. */
function withoutSilence({ answer_timeout_ms, ...request }: SessionRequest): SessionRequest {
  return answer_timeout_ms === undefined || answer_timeout_ms === 0 ? request : { ...request, answer_timeout_ms };
}

/** Asks for the values of an earlier session's `env`: they may be credentials, so they are never kept. */
function requireEnv({ session_id, requested }: EarlierSession, { options }: Invocation): void {
  const given = Object.keys(options["env"] ?? {});
  const lacking = Object.keys(requested.env ?? {}).filter((name) => !given.includes(name));
  if (lacking.length === 0) return;
  throw new BulkheadError("invalid_config", `The values of env of session "${session_id}" were not kept.`, {
    hint: `Give them again: ${lacking.map((name) => `-e ${name}=…`).join(" ")}`,
  });
}
