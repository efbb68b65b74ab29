import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { attempt, useConsole } from "../console-context.ts";
import { May } from "../may.tsx";
import { Screen } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { useCounts } from "../sessions/use-counts.ts";
import { FoundPlaces, type SearchFilter } from "./found-places.tsx";
import { TimeStrip } from "./time-strip.tsx";

/** Kinds of places, by their words. */
const kinds = { files: "Files", said: "Said", commands: "Commands", denied: "Denied" } as const;

/** Search over all sessions, and what ran at any time. */
export function History({ words }: { words: string }) {
  const [text, setText] = useState(words);
  const [kind, setKind] = useState<keyof typeof kinds | null>(null);
  const [agent, setAgent] = useState("");
  const [label, setLabel] = useState("");
  const query = useSettled(text.trim());
  const filter = { kind, adapter: useSettled(agent.trim()), label: useSettled(label.trim()) };
  // A reload and a copied address show the same search; the way back does not go through each letter.
  useEffect(() => {
    globalThis.history.replaceState(null, "", addressOf("history", ...(query === "" ? [] : [query])));
  }, [query]);
  return (
    <Screen
      title="History"
      lead="Search every transcript, and see what ran when"
      actions={
        <May right="admin">
          <Verify />
        </May>
      }
    >
      <div class="search-row" role="search">
        <WordsField text={text} setText={setText} />
        <NarrowFields agent={agent} setAgent={setAgent} label={label} setLabel={setLabel} />
      </div>
      {query !== "" && <Kinds kind={kind} choose={setKind} />}
      {query === "" ? <TimeStrip /> : <FoundIn query={query} filter={filter} />}
    </Screen>
  );
}

function WordsField({ text, setText }: { text: string; setText: (text: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    // On a phone the keyboard would cover the strip.
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);
  return (
    <input
      ref={field}
      type="search"
      placeholder="Words, a file, a command …"
      aria-label="Search all sessions"
      value={text}
      onInput={({ currentTarget }) => setText(currentTarget.value)}
      onKeyDown={({ key, currentTarget }) => key === "Escape" && currentTarget.blur()}
    />
  );
}

function NarrowFields(
  { agent, setAgent, label, setLabel }: {
    agent: string;
    setAgent: (agent: string) => void;
    label: string;
    setLabel: (label: string) => void;
  },
) {
  const counts = useCounts();
  const agents = counts?.adapters.map(({ name }) => name) ?? [];
  const labels = counts?.labels.map(({ name }) => name) ?? [];
  return (
    <>
      <FilterField id="search-agents" names={["Any agent", "Agent"]} value={agent} change={setAgent} words={agents} />
      <FilterField
        id="search-labels"
        names={["Any label", "Label, as name=value"]}
        value={label}
        change={setLabel}
        words={labels}
      />
    </>
  );
}

function FoundIn({ query, filter }: { query: string; filter: SearchFilter }) {
  if (filter.label !== "" && !filter.label.includes("=")) {
    return <p class="quiet-line">Write the label as name=value, such as team=shore.</p>;
  }
  return <FoundPlaces key={JSON.stringify([query, filter])} query={query} filter={filter} />;
}

function Kinds(
  { kind, choose }: { kind: SearchFilter["kind"]; choose: (kind: SearchFilter["kind"]) => void },
) {
  return (
    <div class="chips" role="group" aria-label="Kinds of places">
      <button type="button" class="chip" aria-pressed={kind === null} onClick={() => choose(null)}>All</button>
      {(Object.keys(kinds) as (keyof typeof kinds)[]).map((one) => (
        <button
          type="button"
          class="chip"
          aria-pressed={kind === one}
          onClick={() => choose(kind === one ? null : one)}
        >
          {kinds[one]}
        </button>
      ))}
    </div>
  );
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
