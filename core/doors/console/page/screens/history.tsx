import { useEffect, useState } from "preact/hooks";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { attempt, noticeOf, useConsole } from "../console-context.ts";
import { Ago, Empty, Failure, ListRow, Screen, StandingMark, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { standingOf } from "../session-list.ts";
import { Text } from "../text.tsx";

/** One event that a search found, as `GET /v1/search` lists it. */
interface Hit {
  session_id: string;
  seq: number;
  at: string;
  adapter_id: string;
  type: string;
  text: string;
  /** Places of the words in the text: pairs of start and length. */
  marks: [number, number][];
}

interface Found {
  hits: Hit[];
  next: string | number | null;
  indexed_to: number;
  last: number;
}

/** The host at one event, as `GET /v1/moment` shows it. */
interface Moment {
  gseq: number;
  at: string | null;
  sessions: (SessionSummary & { open_requests?: number })[];
  counts: Record<string, number>;
  /** The newest event of the host. */
  last: number;
  indexed_to: number;
}

/** Search over all sessions, the host as it was at any event, and the chain's proof. */
export function History() {
  const all = useConsole().sessions.all.value;
  const [text, setText] = useState("");
  const [agent, setAgent] = useState("");
  const [label, setLabel] = useState("");
  const query = useSettled(text.trim());
  const filter = { adapter: useSettled(agent.trim()), label: useSettled(label.trim()) };
  const agents = [...new Set(all.flatMap(({ adapter_id }) => adapter_id ?? []))].sort();
  const labels = [...new Set(all.flatMap((one) => labelsOf(one)))].sort();
  return (
    <Screen title="History" lead="Search every transcript, and see the host as it was" actions={<Verify />}>
      <div class="search-row" role="search">
        <input
          type="search"
          autofocus
          placeholder="Search all sessions"
          aria-label="Search all sessions"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <FilterField
          id="search-agents"
          names={["Any agent", "Agent"]}
          value={agent}
          change={setAgent}
          words={agents}
        />
        <FilterField
          id="search-labels"
          names={["Any label", "Label, as name=value"]}
          value={label}
          change={setLabel}
          words={labels.slice(0, 200)}
        />
      </div>
      {query === "" ? <TimeSlider /> : <Results key={JSON.stringify([query, filter])} query={query} filter={filter} />}
    </Screen>
  );
}

function labelsOf({ labels }: { labels: Readonly<Record<string, string>> }): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}

/** A field that narrows the search, with the words to choose from. */
function FilterField(
  { id, names: [placeholder, label], value, change, words }: {
    id: string;
    /** Its placeholder, and its name for who does not see it. */
    names: [placeholder: string, label: string];
    value: string;
    change: (value: string) => void;
    words: readonly string[];
  },
) {
  return (
    <>
      <input
        type="search"
        list={id}
        placeholder={placeholder}
        aria-label={label}
        value={value}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      <datalist id={id}>{words.map((word) => <option value={word} />)}</datalist>
    </>
  );
}

