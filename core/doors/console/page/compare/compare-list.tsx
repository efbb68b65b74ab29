import type { AgentReport } from "../../../../../plugin-sdk/agent-report.ts";
import { useConsole } from "../console-context.ts";
import { May } from "../may.tsx";
import { Command, Empty, Failed, ListRow, Screen, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { isOn } from "../screens/start-agents.tsx";
import { Text } from "../text.tsx";

interface ComparisonRow {
  id: string;
  title: string;
  started_at: string;
  session_ids: string[];
  adapter_ids: (string | null)[];
}

/** Prompts that ran on several agents. */
export function CompareList() {
  const { api, sessions } = useConsole();
  const [loaded] = useLoaded((signal) => api.get<{ comparisons: ComparisonRow[] }>("/v1/comparisons", {}, signal), [
    sessions.all.value.length,
  ]);
  if (loaded !== undefined && "failed" in loaded) {
    return (
      <Screen title="Compare">
        <Failed of={loaded.failed} />
      </Screen>
    );
  }
  const rows = loaded?.value.comparisons ?? [];
  return (
    <Screen
      title="Compare"
      lead="The same prompt on several agents, side by side"
      actions={
        <May right="run">
          <a class="button primary" href={addressOf("start")}>Compare agents</a>
        </May>
      }
    >
      {loaded !== undefined && rows.length === 0 && <NoComparison />}
      <ul class="session-list worktree-list">
        {rows.map(({ id, title, started_at, session_ids, adapter_ids }) => (
          <ListRow
            mark={<span class="standing">{session_ids.length} agents</span>}
            href={addressOf("compare", id)}
            title={title}
            at={started_at}
          >
            <Text of={adapter_ids.filter((one) => one !== null).join(", ")} />
          </ListRow>
        ))}
      </ul>
    </Screen>
  );
}

/** Names a command that works as the host is: without an agent, the one that finds some. */
function NoComparison() {
  const { api } = useConsole();
  const [loaded] = useLoaded(
    (signal) => api.get<{ agents: AgentReport[] }>("/v1/agents", { probe: false }, signal),
    [],
  );
  const agents = loaded !== undefined && "value" in loaded ? loaded.value.agents : null;
  return (
    <Empty title="Nothing to compare yet">
      <p>
        Start a session and choose several agents. Each works in a worktree of its own; adopt the one you like best.
      </p>
      {agents?.some(isOn) && (
        <p>
          From a terminal: <Command text='bulkhead run --all "Your prompt"' />
        </p>
      )}
      {agents !== null && !agents.some(isOn) && (
        <p>
          No agent is on yet. To find those of this machine: <Command text="bulkhead setup" />
        </p>
      )}
    </Empty>
  );
}
