import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { closed } from "../../../../plugin-sdk/schema.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import { conversationLabelNames, type SessionHandle, type SessionHost } from "../../../sessions/host/session-host.ts";
import { makeTool } from "../answers.ts";
import { followSession, resumeCall } from "../follow-session.ts";
import { runningAnswer, sessionDataSchema } from "../session-data.ts";
import { startSession } from "../start-session.ts";
import type { McpTool } from "../surface.ts";

const input = Type.Object({
  session_id: Type.String({ description: "The session to go on from; it must have ended." }),
  prompt: Type.String({ description: "What to say to its agent next." }),
  timeout_ms: Type.Optional(Type.Integer({ minimum: 1 })),
  wait: Type.Optional(Type.Boolean({ description: "False: answer at once; default: true." })),
}, closed);

/** Creates the tool that continues a session with the same agent and settings. */
export function continueSessionTool(sessions: SessionHost, client: string): McpTool {
  return makeTool({
    name: "continue_session",
    title: "Continue a session",
    description:
      "Says something more to the agent of a session that has ended: a new session of the same adapter, in " +
      "the same folder and with the same settings, that continues the agent's own.",
    hints: { reads_only: false, destroys: true },
    input,
    data: sessionDataSchema,
    async call({ session_id, prompt, timeout_ms, wait = true }, call) {
      const resumed = await resumeCall(sessions, call);
      if (resumed !== null) return resumed;
      const before = await lastWords(sessions, session_id);
      const request = nextRequest(before, { prompt, timeout_ms });
      const { signal } = call.context.mcpReq;
      const handle = await startSession(sessions, request, { client, adapter: before.adapter, signal });
      return wait ? await followSession(handle, call) : runningAnswer(handle.id);
    },
  });
}

interface LastWords {
  adapter: string;
  agent_session_id: string;
  requested: SessionRequest;
}

async function lastWords(sessions: SessionHost, sessionId: string): Promise<LastWords> {
  const { state } = await sessions.get(sessionId);
  if (state === "running") {
    throw new BulkheadError("busy", `Cannot continue session "${sessionId}": it is still running.`, {
      hint: "Wait for its end, or stop it with interrupt_session.",
    });
  }
  const found = await readWords(await sessions.open(sessionId));
  if (found.requested !== null && found.agent_session_id !== null) return found as LastWords;
  throw new BulkheadError(
    "unsupported",
    `Cannot continue session "${sessionId}": its agent named no session of its own.`,
    {
      hint: "Start a new one with run_session, and put into its prompt what it must know.",
    },
  );
}

async function readWords(handle: SessionHandle) {
  const found: { [K in keyof LastWords]: LastWords[K] | null } = {
    adapter: "",
    agent_session_id: null,
    requested: null,
  };
  for await (const { event, adapter } of handle.events()) {
    if (event.type === "session_started") found.requested = event.requested;
    if (event.type === "attempt_started") Object.assign(found, { adapter: event.adapter_id, agent_session_id: null });
    if (event.type !== "agent_info" || event.agent_session_id === undefined) continue;
    Object.assign(found, { adapter: adapter.id, agent_session_id: event.agent_session_id });
  }
  return found;
}

function nextRequest(
  { requested, agent_session_id }: LastWords,
  { prompt, timeout_ms }: { prompt: string; timeout_ms: number | undefined },
): SessionRequest {
  // Environment values are not recorded, a key belongs to its own request, and the agent already has the context.
  const { env: _env, idempotency_key: _key, context_files: _files, iteration: _n, labels, ...same } = requested;
  const isKept = ([name]: [string, string]) => conversationLabelNames.every((one) => one !== name);
  return {
    ...same,
    // The new session is no part of an editor's conversation.
    ...(labels === undefined ? {} : { labels: Object.fromEntries(Object.entries(labels).filter(isKept)) }),
    prompt,
    continue_from: agent_session_id,
    ...(timeout_ms === undefined ? {} : { timeout_ms }),
  };
}
