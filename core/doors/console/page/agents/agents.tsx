import type { AgentReport } from "../../../../../plugin-sdk/agent-report.ts";
import type { ClusterMachine, ClusterStatus } from "../../../../../plugin-sdk/cluster-status.ts";
import type { PluginProblem, PluginReport } from "../../../../../plugin-sdk/plugin-report.ts";
import type { SessionCounts } from "../../../../../plugin-sdk/queries.ts";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { useEffect } from "preact/hooks";
import { RefusedCall } from "../api.ts";
import { attempt, useConsole } from "../console-context.ts";
import { May } from "../may.tsx";
import { Ago, Empty, Failed, Screen, useLoaded } from "../parts.tsx";
import { goTo } from "../route.ts";
import { noFilter } from "../sessions/list-filter.ts";
import { plainText } from "../shown-text.ts";
import { Queue } from "./queue.tsx";
import { Text } from "../text.tsx";

/** Facts of the agents and machines, as the host has them. */
interface Facts {
  agents: readonly AgentReport[];
  plugins: readonly PluginReport[];
  problems: readonly PluginProblem[];
  running: SessionCounts;
  /** Sessions that run, with what they do: those that wait to start say for what. */
  sessions: readonly SessionSummary[];
  /** Null where the host is alone. */
  cluster: ClusterStatus | null;
}

/** From one look to the next. Milliseconds. */
const everyMs = 30_000;

/** The agents of the host and how they are, what waits for a slot, and the machines of the cluster. */
export function Agents() {
  const { api } = useConsole();
  const read = (probe: boolean) => async (signal: AbortSignal): Promise<Facts> => {
    const [{ agents }, { plugins, problems }, running, { sessions }, cluster] = await Promise.all([
      api.get<{ agents: AgentReport[] }>("/v1/agents", { probe }, signal),
      api.get<{ plugins: PluginReport[]; problems: PluginProblem[] }>("/v1/plugins", {}, signal),
      api.get<SessionCounts>("/v1/sessions/counts", { state: "running" }, signal),
      api.get<{ sessions: SessionSummary[] }>("/v1/sessions", { state: "running", facts: true, limit: 500 }, signal),
      api.get<ClusterStatus>("/v1/cluster", {}, signal).catch(nullWhereAlone),
    ]);
    return { agents, plugins, problems, running, sessions, cluster };
  };
  // What is known is there at once; to ask each agent takes as long as its program.
  const [known] = useLoaded(read(false), []);
  const [asked, again] = useLoaded(read(true), []);
  const loaded = asked ?? known;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || void again(), everyMs);
    return () => clearInterval(timer);
  }, []);
  const facts = loaded !== undefined && "value" in loaded ? loaded.value : null;
  return (
    <Screen
      title="Agents and machines"
      lead={facts === null ? "How the agents are" : <Lead of={facts} />}
      actions={<button type="button" onClick={() => void again()}>Look again</button>}
    >
      {asked === undefined && <p class="quiet-line" role="status">Asking the agents …</p>}
      {loaded !== undefined && "failed" in loaded && <Failed of={loaded.failed} />}
      {facts !== null && <Queue of={facts.sessions} />}
      {facts !== null && <AgentList of={facts} again={again} />}
      {facts !== null && <Machines of={facts.cluster} />}
    </Screen>
  );
}

function nullWhereAlone(error: unknown): null {
  if (error instanceof RefusedCall && error.status === 404) return null;
  throw error;
}

function Lead({ of: { agents, running, sessions } }: { of: Facts }) {
  const on = agents.filter(({ availability }) => availability !== "disabled");
  const ready = on.filter(({ availability }) => availability === "available").length;
  const queued = sessions.filter(({ facts }) => facts?.queued !== undefined).length;
  return (
    <span>
      <b>{ready}</b> of {on.length} agents can take a session, {running.states.running} run{queued > 0 &&
        `, ${queued} of them ${queued === 1 ? "waits" : "wait"} for a slot`}
    </span>
  );
}

function AgentList({ of: { agents, plugins, problems, running }, again }: { of: Facts; again: () => void }) {
  const held = plugins.filter(isHeld);
  const broken = problems.filter(({ unavailable }) => unavailable);
  const ids = new Set([...held, ...broken].map(({ id }) => id));
  const on = agents.filter(({ id, availability }) => availability !== "disabled" && !ids.has(id));
  const off = agents.filter(({ id, availability }) => availability === "disabled" && !ids.has(id));
  const counts = new Map(running.adapters.map(({ name, count }) => [name, count]));
  // What cannot work stands first: it is the line that a person came for.
  const sorted = on.toSorted((a, b) => Number(a.availability === "available") - Number(b.availability === "available"));
  return (
    <section aria-label="Agents">
      {agents.length === 0 && (
        <Empty title="No agent yet">
          <p>
            Set one up in a terminal: <code class="command">bulkhead setup</code>
          </p>
        </Empty>
      )}
      <ul class="session-list agent-list">
        {held.map((plugin) => <HeldRow key={plugin.id} of={plugin} again={again} />)}
        {broken.map(({ id, error }) => (
          <li class="agent-row is-bad" key={id}>
            <AgentName id={id} name={id} />
            <span class="tag tag-failed">cannot be used</span>
            <span class="agent-why">
              <Text of={plainText(error.message, 300)} /> {error.hint !== undefined && <Text of={error.hint} />}
            </span>
          </li>
        ))}
        {sorted.map((agent) => <AgentRow key={agent.id} of={agent} running={counts.get(agent.id) ?? 0} />)}
      </ul>
      {off.length > 0 && <Off of={off} />}
    </section>
  );
}

