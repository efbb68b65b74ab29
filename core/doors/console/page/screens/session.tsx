import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ConversationReport } from "../../../../../plugin-sdk/conversation.ts";
import { Composer } from "../talk/composer.tsx";
import { attempt, attemptAtField, useConsole } from "../console-context.ts";
import { useKeys } from "../keys.ts";
import { May } from "../may.tsx";
import { Ago, Dialog, durationText, Failed, Screen, Since, StandingMark, useLoaded } from "../parts.tsx";
import { addressOf, goTo } from "../route.ts";
import { TalkProvider } from "../row-place.ts";
import type { RowPlace } from "../timeline-layout.ts";
import type { SessionEvents } from "../session-events.ts";
import { standingOf } from "../session-list.ts";
import { SessionSide, type WholeSession } from "../session-side.tsx";
import { plainText } from "../shown-text.ts";
import { ForkDialog } from "../talk/fork-dialog.tsx";
import { RewindDialog } from "../talk/rewind-dialog.tsx";
import { Talk } from "../talk/talk.ts";
import { type TalkTimeline, useTalkLines } from "../talk/talk-lines.tsx";
import { LongText, Text } from "../text.tsx";
import { Timeline } from "../timeline.tsx";
import { shortPath } from "../sessions/short-path.ts";
import { lineGroups } from "../api.ts";
import { FilterBar, useFilter } from "../rows/filter-bar.tsx";
import { loadMarkdown } from "../rows/markdown-text.tsx";
import { ActivityStrip } from "../session/activity-strip.tsx";
import { FindBar } from "../session/find-bar.tsx";

const unread = { grants: [], attempts: [], children: [], result: null };

/** One session in its conversation: the timeline of both, what the session came to, and what a person can do. */
export function Session({ id, seq }: { id: string; seq: number | null }) {
  // The conversation goes on in another session than the one that was opened.
  const [shown, setShown] = useState(id);
  const { session, failed, again } = useSession(shown);
  // At once, so that the first rows are drawn as Markdown; without it they stay plain.
  useEffect(() => void loadMarkdown().catch(() => {}), []);
  if (failed !== null) {
    return (
      <Screen title="Session">
        <Failed of={failed} />
        <p>
          <a href={addressOf("sessions")}>All sessions</a>
        </p>
      </Screen>
    );
  }
  if (session === null) {
    return (
      <Screen title="Session">
        <p class="quiet-line">Reading the session …</p>
      </Screen>
    );
  }
  return <OpenSession opened={id} session={session} seq={seq} again={again} show={setShown} />;
}

/** Reads a session. Until it is here, the list's facts of it are enough to begin with, or the session before it. */
function useSession(id: string): { session: WholeSession | null; failed: unknown; again: () => void } {
  const { api, sessions, live } = useConsole();
  const listed = sessions.find(id);
  const [whole, again] = useLoaded(
    (signal) => api.get<WholeSession>(`/v1/sessions/${encodeURIComponent(id)}`, { output: false, facts: true }, signal),
    [id, listed?.state, listed?.adapter_id, live.opened.value],
  );
  const [kept, setKept] = useState<WholeSession | null>(null);
  useEffect(() => {
    if (whole !== undefined && "value" in whole) setKept(whole.value);
  }, [whole]);
  const failed = whole !== undefined && "failed" in whole && kept === null ? whole.failed : null;
  if (kept?.session_id !== id && listed === undefined) return { session: kept, failed, again };
  const known = kept?.session_id === id ? kept : null;
  // The list learns of a new end only with the events that change what it shows.
  const last_seq = Math.max(known?.last_seq ?? 0, listed?.last_seq ?? 0);
  const session = listed === undefined ? known : { ...unread, ...known, ...listed, last_seq };
  return { session, failed, again };
}

interface OpenSessionProps {
  /** Id of the session that was opened. */
  opened: string;
  session: WholeSession;
  seq: number | null;
  again: () => void;
  show: (id: string) => void;
}

