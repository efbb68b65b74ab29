import type { ForkRequest } from "../../../../../plugin-sdk/conversation.ts";
import { omitUndefined } from "../../../../../plugin-sdk/optional-fields.ts";
import { shortId } from "../../../../ground/log/short-id.ts";
import { showTurn } from "../../chat/show-turn.ts";
import { type Invocation, tell } from "../../command.ts";
import { exitCodeOf } from "../../exit-code.ts";
import { findSession } from "../../find-session.ts";
import { openSessions } from "../../open-sessions.ts";
import { asTyped } from "../../render/as-typed.ts";
import { inTrace } from "../../session-request.ts";
import { modeOf, textFlag } from "../../session-command.ts";

/** `bulkhead session fork <id> [prompt]`: begins a new conversation that knows this one up to a turn, and shows its first turn. */
export async function sessionFork(call: Invocation): Promise<number> {
  const { options, terminal } = call;
  const { at, worktree, inPlace, verbose } = options;
  await using opened = await openSessions(call, { warm: call.args[1] !== undefined });
  const { session_id } = await findSession(opened.sessions, call.args[0] ?? "");
  const request: ForkRequest = omitUndefined({
    at: typeof at === "number" ? at : undefined,
    agent: textFlag(call, "agent"),
    model: textFlag(call, "model"),
    workspace: worktree === true ? "worktree" as const : inPlace === true ? "in_place" as const : undefined,
    prompt: call.args[1],
    message_id: textFlag(call, "messageId"),
    traceparent: textFlag({ options: inTrace({}, terminal) }, "traceparent"),
  });
  const forked = await opened.sessions.conversations.fork(session_id, request);
  const { session_id: id, adapter_id } = forked;
  if (request.prompt === undefined) {
    return await tell(
      call,
      forked,
      asTyped(`Forked: ${shortId(id)}. Its first message: bulkhead session say ${shortId(id)} "..."`),
    );
  }
  const end = await showTurn(await opened.sessions.open(id), {
    messageId: null,
    terminal,
    adapter: adapter_id ?? request.agent ?? "",
    mode: modeOf(call),
    verbose: verbose === true,
  });
  return exitCodeOf(end);
}
