import { longTimes } from "../rows/clock-text.ts";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { attempt, useConsole } from "../console-context.ts";
import { durationText, ListRow, StandingMark } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { standingOf } from "../session-list.ts";
import { plainText } from "../shown-text.ts";
import { folderName } from "../sessions/short-path.ts";

/** Sessions that are listed. */
const mostShown = 100;

const clocks = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

interface MomentProps {
  time: number;
  partMs: number;
  sessions: readonly SessionSummary[];
  /** Whether another time follows at once: then it is not read out. */
  isPassing: boolean;
}

/** Says what ran from one time on, and leads there. */
export function MomentSessions({ time, partMs, sessions, isPassing }: MomentProps) {
  return (
    <>
      <p class="moment-head" role={isPassing ? undefined : "status"}>
        <b>
          {longTimes.format(time)} to {clocks.format(time + partMs)}
        </b>: {sessions.length === 0
          ? "nothing ran"
          : `${sessions.length} ${sessions.length === 1 ? "session" : "sessions"} ran`}
      </p>
      <ul class="session-list">
        {sessions.slice(0, mostShown).map((session) => <MomentRow key={session.session_id} of={session} />)}
      </ul>
      {sessions.length > mostShown && <p class="quiet-line">The newest {mostShown} of them are listed.</p>}
    </>
  );
}

function MomentRow({ of: session }: { of: SessionSummary }) {
  const { session_id, title, adapter_id, workdir, started_at, ended_at } = session;
  return (
    <ListRow
      mark={<StandingMark of={standingOf(session)} />}
      href={addressOf("sessions", session_id)}
      title={title}
      at={started_at}
      usage={<Export id={session_id} />}
    >
      <b>{plainText(adapter_id ?? "no agent", 60)}</b>
      <span>{plainText(folderName(workdir), 60)}</span>
      <span>
        {clocks.format(new Date(started_at))} {ended_at === null
          ? "until now"
          : `to ${clocks.format(new Date(ended_at))}, ${durationText(Date.parse(ended_at) - Date.parse(started_at))}`}
      </span>
    </ListRow>
  );
}

function Export({ id }: { id: string }) {
  const found = useConsole();
  const save = () =>
    attempt(found, null, async () => {
      const response = await found.api.open(`/v1/sessions/${encodeURIComponent(id)}/events`, { follow: false });
      // The browser keeps it beside the page's memory: a session may have a hundred megabytes.
      const url = URL.createObjectURL(await response.blob());
      const link = document.createElement("a");
      [link.href, link.download] = [url, `session-${id.slice(0, 8)}.jsonl`];
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    });
  return <button type="button" class="more" onClick={() => void save()}>Export</button>;
}
