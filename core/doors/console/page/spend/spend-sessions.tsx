import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import type { HostApi } from "../api.ts";
import { useConsole } from "../console-context.ts";
import { Failed, ListRow, StandingMark, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { standingOf } from "../session-list.ts";
import { plainText } from "../shown-text.ts";
import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import type { DaySpan } from "./spend-sums.ts";

/** Sessions that are listed. */
const mostShown = 30;

interface Wanted {
  span: DaySpan | null;
  agent: string | null;
}

/** Sessions that began on a day, or those of an agent, with the cost of each. */
export function SpendSessions({ span, agent }: Wanted) {
  const { api } = useConsole();
  const [loaded] = useLoaded((signal) => readSessions({ span, agent }, { api, signal }), [span?.first, agent]);
  if (loaded === undefined) return <p class="quiet-line" role="status">Reading …</p>;
  if ("failed" in loaded) return <Failed of={loaded.failed} />;
  const all = loaded.value;
  return (
    <section aria-label="Sessions">
      <ul class="session-list">
        {all.slice(0, mostShown).map((session) => (
          <ListRow
            mark={<StandingMark of={standingOf(session)} />}
            href={addressOf("sessions", session.session_id)}
            title={session.title}
            at={session.started_at}
            usage={<CostOf session={session} />}
          >
            <b>{plainText(session.adapter_id ?? "no agent", 60)}</b>
          </ListRow>
        ))}
      </ul>
      {all.length > mostShown && <p class="quiet-line">The newest {mostShown} of them are listed.</p>}
    </section>
  );
}

function CostOf({ session: { facts } }: { session: SessionSummary }) {
  const isKnown = facts !== undefined && facts.cost !== null;
  return <span class="number">{isKnown ? formatCost(facts.cost ?? 0, facts.currency) : "—"}</span>;
}

async function readSessions(
  { span, agent }: Wanted,
  { api, signal }: { api: HostApi; signal: AbortSignal },
): Promise<SessionSummary[]> {
  if (span === null) {
    const query = { adapter: agent ?? undefined, limit: mostShown + 1, facts: true };
    return (await api.get<{ sessions: SessionSummary[] }>("/v1/sessions", query, signal)).sessions;
  }
  const query = {
    since: new Date(`${span.first}T00:00:00`).toISOString(),
    until: new Date(Date.parse(`${span.last}T23:59:59.999`) + 1).toISOString(),
    adapter: agent ?? undefined,
    limit: mostShown + 1,
    facts: true,
  };
  return (await api.get<{ sessions: SessionSummary[] }>("/v1/sessions", query, signal)).sessions;
}
