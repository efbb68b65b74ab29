import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { Since } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { queueText } from "../sessions/queue-text.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";

/** The sessions that wait to start, each with what it waits for; those of one agent in their order. */
export function Queue({ of: sessions }: { of: readonly SessionSummary[] }) {
  const waiting = sessions.flatMap(({ facts, ...session }) =>
    facts?.queued === undefined ? [] : { ...session, queued: facts.queued }
  ).sort((a, b) => a.queued.adapter_id.localeCompare(b.queued.adapter_id) || a.queued.position - b.queued.position);
  if (waiting.length === 0) return null;
  return (
    <section aria-label="Queue">
      <h2>Waits to start</h2>
      <ul class="session-list agent-list">
        {waiting.map(({ session_id, title, queued }) => (
          <li class="agent-row" key={session_id}>
            <span class="agent-name">
              <a class="one-line" href={addressOf("sessions", session_id)}>{plainText(title, 120) || "(no prompt)"}</a>
            </span>
            <span class="tag">{plainText(queued.adapter_id, 60)}</span>
            <span class="agent-why">
              <Text of={plainText(queueText(queued), 300)} />
            </span>
            <span class="agent-runs">
              for <Since at={queued.since} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
