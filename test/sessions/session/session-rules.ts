import type { Envelope, HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";

/** What of an envelope the rules look at. */
export type Seen = Pick<Envelope, "seq" | "gseq" | "session_id" | "event">;

/**
 * What breaks the rules of a session's stream, as sentences; empty when all hold. The rules: it begins with
 * `session_started` and ends with the only `session_ended`; numbers have no holes; each tool call has one result, each
 * request one resolution, each process one exit.
 */
export function checkSession(events: readonly Seen[]): string[] {
  const faults: string[] = [];
  const session = events[0]?.session_id ?? "(no events)";
  const fault = (text: string) => void faults.push(`${session}: ${text}`);
  if (events[0]?.event.type !== "session_started") fault(`it begins with ${events[0]?.event.type}`);
  if (events.at(-1)?.event.type !== "session_ended") fault(`it ends with ${events.at(-1)?.event.type}`);
  for (const type of ["session_started", "session_ended"] as const) {
    const count = events.filter(({ event }) => event.type === type).length;
    if (count !== 1) fault(`it has ${count} events ${type}`);
  }
  events.forEach(({ seq, session_id, gseq }, index) => {
    if (seq !== index + 1) fault(`event ${index + 1} has the number ${seq}`);
    if (session_id !== session) fault(`event ${seq} is of ${session_id}`);
    if (index > 0 && gseq <= events[index - 1]!.gseq) fault(`event ${seq} does not rise`);
  });
  const all = events.map(({ event }) => event);
  pair(
    all,
    { open: "tool_call", close: "tool_result", of: (event) => "call_id" in event ? event.call_id : undefined },
    fault,
  );
  pair(all, {
    open: "process_spawned",
    close: "process_exited",
    of: (event) => "process_id" in event ? event.process_id : undefined,
  }, fault);
  pair(all, {
    open: "permission_request",
    also: "question",
    close: "permission_resolved",
    of: (event) => "request_id" in event ? event.request_id : undefined,
  }, fault);
  return faults;
}

type Event = AdapterEvent | HostEvent;

interface Pairing {
  open: Event["type"];
  also?: Event["type"];
  close: Event["type"];
  of(event: Event): string | number | undefined;
}

/** Every opening has exactly one closing after it, and no closing is without its opening. */
function pair(events: readonly Event[], { open, also, close, of }: Pairing, fault: (text: string) => void): void {
  const state = new Map<string | number, "open" | "closed">();
  for (const event of events) {
    const id = of(event);
    if (id === undefined) continue;
    if (event.type === open || event.type === also) {
      if (state.has(id)) fault(`${event.type} ${id} comes twice`);
      state.set(id, "open");
    } else if (event.type === close) {
      if (state.get(id) !== "open") fault(`${close} ${id} closes nothing`);
      state.set(id, "closed");
    }
  }
  for (const [id, one] of state) if (one === "open") fault(`${open} ${id} is never closed`);
}

/** Envelopes of a merged stream, by session. */
export function bySession<E extends Seen>(merged: readonly E[]): Map<string, E[]> {
  const sessions = new Map<string, E[]>();
  for (const envelope of merged) {
    const own = sessions.get(envelope.session_id);
    if (own) own.push(envelope);
    else sessions.set(envelope.session_id, [envelope]);
  }
  return sessions;
}
