import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import { useState } from "preact/hooks";
import type { Workspace } from "../../../../../plugin-sdk/workspace.ts";
import type { Comparison } from "../../../../sessions/host/compare-results.ts";
import { attempt, noticeOf, useConsole } from "../console-context.ts";
import {
  countText,
  durationText,
  Empty,
  Failure,
  ListRow,
  OutcomeMark,
  Screen,
  StandingMark,
  useLoaded,
} from "../parts.tsx";
import { addressOf, goTo } from "../route.ts";
import { SessionDiffText } from "../diff-text.tsx";
import { standingOf } from "../session-list.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";

interface ComparisonRow {
  id: string;
  title: string;
  started_at: string;
  session_ids: string[];
}

/** A comparison as `GET /v1/comparisons/{id}` shows it. */
type WholeComparison = Omit<ComparisonRow, "session_ids"> & Comparison & {
  running: { session_id: string; adapter_id: string | null }[];
};

/** Prompts that ran on several agents. */
export function CompareList() {
  const { api, sessions } = useConsole();
  const [loaded] = useLoaded((signal) => api.get<{ comparisons: ComparisonRow[] }>("/v1/comparisons", {}, signal), [
    sessions.all.value.length,
  ]);
  if (loaded !== undefined && "failed" in loaded) {
    return (
      <Screen title="Compare">
        <Failure {...noticeOf(loaded.failed)} />
      </Screen>
    );
  }
  const rows = loaded?.value.comparisons ?? [];
  return (
    <Screen
      title="Compare"
      lead="The same prompt on several agents, side by side"
      actions={<a class="button primary" href={addressOf("start")}>Compare agents</a>}
    >
      {loaded !== undefined && rows.length === 0 && <NoComparison />}
      <ul class="session-list">
        {rows.map(({ id, title, started_at, session_ids }) => (
          <ListRow
            mark={<span class="standing">{session_ids.length} agents</span>}
            href={addressOf("compare", id)}
            title={title}
            at={started_at}
          >
            {session_ids.map((one) => sessions.find(one)?.adapter_id).filter((one) => one != null).join(", ")}
          </ListRow>
        ))}
      </ul>
    </Screen>
  );
}

function NoComparison() {
  return (
    <Empty title="Nothing to compare yet">
      <p>
        Start a session and choose several agents. Each works in a worktree of its own; adopt the one you like best.
      </p>
      <p>
        From a terminal: <code class="command">bulkhead run --all "Your prompt"</code>
      </p>
    </Empty>
  );
}

/** The agents of one prompt, side by side. */
export function Compare({ id }: { id: string }) {
  const { api, sessions } = useConsole();
  const ended = sessions.all.value.filter(({ state }) => state === "ended").length;
  const [loaded, again] = useLoaded(async (signal) => {
    const [comparison, { workspaces }] = await Promise.all([
      api.get<WholeComparison>(`/v1/comparisons/${encodeURIComponent(id)}`, {}, signal),
      api.get<{ workspaces: Workspace[] }>("/v1/workspaces", {}, signal),
    ]);
    return { ...comparison, states: new Map(workspaces.map(({ session_id, state }) => [session_id, state])) };
  }, [id, ended]);
  if (loaded === undefined || "failed" in loaded) {
    return (
      <Screen title="Compare">
        {loaded === undefined ? <p class="quiet-line">Reading …</p> : <Failure {...noticeOf(loaded.failed)} />}
      </Screen>
    );
  }
  const { title, sessions: rows, running, overlapping_files, states } = loaded.value;
  return (
    <Screen title="Compare" lead={plainText(title, 200)}>
      <div class="columns">
        {rows.map((row) => (
          <Column key={row.session_id} row={row} worktree={states.get(row.session_id)} changed={again} />
        ))}
        {running.map((one) => <RunningColumn key={one.session_id} of={one} />)}
      </div>
      {overlapping_files.length > 0 && <Overlapping files={overlapping_files} rows={rows} />}
    </Screen>
  );
}

function RunningColumn({ of: { session_id, adapter_id } }: { of: WholeComparison["running"][number] }) {
  const session = useConsole().sessions.find(session_id);
  return (
    <section class="column">
      <h2>{adapter_id ?? "no agent yet"}</h2>
      {session !== undefined && <StandingMark of={standingOf(session)} />}
      <p>
        <a href={addressOf("sessions", session_id)}>Watch it</a>
      </p>
    </section>
  );
}

/** Files that several agents changed, and whether to the same. */
function Overlapping(
  { files, rows }: { files: Comparison["overlapping_files"]; rows: Comparison["sessions"] },
) {
  const nameOf = (id: string) => rows.find(({ session_id }) => session_id === id)?.adapter_id ?? id.slice(0, 8);
  return (
    <section class="panel">
      <h2>Files that several changed</h2>
      <ul class="plain-list">
        {files.map(({ path, session_ids, same }) => (
          <li>
            <span class={`tag ${same ? "tag-done" : "tag-waiting"}`}>{same ? "same" : "different"}</span>{" "}
            <code>
              <Text of={path} />
            </code>{" "}
            <span class="quiet-line">by {session_ids.map(nameOf).join(", ")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Column(
  { row, worktree, changed }: {
    row: Comparison["sessions"][number];
    worktree: Workspace["state"] | undefined;
    changed: () => void;
  },
) {
  const found = useConsole();
  const [shows, setShows] = useState(false);
  const path = `/v1/sessions/${encodeURIComponent(row.session_id)}`;
  const adopt = async () => {
    const done = `The changes of ${row.adapter_id} are in the repository, not staged.`;
    if (await attempt(found, done, () => found.api.send("POST", `${path}/apply`))) changed();
    else goTo("review", row.session_id);
  };
  const isOpen = worktree === "open" || worktree === "applying";
  return (
    <section class="column">
      <header class="column-head">
        <h2>{row.adapter_id}</h2>
        <OutcomeMark of={row.outcome} why={row.stop_reason} />
        {worktree === "applied" && <span class="tag tag-grant">adopted</span>}
        {worktree === "discarded" && !!row.files_changed && <span class="tag">discarded</span>}
      </header>
      <Facts of={row} />
      <div class="answers">
        {isOpen && !!row.files_changed && (
          <>
            <button type="button" class="primary" onClick={() => void adopt()}>Adopt</button>
            <button type="button" aria-expanded={shows} onClick={() => setShows(!shows)}>
              {shows ? "Hide the diff" : "Show the diff"}
            </button>
          </>
        )}
        <a href={addressOf("sessions", row.session_id)}>Session</a>
      </div>
      {shows && <SessionDiffText id={row.session_id} />}
    </section>
  );
}

function Facts({ of: row }: { of: Comparison["sessions"][number] }) {
  return (
    <dl class="facts">
      <dt>Time</dt>
      <dd>{durationText(row.duration_ms)}</dd>
      <dt>Cost</dt>
      <dd>{formatCost(row.cost, row.currency)}</dd>
      <dt>Tokens</dt>
      <dd>{row.tokens === null ? "unknown" : countText(row.tokens)}</dd>
      <dt>Changed files</dt>
      <dd>
        {row.files_changed === null ? "unknown" : row.files_changed === 0 ? "none" : row.files_changed}{" "}
        {row.lines_added !== null && row.lines_removed !== null && (
          <>
            <span class="plus">+{row.lines_added}</span> <span class="minus">−{row.lines_removed}</span>
          </>
        )}
      </dd>
      {row.confidence !== null && row.outcome !== "error" && (
        <>
          <dt>Confidence</dt>
          <dd>{Math.round(row.confidence * 100)} %</dd>
        </>
      )}
    </dl>
  );
}
