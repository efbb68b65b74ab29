import { useEffect, useMemo, useState } from "preact/hooks";
import { attempt, noticeOf, useConsole } from "../console-context.ts";
import { useKeys } from "../keys.ts";
import { Ago, Dialog, durationText, Failure, Screen, Since, StandingMark, useLoaded } from "../parts.tsx";
import { addressOf, goTo } from "../route.ts";
import { SessionEvents } from "../session-events.ts";
import { standingOf } from "../session-list.ts";
import { SessionSide, type WholeSession } from "../session-side.tsx";
import { plainText } from "../shown-text.ts";
import { LongText, Text } from "../text.tsx";
import { Timeline } from "../timeline.tsx";
import { shortPath } from "./sessions.tsx";
import { lineGroups } from "../api.ts";

const unread = { grants: [], attempts: [], children: [], result: null };

/** One session: its timeline, what it came to, and what a person can do with it. */
export function Session({ id, seq }: { id: string; seq: number | null }) {
  const { api, sessions, live } = useConsole();
  const listed = sessions.find(id);
  const [whole, again] = useLoaded(
    (signal) => api.get<WholeSession>(`/v1/sessions/${encodeURIComponent(id)}`, { output: false }, signal),
    [id, listed?.state, listed?.adapter_id, live.opened.value],
  );
  const [kept, setKept] = useState<WholeSession | null>(null);
  useEffect(() => {
    if (whole !== undefined && "value" in whole) setKept(whole.value);
  }, [whole]);
  if (whole !== undefined && "failed" in whole && kept === null) {
    const { text, hint } = noticeOf(whole.failed);
    return (
      <Screen title="Session">
        <Failure text={text} hint={hint} />
        <p>
          <a href={addressOf("sessions")}>All sessions</a>
        </p>
      </Screen>
    );
  }
  // The list's facts are enough to begin with: the timeline need not wait for the rest.
  const known = kept?.session_id === id ? kept : listed === undefined ? null : { ...listed, ...unread };
  if (known === null) {
    return (
      <Screen title="Session">
        <p class="quiet-line">Reading the session …</p>
      </Screen>
    );
  }
  // The list learns of a new end only with the events that change what it shows.
  const last_seq = Math.max(known.last_seq, listed?.last_seq ?? 0);
  const session = { ...known, ...listed, last_seq };
  return <OpenSession key={id} session={session} seq={seq} again={again} />;
}

function OpenSession({ session, seq, again }: { session: WholeSession; seq: number | null; again: () => void }) {
  const found = useConsole();
  const { session_id: id } = session;
  const [raw, setRaw] = useState<number | null>(seq);
  const events = useMemo(() => new SessionEvents(found, { id, last: session.last_seq }), [id]);
  useEffect(() => () => events.close(), [events]);
  useEffect(() => events.extend(session.last_seq), [session.last_seq]);
  useEffect(() => setRaw(seq), [seq]);
  useKeys({ Escape: () => raw === null ? goTo("sessions") : setRaw(null) });
  return (
    <Screen
      title={<span class="session-heading">{plainText(session.title, 120) || "(no prompt)"}</span>}
      lead={<SessionFacts session={session} events={events} />}
      actions={<Actions session={session} again={again} />}
    >
      {events.failure.value !== null && <Failure text={events.failure.value} />}
      <div class="session-layout">
        <Timeline events={events} target={seq} isRunning={session.state === "running"} onRaw={setRaw} />
        {raw === null ? <SessionSide session={session} /> : <RawEvent id={id} seq={raw} close={() => setRaw(null)} />}
      </div>
    </Screen>
  );
}

function SessionFacts({ session, events }: { session: WholeSession; events: SessionEvents }) {
  const standing = standingOf(session, useConsole().sessions.queued.value);
  const end = session.ended_at;
  return (
    <span class="session-facts">
      <StandingMark of={standing} />
      <b>{session.adapter_id ?? "no agent yet"}</b>
      <code title={plainText(session.workdir, 4096)}>
        <Text of={shortPath(session.workdir)} />
      </code>
      {end === null
        ? (
          <span>
            for <Since at={session.started_at} />
          </span>
        )
        : (
          <>
            <Ago at={session.started_at} />
            <span>took {durationText(Date.parse(end) - Date.parse(session.started_at))}</span>
          </>
        )}
      <EventCount of={events} />
    </span>
  );
}