/** A value once it has not changed for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 250);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

function Results({ query, filter: { adapter, label } }: { query: string; filter: { adapter: string; label: string } }) {
  const { api } = useConsole();
  const [more, setMore] = useState<Found[]>([]);
  const wanted = { q: query, limit: 50, adapter: adapter || undefined, label: label.includes("=") ? label : undefined };
  const [loaded] = useLoaded((signal) => api.get<Found>("/v1/search", wanted, signal), []);
  if (label !== "" && !label.includes("=")) {
    return <p class="quiet-line">Write the label as name=value, such as team=shore.</p>;
  }
  if (loaded === undefined) return <p class="quiet-line">Searching …</p>;
  if ("failed" in loaded) return <Failure {...noticeOf(loaded.failed)} />;
  const pages = [loaded.value, ...more];
  const { next, indexed_to, last } = pages.at(-1) ?? loaded.value;
  const hits = pages.flatMap((page) => page.hits);
  const readMore = async () =>
    setMore([...more, await api.get<Found>("/v1/search", { ...wanted, before: next ?? undefined })]);
  return (
    <>
      {indexed_to < last && (
        <p class="quiet-line">
          The index is at event {indexed_to.toLocaleString("en")} of{" "}
          {last.toLocaleString("en")}; newer ones follow soon.
        </p>
      )}
      {hits.length === 0 && <NoHit hasOlder={next !== null} isFiltered={adapter !== "" || label !== ""} />}
      <ol class="hits">
        {hits.map((hit) => (
          <li key={`${hit.session_id}${hit.seq}`}>
            <a href={addressOf("sessions", hit.session_id, hit.seq)}>
              <span class="tag">{hit.type.replaceAll("_", " ")}</span> <b>{hit.adapter_id}</b> <Ago at={hit.at} />
            </a>
            <p class="hit-text">
              <Marked hit={hit} />
            </p>
          </li>
        ))}
      </ol>
      {next !== null && <button type="button" class="more" onClick={() => void readMore()}>Show older ones</button>}
    </>
  );
}

function NoHit({ hasOlder, isFiltered }: { hasOlder: boolean; isFiltered: boolean }) {
  return (
    <Empty title={hasOlder ? "None among the newest events" : "No event has these words"}>
      <p>
        {hasOlder
          ? "There are older ones with these words: look further."
          : isFiltered
          ? "Try fewer words, or clear the agent and the label."
          : "Try fewer words, or the beginning of one."}
      </p>
    </Empty>
  );
}

function Marked({ hit: { text, marks } }: { hit: Hit }) {
  const parts = [];
  let at = 0;
  for (const [start, length] of marks) {
    if (start < at) continue;
    parts.push(
      <Text of={text.slice(at, start)} />,
      <mark>
        <Text of={text.slice(start, start + length)} />
      </mark>,
    );
    at = start + length;
  }
  return (
    <>
      {parts}
      <Text of={text.slice(at)} />
    </>
  );
}

function TimeSlider() {
  const { api } = useConsole();
  const [newest] = useLoaded((signal) => api.get<Moment>("/v1/moment", {}, signal), []);
  const [at, setAt] = useState<number | null>(null);
  const [asked, setAsked] = useState<number | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(at), 120);
    return () => clearTimeout(timer);
  }, [at]);
  const [loaded, again] = useLoaded((signal) => api.get<Moment>("/v1/moment", { at: asked ?? undefined }, signal), [
    asked,
  ]);
  const [kept, setKept] = useState<Moment | null>(null);
  useEffect(() => {
    if (loaded === undefined || !("value" in loaded)) return;
    setKept(loaded.value);
    // The index follows the events a moment later.
    if (loaded.value.indexed_to >= (asked ?? loaded.value.last)) return;
    const timer = setTimeout(again, 1000);
    return () => clearTimeout(timer);
  }, [loaded]);
  if (newest !== undefined && "failed" in newest) return <Failure {...noticeOf(newest.failed)} />;
  if (newest === undefined || kept === null) return <p class="quiet-line">Reading …</p>;
  const { last } = newest.value;
  if (last > 0) return <MomentPanel of={kept} at={at ?? last} last={last} move={setAt} />;
  return (
    <Empty title="Nothing has happened yet">
      <p>Every event of every session will be found here.</p>
    </Empty>
  );
}

/** The host at one of its events, and the slider that moves to another. */
function MomentPanel(
  { of: kept, at, last, move }: { of: Moment; at: number; last: number; move: (at: number) => void },
) {
  return (
    <section class="panel">
      <h2>
        The host at event {at.toLocaleString("en")}{" "}
        {kept.at !== null && <span class="quiet-line">{new Date(kept.at).toLocaleString()}</span>}
      </h2>
      <input
        type="range"
        class="wide"
        min={1}
        max={last}
        value={at}
        aria-label="Event"
        onInput={({ currentTarget }) => move(Number(currentTarget.value))}
      />
      <p class="counts">
        {Object.entries(kept.counts).map(([name, count]) => (
          <span>
            <b>{count.toLocaleString("en")}</b> {name.replaceAll("_", " ")}
          </span>
        ))}
      </p>
      <ul class="session-list">
        {kept.sessions.slice(0, 100).map((session) => <MomentRow of={session} />)}
      </ul>
    </section>
  );
}

function MomentRow({ of: session }: { of: Moment["sessions"][number] }) {
  return (
    <ListRow
      mark={<StandingMark of={standingOf(session)} />}
      href={addressOf("sessions", session.session_id, Math.max(1, session.last_seq))}
      title={session.title}
      at={session.started_at}
      usage={<Export id={session.session_id} />}
    >
      <b>{session.adapter_id}</b>
    </ListRow>
  );
}

function Verify() {
  const found = useConsole();
  const [said, setSaid] = useState<string | null>(null);
  const verify = async () => {
    setSaid("Verifying …");
    const isDone = await attempt(found, null, async () => {
      const { ok, events, problems } = await found.api.get<{ ok: boolean; events: number; problems: unknown[] }>(
        "/v1/verify",
      );
      setSaid(
        ok
          ? `All ${events.toLocaleString("en")} events are as they were written.`
          : `The journal was changed: ${problems.length} problems. Run "bulkhead journal verify" to see them.`,
      );
    });
    if (!isDone) setSaid(null);
  };
  return (
    <>
      {said !== null && <span role="status">{said}</span>}
      <button type="button" onClick={() => void verify()}>Verify the journal</button>
    </>
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
