import type { TurnEndedEvent } from "../../../../plugin-sdk/envelope.ts";
import type { SessionResult } from "../../../../plugin-sdk/result.ts";
import type { SessionHandle } from "../../../sessions/host/session-host.ts";
import { safeText } from "../render/agent-text.ts";
import { tellError } from "../render/error-text.ts";
import { showEvents, showSession, type ShowSessionOptions } from "../show-session.ts";

/** How a turn, or the session with it, ended. */
type ShownEnd = Pick<SessionResult, "stop_reason" | "error" | "output" | "outcome"> & { isKept: boolean };

/**
 * Shows one turn of a session as it comes: the one that this message begins or goes into, or else the session's first. A
 * session without turns in its log is shown to its end.
 */
export async function showTurn(
  session: Pick<SessionHandle, "id" | "events" | "result" | "answer">,
  { messageId, after = 0, ...options }: ShowSessionOptions & {
    messageId: string | null;
    /** `seq` of the last event that is known already. */
    after?: number | undefined;
  },
): Promise<ShownEnd> {
  const { terminal, mode } = options;
  let turn: number | null = null;
  // What came before the message is known already.
  let isBegun = messageId === null;
  let ended: TurnEndedEvent | null = null;
  let isOver = false;
  const stop = new AbortController();
  async function* untilEnd() {
    for await (const envelope of session.events({ after, signal: stop.signal })) {
      const { event } = envelope;
      isBegun ||= "message_id" in event && event.message_id === messageId || event.type === "session_started";
      if (messageId === null && event.type === "turn_started") turn ??= event.turn;
      if (event.type === "message_delivered" && event.message_id === messageId) turn = event.turn;
      if (event.type === "turn_ended" && event.turn === turn) ended = event;
      isOver = event.type === "session_ended" || (event.type === "message_dropped" && event.message_id === messageId);
      if (isBegun) yield envelope;
      if (ended !== null || isOver) return;
    }
  }
  await showEvents({ ...session, events: untilEnd }, options);
  stop.abort();
  if (ended === null) return { ...await showSession({ ...session, events: nothing }, options), isKept: false };
  const { outcome, stop_reason, output, error }: TurnEndedEvent = ended;
  if (mode === "quiet") {
    const text = terminal.stdout.isTty ? safeText(output) : output;
    if (text !== "") await terminal.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  }
  if (error !== undefined && mode !== "json") await tellError(error, terminal);
  return { outcome, stop_reason, output, ...(error === undefined ? {} : { error }), isKept: true };
}

async function* nothing() {}
