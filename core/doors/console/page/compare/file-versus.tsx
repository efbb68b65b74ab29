import { structuredPatch } from "diff";
import { useMemo, useState } from "preact/hooks";
import type { HostApi } from "../api.ts";
import { RefusedCall } from "../api.ts";
import { useConsole } from "../console-context.ts";
import { Failed, useLoaded } from "../parts.tsx";
import { type DiffLine, linesOf, piecesOfHunks } from "../review/diff-lines.ts";
import { DiffTable } from "../review/diff-table.tsx";
import { readPatch } from "../review/patch-files.ts";
import { useHighlighter } from "../review/use-highlighter.ts";
import { Text } from "../text.tsx";
import type { ComparedAgent, ComparedFile } from "./compared-agent.ts";

/** The file before all of them. */
const before = "before";
/** Longest time that two files are compared. Milliseconds. */
const mostMs = 400;

/** One file as two agents left it, compared line by line. */
export function FileVersus({ file, agents }: { file: ComparedFile; agents: readonly ComparedAgent[] }) {
  const ids = file.groups.filter(({ isChanged }) => isChanged).flatMap(({ agents: [first] }) =>
    first?.session_id ?? []
  );
  const [from, setFrom] = useState(ids.length > 1 ? ids[0] ?? before : before);
  const [to, setTo] = useState(ids[1] ?? ids[0] ?? before);
  const names = (value: string, set: (id: string) => void, label: string) => (
    <label>
      {label}
      <select value={value} onChange={({ currentTarget }) => set(currentTarget.value)}>
        <option value={before}>before</option>
        {agents.map(({ session_id, name }) => <option value={session_id}>{name}</option>)}
      </select>
    </label>
  );
  return (
    <section class="diff diff-file versus" aria-label={file.path}>
      <header>
        <code class="file-name">
          <Text of={file.path} />
        </code>
        {names(from, setFrom, "From")}
        {names(to, setTo, "to")}
      </header>
      <Versions file={file} agents={agents} from={from} to={to} />
    </section>
  );
}

function Versions(
  { file, agents, from, to }: { file: ComparedFile; agents: readonly ComparedAgent[]; from: string; to: string },
) {
  const { api } = useConsole();
  const highlighter = useHighlighter();
  const [loaded] = useLoaded(async (signal) => {
    const all = await Promise.all(
      agents.map(({ session_id }) => linesIn(api, { id: session_id, path: file.path, signal })),
    );
    return new Map(agents.map(({ session_id }, at) => [session_id, all[at] ?? null]));
  }, [file.path, agents]);
  const pieces = useMemo(() => {
    if (loaded === undefined || "failed" in loaded) return null;
    const patch = structuredPatch(file.path, file.path, textOf(loaded.value, from), textOf(loaded.value, to), "", "", {
      context: 3,
      timeout: mostMs,
    });
    return patch === undefined ? null : piecesOfHunks(patch.hunks, { isWhole: true });
  }, [loaded, from, to]);
  if (loaded === undefined) return <p class="quiet-line">Reading …</p>;
  if ("failed" in loaded) return <Failed of={loaded.failed} />;
  if (pieces === null) return <p class="quiet-line">They differ too much to compare them here.</p>;
  if (pieces.length === 0) return <p class="quiet-line">No line of text differs.</p>;
  return (
    <div class="diff-scroll" tabIndex={0} role="region" aria-label={`${file.path}, compared`}>
      <DiffTable path={file.path} pieces={pieces} highlighter={highlighter} />
    </div>
  );
}

/** Reads all lines of a file with an agent's changes; null where it did not change the file. */
async function linesIn(
  api: HostApi,
  { id, path, signal }: { id: string; path: string; signal: AbortSignal },
): Promise<DiffLine[] | null> {
  try {
    const { patch = "" } = await api.get<{ patch?: string }>(
      `/v1/sessions/${encodeURIComponent(id)}/diff`,
      { path },
      signal,
    );
    return readPatch(patch)[0]?.hunks().flatMap(linesOf) ?? [];
  } catch (error) {
    if (error instanceof RefusedCall && error.status === 404) return null;
    throw error;
  }
}

/** The file as an agent left it, or as it was before. One that an agent did not change is as it was before. */
function textOf(all: ReadonlyMap<string, readonly DiffLine[] | null>, id: string): string {
  const own = all.get(id) ?? null;
  const lines = own !== null
    ? own.filter((line) => line.new !== null)
    : [...all.values()].find((one) => one !== null)?.filter((line) => line.old !== null);
  return lines?.map(({ text }) => `${text}\n`).join("") ?? "";
}