/** Whether a plugin crashed so often that it gets no session. */
export function isHeld({ quarantine }: PluginReport): boolean {
  return quarantine !== null && quarantine.quarantined_at !== null;
}

/** One sentence on a plugin that is in quarantine. */
export function heldText({ quarantine }: PluginReport): string {
  const crashes = quarantine?.crashes.length ?? 0;
  return `It crashed ${crashes === 1 ? "once" : `${crashes} times`} and gets no session.`;
}

function HeldRow({ of: plugin, again }: { of: PluginReport; again: () => void }) {
  const found = useConsole();
  const release = async () => {
    const path = `/v1/plugins/${encodeURIComponent(plugin.id)}/release`;
    if (await attempt(found, `${plugin.name} gets sessions again.`, () => found.api.send("POST", path))) again();
  };
  return (
    <li class="agent-row is-bad">
      <AgentName id={plugin.id} name={plugin.name} />
      <span class="tag tag-failed">quarantine</span>
      <span class="agent-why">
        <span>
          {heldText(plugin)} Since <Ago at={plugin.quarantine?.quarantined_at ?? ""} />.
        </span>
      </span>
      <span class="agent-runs">
        <May right="admin">
          <button type="button" onClick={() => void release()}>Lift the quarantine</button>
        </May>
      </span>
    </li>
  );
}

function AgentRow({ of: agent, running }: { of: AgentReport; running: number }) {
  const { found } = useConsole();
  const { id, name, availability, reason, next_step, access_mode, agent_version, models, primary } = agent;
  const isReady = availability === "available";
  return (
    <li class={isReady ? "agent-row" : "agent-row is-bad"}>
      <AgentName id={id} name={name} />
      {isReady ? <span /> : <span class={`tag agent-${availability}`}>{availability.replaceAll("_", " ")}</span>}
      <span class="agent-why">
        {isReady ? agent_version !== undefined && <span>version {plainText(agent_version, 40)}</span> : (
          <>
            <Text of={plainText(reason, 300)} /> {next_step !== undefined && <Text of={plainText(next_step, 300)} />}
          </>
        )}
        {isReady && access_mode !== null && <span>{access_mode.type}</span>}
        {isReady && models.length > 0 && <span>{models.length} models</span>}
        {primary && <span class="tag">chosen first</span>}
      </span>
      <span class="agent-runs">
        {running > 0 && (
          <button
            type="button"
            class="plain"
            onClick={() => (found.ask({ ...noFilter, adapter: id }), goTo("sessions"))}
          >
            {running} running
          </button>
        )}
      </span>
    </li>
  );
}

function AgentName({ id, name }: { id: string; name: string }) {
  return (
    <span class="agent-name">
      <b>
        <Text of={plainText(name, 80)} />
      </b>{" "}
      {id !== name && (
        <code>
          <Text of={plainText(id, 80)} />
        </code>
      )}
    </span>
  );
}

function Off({ of: agents }: { of: readonly AgentReport[] }) {
  return (
    <details class="quiet">
      <summary>{agents.length} more are off</summary>
      <ul class="plain-list">
        {agents.map(({ id, name, next_step, reason }) => (
          <li>
            <b>{plainText(name, 80)}</b> <code>{plainText(id, 80)}</code>{" "}
            <span class="quiet-line">
              <Text of={plainText(next_step ?? reason, 300)} />
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Machines({ of: cluster }: { of: ClusterStatus | null }) {
  if (cluster === null) {
    return (
      <section aria-label="Machines">
        <h2>Machines</h2>
        <p class="quiet-line">
          This host is alone. Name servers under <code>cluster</code> in bulkhead.yaml to share sessions with others.
        </p>
      </section>
    );
  }
  const { machines, connected, server, round_trip_ms, waiting_sessions, slots, host_sessions, logs } = cluster;
  const behind = new Map(logs.map((log) => [log.machine, log.behind]));
  return (
    <section aria-label="Machines">
      <h2>Machines</h2>
      <p class="quiet-line">
        {connected ? `Connected to ${plainText(server, 120)}` : `Not connected to ${plainText(server, 120)}`}
        {round_trip_ms !== null && `, ${Math.round(round_trip_ms * 10) / 10} ms`} · {slots} of {host_sessions}{" "}
        slots taken
        {waiting_sessions > 0 && ` · ${waiting_sessions} sessions wait for a machine`}
      </p>
      <ul class="session-list agent-list">
        {machines.map((machine) => (
          <MachineRow
            key={machine.name}
            of={machine}
            behind={behind.get(machine.name) ?? 0}
          />
        ))}
      </ul>
    </section>
  );
}

function MachineRow({ of: machine, behind }: { of: ClusterMachine; behind: number }) {
  const { name, state, self, version, agents, sessions, slots, silent_ms, labels } = machine;
  const isWell = state === "present";
  return (
    <li class={isWell ? "agent-row" : "agent-row is-bad"}>
      <span class="agent-name">
        <b>{plainText(name, 80)}</b> {self && <span class="tag">this one</span>}
      </span>
      <span class={`tag ${isWell ? "tag-done" : "tag-failed"}`}>{state}</span>
      <span class="agent-why">
        <span>{agents.map((id) => plainText(id, 40)).join(", ") || "no agents"}</span>
        {version !== null && <span>version {plainText(version, 40)}</span>}
        {Object.entries(labels).map(([label, value]) => <span>{plainText(`${label}=${value}`, 60)}</span>)}
        {!isWell && silent_ms !== null && <span>silent {Math.round(silent_ms / 1000)} s</span>}
        {behind > 0 && <span>{behind.toLocaleString("en")} events behind</span>}
      </span>
      <span class="agent-runs">
        {sessions === null ? "" : slots === null ? `${sessions}` : `${sessions} of ${slots}`}
      </span>
    </li>
  );
}
