import { useEffect, useState } from "preact/hooks";
import type { Envelope } from "../../../../../plugin-sdk/envelope.ts";
import { omitEmpty } from "../../../../../plugin-sdk/optional-fields.ts";
import type { SessionRequest } from "../../../../../plugin-sdk/request.ts";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { type HostApi, lineGroups } from "../api.ts";
import { attempt, useConsole } from "../console-context.ts";
import { folderName } from "../sessions/short-path.ts";
import { plainText } from "../shown-text.ts";

type Begin = Extract<Envelope["event"], { type: "session_started" }>;

/** Terms of an earlier session, for a new one. */
export interface Preset {
  session_id: string;
  title: string;
  adapter_id: string;
  /** Those that the form has fields for. */
  fields: Partial<SessionRequest>;
  /** The others: they go along unseen, but are named. */
  others: Partial<SessionRequest>;
  /** Names of its variables, whose values are not kept. */
  env: string[];
}

/** Sessions that the lists of a form offer. */
const mostRecent = 30;

/** Parts of a request that the form has fields for. */
const withField: ReadonlySet<string> = new Set<keyof SessionRequest>([
  "workdir",
  "workspace",
  "model",
  "approval",
  "effort",
  "params",
  "timeout_ms",
  "budget",
]);

/** Labels by which doors find their sessions: a new session is none of those. */
const labelsOfDoors: ReadonlySet<string> = new Set(["door", "acp_session", "comparison"]);

/** Parts that belong to one run. */
const ofOneRun: ReadonlySet<string> = new Set<keyof SessionRequest>([
  "prompt",
  "content",
  "env",
  "idempotency_key",
  "traceparent",
  "task_id",
  "continue_from",
  "fork",
  "iteration",
  "max_iterations",
  "replay_of",
]);

/** Takes the terms of a session; of the one that the page's address names at first. */
export function usePreset(first: string | undefined, taken: (preset: Preset) => void) {
  const found = useConsole();
  const [preset, setPreset] = useState<Preset | null>(null);
  const take = async (id: string) => {
    if (id === "") return setPreset(null);
    await attempt(found, null, async () => {
      const begun = await readBegin(found.api, id);
      if (begun === null) throw new Error("Its terms are not kept any more.");
      const next = presetOf(begun, found.sessions.find(id));
      setPreset({ ...next, session_id: id });
      taken({ ...next, session_id: id });
    });
  };
  useEffect(() => void (first !== undefined && take(first)), [first]);
  return { preset, take };
}

/** @param listed what the list knows of the session: the agent that had it last */
function presetOf(
  { requested, adapter_id }: Begin,
  listed: SessionSummary | undefined,
): Omit<Preset, "session_id"> {
  const { labels, ...further } = requested;
  const terms = Object.entries(further).filter(([name]) => !ofOneRun.has(name));
  const { fitting, unfit } = labelsOf(labels);
  const fields = Object.fromEntries(terms.filter(([name]) => withField.has(name))) as Partial<SessionRequest>;
  const others = Object.fromEntries(terms.filter(([name]) => !withField.has(name))) as Partial<SessionRequest>;
  return {
    title: listed?.title ?? requested.prompt,
    adapter_id: listed?.adapter_id ?? adapter_id,
    fields: { ...fields, labels: fitting },
    others: { ...others, ...omitEmpty({ labels: unfit }) },
    env: Object.keys(requested.env ?? {}),
  };
}

/** Parts labels into those that fit into a field, and those with a space. */
function labelsOf(labels: Readonly<Record<string, string>> = {}) {
  const own = Object.entries(labels).filter(([name]) => !labelsOfDoors.has(name));
  const isUnfit = ([name, value]: [string, string]) => /[\s=]/.test(name) || /\s/.test(value);
  return {
    fitting: Object.fromEntries(own.filter((one) => !isUnfit(one))),
    unfit: Object.fromEntries(own.filter(isUnfit)),
  };
}

/** Reads a session's request, which its first event has; null where that is not kept any more. */
async function readBegin(api: HostApi, id: string): Promise<Begin | null> {
  const path = `/v1/sessions/${encodeURIComponent(id)}/events`;
  for await (const [line] of lineGroups(await api.open(path, { limit: 1, follow: false }))) {
    if (line === undefined) continue;
    const { event } = JSON.parse(line) as Envelope;
    return event.type === "session_started" ? event : null;
  }
  return null;
}

interface PresetsProps {
  of: Preset | null;
  /** Whether its agent can be chosen; null until that is known. */
  hasAgent: boolean | null;
  take(id: string): unknown;
}

/** The latest sessions, of which one gives its terms, and what it gives beside the fields below. */
export function Presets({ of: preset, hasAgent, take }: PresetsProps) {
  const { sessions } = useConsole();
  const recent = sessions.all.value.slice(0, mostRecent);
  const listed = recent.some(({ session_id }) => session_id === preset?.session_id);
  if (recent.length === 0) return null;
  return (
    <>
      <label>
        As in an earlier session
        <select onChange={({ currentTarget }) => void take(currentTarget.value)}>
          <option value="" selected={preset === null}>Its agent, folder and terms …</option>
          {preset !== null && !listed && (
            <option value={preset.session_id} selected>{plainText(preset.title, 60)}</option>
          )}
          {recent.map(({ session_id, title, adapter_id, workdir }) => (
            <option value={session_id} selected={session_id === preset?.session_id}>
              {plainText(
                [title, adapter_id, folderName(workdir)].filter((one) =>
                  one
                ).join(" · "),
                100,
              )}
            </option>
          ))}
        </select>
      </label>
      {preset !== null && <Told of={preset} hasAgent={hasAgent} />}
    </>
  );
}

/** The terms of a preset that no field shows, and what it lacks. */
function Told({ of: { adapter_id, others, env }, hasAgent }: { of: Preset; hasAgent: boolean | null }) {
  const names = Object.keys(others).filter((name) => name !== "best_effort");
  const sentences = [
    ...hasAgent === false ? [`Its agent, ${adapter_id}, is off: choose one.`] : [],
    ...names.length === 0 ? [] : [`Also as there: ${names.join(", ")}.`],
    ...env.length === 0 ? [] : [`The values of its variables are not kept: ${env.join(", ")}.`],
  ];
  if (sentences.length === 0) return null;
  return <p class="quiet-line" role="status">{plainText(sentences.join(" "), 600)}</p>;
}

/** Prompts of the latest sessions: one that is chosen is read whole, and goes into the field. */
export function RecentPrompts({ into }: { into: { current: HTMLTextAreaElement | null } }) {
  const found = useConsole();
  const named = new Map(found.sessions.all.value.map(({ title, session_id }) => [title, session_id]));
  const titles = [...named.keys()].filter((title) => title !== "").slice(0, mostRecent);
  if (titles.length === 0) return null;
  const take = async (title: string) => {
    const id = named.get(title);
    if (id === undefined) return;
    await attempt(found, null, async () => {
      const begun = await readBegin(found.api, id);
      if (into.current === null) return;
      if (begun !== null) into.current.value = begun.requested.prompt;
      into.current.focus();
    });
  };
  return (
    <label>
      Recent prompts
      <select onChange={({ currentTarget }) => void take(currentTarget.value)}>
        <option value="">Take one again …</option>
        {titles.map((title) => <option value={title}>{plainText(title, 100)}</option>)}
      </select>
    </label>
  );
}
