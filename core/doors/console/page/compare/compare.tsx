import { useState } from "preact/hooks";
import type { TestRun } from "../../../../ground/checks/test-commands.ts";
import type { Comparison } from "../../../../sessions/host/compare-results.ts";
import type { Artifact } from "../../../../../plugin-sdk/result.ts";
import type { Workspace } from "../../../../../plugin-sdk/workspace.ts";
import type { HostApi } from "../api.ts";
import { useConsole } from "../console-context.ts";
import { useMay } from "../may.tsx";
import { Failed, Screen, StandingMark, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { standingOf } from "../session-list.ts";
import { plainText } from "../shown-text.ts";
import { AdoptDialog, type Adoption, AdoptLine } from "./adopt.tsx";
import { type ComparedAgent, isOpen } from "./compared-agent.ts";
import { FactsTable } from "./facts-table.tsx";
import { ComparedFiles } from "./file-list.tsx";

/** A comparison as `GET /v1/comparisons/{id}` shows it. */
interface WholeComparison extends Comparison {
  title: string;
  running: { session_id: string; adapter_id: string | null }[];
}

/** The agents of one prompt, side by side. */
export function Compare({ id }: { id: string }) {
  const { api, sessions } = useConsole();
  const ended = sessions.all.value.filter(({ state }) => state === "ended").length;
  const [loaded, again] = useLoaded((signal) => readComparison(api, { id, signal }), [id, ended]);
  if (loaded === undefined || "failed" in loaded) {
    return (
      <Screen title="Compare">
        {loaded === undefined ? <p class="quiet-line">Reading …</p> : (
          <>
            <Failed of={loaded.failed} />
            <a href={addressOf("compare")}>All comparisons</a>
          </>
        )}
      </Screen>
    );
  }
  const { title, running, agents } = loaded.value;
  return (
    <Screen title="Compare" lead={plainText(title, 300)}>
      {running.map((one) => <RunningLine key={one.session_id} of={one} />)}
      {agents.length > 0 && <Facts agents={agents} again={again} />}
      <ComparedFiles agents={agents} />
    </Screen>
  );
}

function RunningLine({ of: { session_id, adapter_id } }: { of: WholeComparison["running"][number] }) {
  const session = useConsole().sessions.find(session_id);
  return (
    <p class="running-line">
      <b>{adapter_id ?? "no agent yet"}</b> {session !== undefined && <StandingMark of={standingOf(session)} />}{" "}
      <a href={addressOf("sessions", session_id)}>Watch it</a>
    </p>
  );
}

function Facts({ agents, again }: { agents: readonly ComparedAgent[]; again: () => void }) {
  const canRun = useMay("run");
  const [asked, setAsked] = useState<ComparedAgent | null>(null);
  const [adoption, setAdoption] = useState<Adoption | null>(null);
  const over = (wasDone: boolean) => {
    setAdoption(null);
    if (wasDone) again();
  };
  return (
    <>
      {adoption !== null && <AdoptLine of={adoption} over={over} />}
      <FactsTable agents={agents}>
        {(agent) =>
          canRun && isOpen(agent) && (
            <button
              type="button"
              class="primary"
              disabled={adoption !== null}
              onClick={() => setAsked(agent)}
            >
              Adopt …
            </button>
          )}
      </FactsTable>
      {asked !== null && (
        <AdoptDialog
          agent={asked}
          agents={agents}
          choose={setAdoption}
          close={() => setAsked(null)}
        />
      )}
    </>
  );
}

/** Reads a comparison, with the answer, the tests and the files of each agent. */
async function readComparison(api: HostApi, { id, signal }: { id: string; signal: AbortSignal }) {
  const [comparison, { workspaces }] = await Promise.all([
    api.get<WholeComparison>(`/v1/comparisons/${encodeURIComponent(id)}`, {}, signal),
    api.get<{ workspaces: Workspace[] }>("/v1/workspaces", {}, signal),
  ]);
  const states = new Map(workspaces.map(({ session_id, state }) => [session_id, state]));
  const ids = comparison.sessions.map(({ adapter_id }) => adapter_id);
  const agents = comparison.sessions.map(async (row, at): Promise<ComparedAgent> => {
    const path = `/v1/sessions/${encodeURIComponent(row.session_id)}`;
    const worktree = states.get(row.session_id);
    const [session, { tests }, diff] = await Promise.all([
      api.get<{ result: { output: string } | null }>(path, {}, signal),
      api.get<{ tests: TestRun[] }>(`${path}/tests`, {}, signal),
      worktree === "open" || worktree === "applying"
        ? api.get<{ artifacts: Artifact[] }>(`${path}/diff`, {}, signal).catch(() => null)
        : null,
    ]);
    const isTwice = ids.indexOf(row.adapter_id) !== ids.lastIndexOf(row.adapter_id);
    // A worktree without a change was removed at the end of its session.
    const untouched = row.files_changed === 0 && row.outcome === "completed" ? [] : null;
    return {
      ...row,
      name: isTwice ? `${row.adapter_id} ${at + 1}` : row.adapter_id,
      worktree,
      answer: session.result?.output ?? "",
      tests,
      files: diff?.artifacts ?? untouched,
    };
  });
  return { ...comparison, agents: await Promise.all(agents) };
}
