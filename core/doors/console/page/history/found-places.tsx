import { shortTimes } from "../rows/clock-text.ts";
import { useState } from "preact/hooks";
import { attempt, useConsole } from "../console-context.ts";
import { Empty, Failed, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { folderName } from "../sessions/short-path.ts";

/** Narrows a search. */
export interface SearchFilter {
  kind: "files" | "said" | "commands" | "denied" | null;
  /** Empty for any. */
  adapter: string;
  /** As `name=value`; empty for any. */
  label: string;
}

/** One event that a search found, as `GET /v1/search` lists it. */
interface Hit {
  session_id: string;
  seq: number;
  at: string;
  adapter_id: string;
  type: string;
  kind: SearchFilter["kind"];
  title: string;
  workdir: string;
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

/** Places of a session that are shown before a person asks for all. */
const fewPlaces = 4;

/** Places with the words of a search, by session, the newest first. */
export function FoundPlaces({ query, filter: { kind, adapter, label } }: { query: string; filter: SearchFilter }) {
  const found = useConsole();
  const { api } = found;
  const [more, setMore] = useState<Found[]>([]);
  const wanted = {
    q: query,
    limit: 100,
    kind: kind ?? undefined,
    adapter: adapter || undefined,
    label: label || undefined,
  };
  const [loaded] = useLoaded((signal) => api.get<Found>("/v1/search", wanted, signal), []);
  if (loaded === undefined) return <p class="quiet-line" role="status">Searching …</p>;
  if ("failed" in loaded) return <Failed of={loaded.failed} />;
  const pages = [loaded.value, ...more];
  const { next, indexed_to, last } = pages.at(-1) ?? loaded.value;
  const sessions = bySession(pages.flatMap((page) => page.hits), isPath(query));
  const readMore = () =>
    attempt(found, null, async () => {
      const page = await api.get<Found>("/v1/search", { ...wanted, before: next ?? undefined });
      setMore([...more, page]);
    });
  return (
    <>
      {indexed_to < last && (
        <p class="quiet-line">
          The index is at event {indexed_to.toLocaleString("en")} of{" "}
          {last.toLocaleString("en")}; newer ones follow soon.
        </p>
      )}
      {sessions.length === 0 && (
        <NoHit hasOlder={next !== null} isFiltered={kind !== null || adapter !== "" || label !== ""} />
      )}
      <ol class="found-sessions">
        {sessions.map((hits) => <FoundSession key={hits[0]?.session_id} hits={hits} />)}
      </ol>
      {next !== null && <button type="button" class="more" onClick={() => void readMore()}>Show older ones</button>}
    </>
  );
}

/** Whether words are a file's name: then the sessions that changed it come first. */
function isPath(query: string): boolean {
  return /\w[./]\w/.test(query);
}

/** Puts the places of one session together, those of files first. */
function bySession(hits: readonly Hit[], filesFirst: boolean): Hit[][] {
  const sessions = new Map<string, Hit[]>();
  for (const hit of hits) sessions.set(hit.session_id, [...sessions.get(hit.session_id) ?? [], hit]);
  const ordered = [...sessions.values()].map((some) =>
    withoutEnds(some).toSorted((a, b) => Number(b.kind === "files") - Number(a.kind === "files") || b.seq - a.seq)
  );
  const hasFile = (some: readonly Hit[]) => Number(some[0]?.kind === "files");
  return filesFirst ? ordered.sort((a, b) => hasFile(b) - hasFile(a)) : ordered;
}

/** Leaves out what the end of a session or a turn repeats. */
function withoutEnds(hits: readonly Hit[]): readonly Hit[] {
  const others = hits.filter(({ type }) => type !== "session_ended" && type !== "turn_ended");
  return others.length === 0 ? hits : others;
}

function FoundSession({ hits }: { hits: readonly Hit[] }) {
  const [isWhole, setIsWhole] = useState(false);
  const first = hits[0];
  if (first === undefined) return null;
  const { session_id, title, adapter_id, workdir, at } = first;
  return (
    <li class="found-session">
      <p class="found-head">
        <a class="session-title" href={addressOf("sessions", session_id)}>{plainText(title, 160)}</a>
        <span class="session-facts">
          <b>{plainText(adapter_id, 60)}</b>
          <span title={plainText(workdir, 300)}>{plainText(folderName(workdir), 60)}</span>
          <time dateTime={at}>{shortTimes.format(new Date(at))}</time>
          <span>{hits.length === 1 ? "1 place" : `${hits.length} places`}</span>
        </span>
      </p>
      <ol>
        {hits.slice(0, isWhole ? hits.length : fewPlaces).map((hit) => (
          <li key={hit.seq}>
            <a class="found-place" href={addressOf("sessions", session_id, hit.seq)}>
              <span class={`tag found-${hit.kind ?? "other"}`}>{wordOf(hit)}</span>
              <span class="found-text">
                <Marked hit={hit} />
              </span>
            </a>
          </li>
        ))}
      </ol>
      {hits.length > fewPlaces && !isWhole && (
        <button type="button" class="more" onClick={() => setIsWhole(true)}>
          {hits.length - fewPlaces} more in this session
        </button>
      )}
    </li>
  );
}

const words = { files: "file", said: "said", commands: "command", denied: "denied" } as const;

/** Events of no kind that a search can ask for. */
const others: Readonly<Record<string, string>> = {
  capability: "allowed",
  permission_request: "asked",
  question: "asked",
  permission_resolved: "answered",
  tool_call: "tool",
  tool_result: "result",
};

function wordOf({ kind, type }: Hit): string {
  return kind === null ? others[type] ?? plainText(type.replaceAll("_", " "), 40) : words[kind] ?? "";
}

function NoHit({ hasOlder, isFiltered }: { hasOlder: boolean; isFiltered: boolean }) {
  return (
    <Empty title={hasOlder ? "None among the newest events" : "No event has these words"}>
      <p>
        {hasOlder
          ? "There are older ones with these words: look further."
          : isFiltered
          ? "Try fewer words, or all kinds, agents and labels."
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
