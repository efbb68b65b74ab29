import type { Envelope } from "../../../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import type { Invocation } from "../../command.ts";
import { findSession } from "../../find-session.ts";
import { watchInterrupts } from "../../interrupts.ts";
import { type OpenedSessions, openSessions } from "../../open-sessions.ts";
import { LiveView } from "../../render/live-view.ts";
import { createPaint } from "../../render/paint.ts";
import { drawingColumns, showTimes } from "../../show-session.ts";

const leftNote = "Stopped watching; the session goes on.";

/** `bulkhead session events [id]`. */
export async function sessionEvents(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  using interrupts = watchInterrupts(call.terminal, { note: call.args[0] === undefined ? null : leftNote });
  const { terminal, json, options } = call;
  const view = new LiveView({
    write: (text) => terminal.stdout.write(text),
    paint: createPaint(terminal.colours.stdout),
    columns: drawingColumns(terminal),
    adapters: [],
    verbose: options["verbose"] === true,
    times: showTimes(options),
    endings: true,
    ids: call.args[0] === undefined,
  });
  for await (const envelope of await eventsOf(call, opened, interrupts.signal)) {
    if (json) await terminal.stdout.write(`${JSON.stringify(envelope)}\n`);
    else await view.show(envelope);
  }
  await view.finish();
  return 0;
}

async function eventsOf(
  { args, options }: Invocation,
  { sessions, host }: Pick<OpenedSessions, "sessions" | "host">,
  signal: AbortSignal,
): Promise<AsyncIterable<Envelope>> {
  const [id] = args;
  const follow = options["follow"] === true;
  const from = typeof options["after"] === "number" ? { after: options["after"] } : {};
  if (id === undefined) {
    if (!follow) {
      throw new BulkheadError("invalid_config", "Cannot show events: no session is named.", {
        hint: "Name one, or follow all sessions with --follow.",
      });
    }
    if (host !== null) {
      throw new BulkheadError("unavailable", "Cannot follow all sessions: no daemon runs here.", {
        hint: "Start one: bulkhead start",
      });
    }
    return sessions.events({ ...from, signal });
  }
  const { session_id, state, last_seq } = await findSession(sessions, id);
  const events = (await sessions.open(session_id)).events({ ...from, signal });
  return follow || state === "ended" ? events : until(events, last_seq);
}

/** Yields a running session's events up to now. */
export async function* until(events: AsyncIterable<Envelope>, lastSeq: number): AsyncGenerator<Envelope, void, void> {
  if (lastSeq === 0) return;
  for await (const envelope of events) {
    yield envelope;
    if (envelope.seq >= lastSeq) return;
  }
}
