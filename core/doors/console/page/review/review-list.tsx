import type { ListedWorkspace } from "../../../http/listed-workspace.ts";
import { useConsole } from "../console-context.ts";
import { May } from "../may.tsx";
import { Empty, Failed, ListRow, Screen, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { shortPath } from "../sessions/short-path.ts";
import { Text } from "../text.tsx";

/** Worktrees that wait for a decision. */
export function ReviewList() {
  const { api, sessions } = useConsole();
  const [loaded] = useLoaded((signal) => api.get<{ workspaces: ListedWorkspace[] }>("/v1/workspaces", {}, signal), [
    sessions.all.value.length,
  ]);
  if (loaded !== undefined && "failed" in loaded) {
    return (
      <Screen title="Review">
        <Failed of={loaded.failed} />
      </Screen>
    );
  }
  const open = loaded?.value.workspaces.filter(({ state }) => state === "open" || state === "applying").reverse() ?? [];
  return (
    <Screen
      title="Review"
      lead={loaded === undefined
        ? "Reading …"
        : `${open.length} ${open.length === 1 ? "worktree waits" : "worktrees wait"} for a decision`}
    >
      {loaded !== undefined && open.length === 0 && <NoWorktree />}
      <ul class="session-list worktree-list">
        {open.map((one) => <WorktreeRow key={one.session_id} of={one} />)}
      </ul>
    </Screen>
  );
}

function WorktreeRow(
  { of: { session_id, title, adapter_id, repository, created_at, running, conflict, later_sessions = [] } }: {
    of: ListedWorkspace;
  },
) {
  return (
    <ListRow
      mark={<span class="standing">{running ? "Runs" : conflict !== null ? "Conflict" : "Open"}</span>}
      href={addressOf("review", session_id)}
      title={title ?? `Session ${session_id.slice(0, 8)}`}
      at={created_at}
    >
      <b>
        <Text of={adapter_id ?? ""} />
      </b>
      <code>
        <Text of={shortPath(repository)} />
      </code>
      {later_sessions.length > 0 && <span>{later_sessions.length + 1} rounds</span>}
    </ListRow>
  );
}

function NoWorktree() {
  return (
    <Empty title="No worktree waits">
      <p>A session that runs in a worktree leaves its changes here, to apply or discard.</p>
      <May right="run">
        <p>
          <a class="button primary" href={addressOf("start")}>Start one</a>
        </p>
      </May>
    </Empty>
  );
}