/** Rises with every event, so it is a part of its own: the screen around it stays as it is. */
function EventCount({ of: { last } }: { of: SessionEvents }) {
  return <span>{last.value.toLocaleString("en")} events</span>;
}

function Actions({ session, again }: { session: WholeSession; again: () => void }) {
  const found = useConsole();
  const [asks, setAsks] = useState<"continue" | "rerun" | null>(null);
  const path = `/v1/sessions/${encodeURIComponent(session.session_id)}`;
  const inWorktree = session.result?.effective.workspace === "worktree";
  const interrupt = async () => {
    await attempt(found, "It is being stopped.", () => found.api.send("POST", `${path}/interrupt`));
    again();
  };
  if (session.state === "running") {
    return <button type="button" class="danger" onClick={() => void interrupt()}>Interrupt</button>;
  }
  return (
    <>
      {inWorktree && <a class="button primary" href={addressOf("review", session.session_id)}>Review changes</a>}
      <button type="button" onClick={() => setAsks("continue")}>Continue</button>
      <button type="button" onClick={() => setAsks("rerun")}>Run again</button>
      {asks !== null && <Follow session={session} what={asks} close={() => setAsks(null)} />}
    </>
  );
}

function Follow({ session, what, close }: { session: WholeSession; what: "continue" | "rerun"; close: () => void }) {
  const found = useConsole();
  const [text, setText] = useState("");
  const path = `/v1/sessions/${encodeURIComponent(session.session_id)}/${what}`;
  const send = async () => {
    const body = what === "continue" ? { prompt: text } : text === "" ? {} : { adapter: text };
    await attempt(found, null, async () => {
      const { session_id } = await found.api.send<{ session_id: string }>("POST", path, body);
      found.sessions.touch(session_id);
      goTo("sessions", session_id);
      close();
    });
  };
  return (
    <Dialog title={what === "continue" ? "Continue this session" : "Run it again"} close={close}>
      <form class="form" onSubmit={(event) => (event.preventDefault(), void send())}>
        {what === "continue"
          ? <NextPrompt value={text} change={setText} />
          : <OtherAgent of={session} value={text} change={setText} />}
        <div class="dialog-actions">
          <button type="button" onClick={close}>Cancel</button>
          <button type="submit" class="primary">{what === "continue" ? "Continue" : "Run again"}</button>
        </div>
      </form>
    </Dialog>
  );
}

interface FieldProps {
  value: string;
  change: (value: string) => void;
}

function NextPrompt({ value, change }: FieldProps) {
  return (
    <label>
      What should the agent do next?<textarea
        rows={5}
        required
        value={value}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
    </label>
  );
}

function OtherAgent({ of: session, value, change }: FieldProps & { of: WholeSession }) {
  return (
    <label>
      Agent<input
        type="text"
        placeholder={session.adapter_id ?? "the same"}
        value={value}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      <small>Empty: the same agent, with the same request.</small>
    </label>
  );
}

/** The whole envelope of one event, as the host sends it, beside the timeline. */
function RawEvent({ id, seq, close }: { id: string; seq: number; close: () => void }) {
  const { api } = useConsole();
  const [loaded] = useLoaded(async (signal) => {
    const path = `/v1/sessions/${encodeURIComponent(id)}/events`;
    for await (const [line] of lineGroups(await api.open(path, { after: seq - 1, limit: 1, follow: false }, signal))) {
      if (line !== undefined) return JSON.stringify(JSON.parse(line), null, 2);
    }
    return "";
  }, [id, seq]);
  return (
    <aside class="side raw" aria-label={`Envelope of event ${seq}`}>
      <header class="side-head">
        <h2>Event {seq}</h2>
        <a href={addressOf("sessions", id, seq)}>Link</a>
        <button type="button" class="plain" onClick={close} aria-label="Close the envelope">Close</button>
      </header>
      {loaded === undefined && <p class="quiet-line">Reading …</p>}
      {loaded !== undefined && "failed" in loaded && <Failure {...noticeOf(loaded.failed)} />}
      {loaded !== undefined && "value" in loaded &&
        (loaded.value === "" ? <p>It is no longer stored.</p> : <LongText of={loaded.value} class="json" />)}
    </aside>
  );
}