function OpenSession({ opened, session, seq, again, show }: OpenSessionProps) {
  const { session_id: id } = session;
  const at = seq === null ? null : { session_id: opened, seq };
  const [raw, setRaw] = useState<RawPlace | null>(null);
  const talk = useTalkOf({ opened, id, show, isKept: session.result?.checkpoint != null });
  useKeys({
    Escape: () => raw === null ? goTo("sessions") : setRaw(null),
    e: () => setRaw(raw === null ? placeInView() ?? at : null),
  });
  const lines = useTalkLines(talk, { opened, seq, shown: { id, last: session.last_seq } });
  const events = lines.eventsOf(id);
  const title = talk.parts.value[0]?.turns[0]?.prompt ?? session.title;
  const failure = events.failure.value ?? talk.failure.value;
  return (
    <Screen
      title={
        <span class="session-heading" title={plainText(title, 2000)}>{plainText(title, 120) || "(no prompt)"}</span>
      }
      lead={<SessionFacts session={session} events={events} report={talk.report.value} />}
      actions={
        <May right="run">
          <Actions session={session} again={again} />
        </May>
      }
    >
      {failure !== null && <Failed of={failure} />}
      <div class="session-layout">
        <TalkView
          talk={talk}
          lines={lines}
          isRunning={session.state === "running"}
          onRaw={({ session_id }, seq) => setRaw({ session_id, seq })}
        />
        {raw === null
          ? <SessionSide key={id} session={session} />
          : <RawEvent id={raw.session_id} seq={raw.seq} close={() => setRaw(null)} />}
      </div>
    </Screen>
  );
}

interface TalkViewProps {
  talk: Talk;
  lines: TalkTimeline;
  isRunning: boolean;
  onRaw: (place: RowPlace, seq: number) => void;
}

/** The timeline of a conversation, with what chooses its rows above it and the field to write below. */
function TalkView({ talk, lines, isRunning, onRaw }: TalkViewProps) {
  const filtered = useFilter(lines);
  const { parts, target } = filtered;
  return (
    <TalkProvider value={talk}>
      <div class="talk">
        <div class="talk-top">
          <Strip lines={lines} of={filtered} isRunning={isRunning} />
          <div class="look-bar">
            <FilterBar of={filtered} />
            <FindBar ids={filtered.ids} go={filtered.go} />
          </div>
          <h2 class="hidden">Events</h2>
        </div>
        <Timeline parts={parts} target={target} folded={lines.folded} isRunning={isRunning} onRaw={onRaw} />
        <Composer talk={talk} />
        <TurnWishDialog talk={talk} />
      </div>
    </TalkProvider>
  );
}

interface StripProps {
  lines: TalkTimeline;
  of: ReturnType<typeof useFilter>;
  isRunning: boolean;
}

/** The run of the session that is shown: the newest of its conversation, or that of the place where the reader is. */
function Strip({ lines, of: { ids, target, go }, isRunning }: StripProps) {
  const newest = ids.at(-1);
  const id = target !== null && ids.includes(target.session_id) ? target.session_id : newest;
  if (id === undefined) return null;
  return (
    <ActivityStrip
      key={id}
      id={id}
      events={lines.eventsOf(id)}
      marks={lines.marksOf(id)}
      isRunning={isRunning && id === newest}
      at={target?.session_id === id ? target.seq : null}
      go={(seq) => go({ session_id: id, seq })}
    />
  );
}

/** The event of the row that has the focus, else of the one under the pointer, else of the one that is marked. */
function placeInView(): RawPlace | null {
  const row = document.activeElement?.closest<HTMLElement>(".row") ??
    [...document.querySelectorAll<HTMLElement>(".row:hover")].at(-1) ??
    document.querySelector<HTMLElement>(".row[data-target]");
  const { session, seq } = row?.dataset ?? {};
  return session === undefined || seq === undefined ? null : { session_id: session, seq: Number(seq) };
}

/** The dialog about a turn. It stands outside of the timeline, which draws only what is in view. */
function TurnWishDialog({ talk }: { talk: Talk }) {
  const wish = talk.wish.value;
  if (wish === null) return null;
  const close = () => void (talk.wish.value = null);
  const Shown = wish.kind === "rewind" ? RewindDialog : ForkDialog;
  return <Shown talk={talk} of={wish.turn} close={close} />;
}

/** An event whose envelope is shown. */
interface RawPlace {
  session_id: string;
  seq: number;
}

/**
 * Follows the conversation of the session that was opened. Shows its newest session once that has begun, to a page that
 * showed the newest one before.
 */
function useTalkOf(
  { opened, id, show, isKept }: { opened: string; id: string; show: (id: string) => void; isKept: boolean },
): Talk {
  const found = useConsole();
  const talk = useMemo(() => new Talk(found, opened), [opened]);
  useEffect(() => () => talk.close(), [talk]);
  // A session of one turn is a turn whose files can be taken back.
  useEffect(() => {
    if (isKept) talk.want();
  }, [talk, isKept]);
  const head = talk.report.value?.head;
  const before = useRef<string | undefined>(undefined);
  useEffect(() => {
    const isNewest = before.current === id;
    before.current = head;
    if (head === undefined || head === id || !isNewest) return;
    // No new place: what a person reads and types stays.
    history.replaceState(null, "", addressOf("sessions", head));
    show(head);
  }, [head, id]);
  return talk;
}

