import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";

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
