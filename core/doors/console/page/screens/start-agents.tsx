import { useState } from "preact/hooks";
import type { AgentReport } from "../../../../../plugin-sdk/agent-report.ts";
import type { PluginReport } from "../../../../../plugin-sdk/plugin-report.ts";
import { heldText, isHeld } from "../agents/agents.tsx";
import { noticeOf, useConsole } from "../console-context.ts";
import { Command, Failure, useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { OffAgent } from "./enable-agent.tsx";

/** The agents of the host, as far as they are known. */
interface StartAgents {
  /** Null until they are known. */
  agents: readonly AgentReport[] | null;
  failed: unknown;
  /** Whether the agents themselves have not answered yet. */
  isAsking: boolean;
  again(): void;
}

/** Reads the agents: at once as the host knows them, then as they say. */
export function useStartAgents(): StartAgents {
  const { api } = useConsole();
  const read = (probe: boolean) => (signal: AbortSignal) =>
    api.get<{ agents: AgentReport[] }>("/v1/agents", { probe }, signal);
  const [known, againKnown] = useLoaded(read(false), []);
  const [asked, againAsked] = useLoaded(read(true), []);
  const loaded = asked ?? known;
  return {
    agents: loaded !== undefined && "value" in loaded ? loaded.value.agents : null,
    failed: loaded !== undefined && "failed" in loaded ? loaded.failed : null,
    isAsking: asked === undefined,
    again: () => (againKnown(), againAsked()),
  };
}

interface AgentsProps {
  of: StartAgents;
  chosen: ReadonlySet<string>;
  toggle(id: string): void;
}

/** The agents that are on, of which none, one or several may be chosen, and those that are off. */
export function Agents({ of: { agents, failed, isAsking, again }, chosen, toggle }: AgentsProps) {
  return (
    <fieldset class="agents">
      <legend>Agents</legend>
      <p class="quiet-line">None: the host chooses. Several: side by side, each in a worktree of its own.</p>
      {isAsking && <p class="quiet-line" role="status">Asking the agents …</p>}
      {failed !== null && <Failure {...noticeOf(failed)} />}
      {agents !== null && (
        <>
          <OnAgents of={agents.filter(isOn)} chosen={chosen} toggle={toggle} />
          <Held />
          {!agents.some(isOn) && (
            <p>
              No agent is on yet. Enable one here, or find those of this machine: <Command text="bulkhead setup" />
            </p>
          )}
          <Off of={agents} again={again} choose={(id) => chosen.has(id) || toggle(id)} />
        </>
      )}
    </fieldset>
  );
}

/** The agents to choose from. Tools, demos among them, are folded where there is an agent. */
function OnAgents({ of: on, chosen, toggle }: Omit<AgentsProps, "of"> & { of: readonly AgentReport[] }) {
  const isTool = ({ adapter_type }: AgentReport) => adapter_type === "tool";
  const choices = (of: readonly AgentReport[]) => (
    <div class="choices">
      {of.map((agent) => <AgentChoice key={agent.id} agent={agent} isChosen={chosen.has(agent.id)} toggle={toggle} />)}
    </div>
  );
  const tools = on.filter(isTool);
  if (tools.length === on.length || tools.length === 0) return choices(on);
  return (
    <>
      {choices(on.filter((agent) => !isTool(agent)))}
      <details class="quiet" open={tools.some(({ id }) => chosen.has(id))}>
        <summary>{tools.length} tools and demos</summary>
        {choices(tools)}
      </details>
    </>
  );
}

interface OffProps {
  of: readonly AgentReport[];
  again(): void;
  choose(id: string): void;
}

function Off({ of: agents, again, choose }: OffProps) {
  const off = agents.filter((agent) => !isOn(agent) && !agent.quarantined);
  const [isOpen, setIsOpen] = useState(off.length === agents.length);
  if (off.length === 0) return null;
  return (
    <details class="quiet" open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{off.length === 1 ? "1 more is off" : `${off.length} more are off`}</summary>
      {isOpen && (
        <>
          <ul class="off-agents">
            {off.map((agent) => <OffAgent key={agent.id} agent={agent} enabled={() => (choose(agent.id), again())} />)}
          </ul>
          <button type="button" onClick={again}>Look again</button>
        </>
      )}
    </details>
  );
}

/** Agents that cannot be chosen though they are on: they crashed too often. */
function Held() {
  const { api } = useConsole();
  const [loaded] = useLoaded((signal) => api.get<{ plugins: PluginReport[] }>("/v1/plugins", {}, signal), []);
  const held = loaded !== undefined && "value" in loaded ? loaded.value.plugins.filter(isHeld) : [];
  return (
    <>
      {held.map((plugin) => (
        <p class="failed-text">
          <b>{plainText(plugin.name, 80)}</b> is in quarantine. {heldText(plugin)}{" "}
          <a href={addressOf("agents")}>What to do</a>
        </p>
      ))}
    </>
  );
}

function AgentChoice(
  { agent: { id, name, availability, reason, access_modes }, isChosen, toggle }: {
    agent: AgentReport;
    isChosen: boolean;
    toggle: (id: string) => void;
  },
) {
  return (
    <label class="choice">
      <input type="checkbox" checked={isChosen} onChange={() => toggle(id)} />
      <span>
        <b>
          <Text of={name} />
        </b>{" "}
        {id !== name && (
          <code>
            <Text of={id} />
          </code>
        )}{" "}
        {availability !== "available" && (
          <span class={`tag agent-${availability}`}>{availability.replaceAll("_", " ")}</span>
        )}
        {(availability !== "available" || access_modes.some(({ missing_key }) => missing_key !== undefined)) && (
          <small>
            <Text of={reason} />
          </small>
        )}
      </span>
    </label>
  );
}

/** Whether an agent can be chosen. */
export function isOn({ availability }: AgentReport): boolean {
  return availability !== "disabled";
}
