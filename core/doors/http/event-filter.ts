import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { type NeutralKind, neutralKinds } from "../../../plugin-sdk/normalise.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";

/** Filter for events: each list names alternatives, and every given list must match. */
interface WantedEvents {
  type?: string[];
  kind?: NeutralKind[];
  adapter?: string[];
  agent?: string;
}

/** Whether an envelope passes the filter. The end of a session and a gap always pass. */
export function isWanted({ event, adapter }: Envelope, filter: WantedEvents): boolean {
  if (event.type === "session_ended" || event.type === "gap") return matches(adapter.id, filter.adapter);
  const kinds: Readonly<Record<string, NeutralKind | null>> = neutralKinds;
  const kind = Object.hasOwn(kinds, event.type) ? kinds[event.type] : null;
  return matches(event.type, filter.type) && matches(adapter.id, filter.adapter) &&
    (filter.kind === undefined || (kind != null && filter.kind.includes(kind))) &&
    (filter.agent === undefined || isOfAgent(event, filter.agent));
}

/** Whether an event is an agent's of the agent: its own, or the beginning of an agent of that one. */
function isOfAgent(event: Envelope["event"], id: string): boolean {
  return "agent_id" in event && event.agent_id === id || event.type === "agent_started" && event.parent === id;
}

function matches(value: string, wanted: readonly string[] | undefined): boolean {
  return wanted === undefined || wanted.includes(value);
}

/** Sessions whose labels are cached. */
const mostKnown = 10_000;

/** Yields the events of sessions with all these labels, each as `name=value`. */
export async function* labelled(
  events: AsyncIterable<Envelope>,
  { wanted, sessions }: { wanted: readonly string[]; sessions: Pick<SessionHost, "get"> },
): AsyncGenerator<Envelope, void, void> {
  const known = new Map<string, boolean>();
  const fits = (labels: Readonly<Record<string, string>>) => {
    const own = new Set(Object.entries(labels).map(([name, value]) => `${name}=${value}`));
    return wanted.every((label) => own.has(label));
  };
  for await (const envelope of events) {
    const { session_id, event } = envelope;
    let fit = known.get(session_id);
    if (fit === undefined) {
      fit = event.type === "session_started"
        ? fits(event.labels)
        : await sessions.get(session_id).then(({ labels }) => fits(labels), () => false);
      const oldest = known.size >= mostKnown ? known.keys().next().value : undefined;
      if (oldest !== undefined) known.delete(oldest);
      known.set(session_id, fit);
    }
    if (fit) yield envelope;
  }
}