interface SessionFactsProps {
  session: WholeSession;
  events: SessionEvents;
  report: ConversationReport | null;
}

function SessionFacts({ session, events, report }: SessionFactsProps) {
  const standing = standingOf(session, useConsole().sessions.queued.value);
  const end = session.ended_at;
  return (
    <span class="session-facts">
      <StandingMark of={standing} />
      <b>{session.adapter_id ?? "no agent yet"}</b>
      <ModelName of={session} />
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
      {report !== null && report.turns.length > 1 && (
        <span>
          {report.turns.length} turns
          {report.sessions.length > 1 && ` in ${report.sessions.length} sessions`}
        </span>
      )}
      {report !== null && report.head !== session.session_id && (
        <a href={addressOf("sessions", report.head)}>
          {report.state === "ended" ? "Its newest session" : "It goes on in its newest session"}
        </a>
      )}
    </span>
  );
}

/** The model as the agent names it: when it began, or meanwhile. */
function ModelName({ of: { session_id, facts } }: { of: WholeSession }) {
  const { live } = useConsole();
  const [model, setModel] = useState(facts?.model);
  useEffect(() => {
    setModel(facts?.model);
    return live.subscribe((envelopes) => {
      for (const { session_id: id, event } of envelopes) {
        if (id !== session_id || event.type !== "agent_info" && event.type !== "usage") continue;
        if (!("agent_id" in event) || event.agent_id === undefined) setModel((known) => event.model ?? known);
      }
    });
  }, [session_id, facts?.model]);
  return model === undefined ? null : <span title="Model">{plainText(model, 60)}</span>;
}

/** Rises with every event, so it is a part of its own: the screen around it stays as it is. */
function EventCount({ of: { last } }: { of: SessionEvents }) {
  return <span>{last.value.toLocaleString("en")} events</span>;
}

function Actions({ session, again }: { session: WholeSession; again: () => void }) {
  const found = useConsole();
  const [asks, setAsks] = useState(false);
  const path = `/v1/sessions/${encodeURIComponent(session.session_id)}`;
  const inWorktree = session.result?.effective.workspace === "worktree";
  const interrupt = async () => {
    await attempt(found, "It is being stopped.", () => found.api.send("POST", `${path}/interrupt`));
    again();
  };
  if (session.state === "running") {
    return (
      <button type="button" class="danger" onClick={() => void interrupt()}>
        {session.turn !== undefined && session.turn.state !== "working" ? "End session" : "Interrupt"}
      </button>
    );
  }
  return (
    <>
      {inWorktree && <a class="button primary" href={addressOf("review", session.session_id)}>Review changes</a>}
      <button type="button" onClick={() => setAsks(true)}>Run again</button>
      {asks && <RunAgain session={session} close={() => setAsks(false)} />}
    </>
  );
}

function RunAgain({ session, close }: { session: WholeSession; close: () => void }) {
  const found = useConsole();
  const [adapter, setAdapter] = useState("");
  const [refused, setRefused] = useState<unknown>(null);
  const path = `/v1/sessions/${encodeURIComponent(session.session_id)}/rerun`;
  const send = async () => {
    await attemptAtField(setRefused, async () => {
      const { session_id } = await found.api.send<{ session_id: string }>(
        "POST",
        path,
        adapter === "" ? {} : { adapter },
      );
      found.sessions.touch(session_id);
      goTo("sessions", session_id);
      close();
    });
  };
  return (
    <Dialog title="Run it again" close={close}>
      <form class="form" onSubmit={(event) => (event.preventDefault(), void send())}>
        <label>
          Agent<input
            type="text"
            placeholder={session.adapter_id ?? "the same"}
            value={adapter}
            aria-invalid={refused !== null}
            onInput={({ currentTarget }) => setAdapter(currentTarget.value)}
          />
          <small>Empty: the same agent, with the same request.</small>
        </label>
        <OrAnother id={session.session_id} />
        {refused !== null && <Failed of={refused} />}
        <div class="dialog-actions">
          <button type="button" onClick={close}>Cancel</button>
          <button type="submit" class="primary">Run again</button>
        </div>
      </form>
    </Dialog>
  );
}

/** The way to a session that is like one but for what a person changes. */
function OrAnother({ id }: { id: string }) {
  return (
    <p class="quiet-line">
      For another prompt or other terms: <a href={addressOf("start", id)}>Start another one like it</a>
    </p>
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
      {loaded !== undefined && "failed" in loaded && <Failed of={loaded.failed} />}
      {loaded !== undefined && "value" in loaded &&
        (loaded.value === "" ? <p>It is no longer stored.</p> : <LongText of={loaded.value} class="json" />)}
    </aside>
  );
}
