import {
  type AdapterEvent,
  type AgentStartedEvent,
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  textOf,
} from "bulkhead/plugin-sdk";

/** Most characters that are held back. */
const most = 4000;

/** An agent of the agent as far as it is known. */
interface SubAgent {
  name: string;
  runs: boolean;
}

/** The agents that an agent gives work to: their names, their beginnings and ends, and what they say, as progress. */
export class SubAgents {
  readonly #agents = new Map<string, SubAgent>();
  #speaker = "";
  #text = "";

  /** Makes one known, if it is not; its first events follow. Nothing is told again of one that is at work. */
  start(
    id: string,
    told: Pick<AgentStartedEvent, "call_id" | "parent" | "prompt"> & { name?: string } = {},
  ): AdapterEvent[] {
    const known = this.#agents.get(id);
    const name = (told.name ?? known?.name ?? id).slice(0, 200);
    if (known?.runs) {
      known.name = name;
      return [];
    }
    this.#agents.set(id, { name, runs: true });
    return [{ type: "agent_started", agent_id: agentId(id), ...told, name }];
  }

  /** One is done; nothing for one that was not at work. */
  end(id: string, outcome: "completed" | "error" | "stopped"): AdapterEvent[] {
    const agent = this.#agents.get(id);
    if (!agent?.runs) return [];
    agent.runs = false;
    return [...this.said(), { type: "agent_ended", agent_id: agentId(id), outcome }];
  }

  /** Takes a `subagent_update`, in which a session reports the state of another one. */
  update({ sessionId, title, description, state }: JsonFields, parent: string | undefined): AdapterEvent[] | null {
    const id = textOf(sessionId);
    if (id === undefined) return null;
    const name = textOf(title) ?? textOf(description);
    const told = {
      ...(name === undefined ? {} : { name }),
      ...(parent === undefined ? {} : { parent: agentId(parent) }),
    };
    const { state: now, stopReason } = fieldsOrNone(state);
    if (now !== "idle") return this.start(id, told);
    const outcome = stopReason === "cancelled" ? "stopped" : stopReason === "error" ? "error" : "completed";
    return this.end(id, outcome);
  }

  /** Name of one for people. */
  nameOf(id: string): string {
    return `[sub-agent ${this.#agents.get(id)?.name ?? id.slice(0, 200)}]`;
  }

  /** Takes a piece of what one says; returns what is told now, because another one speaks or much was said. */
  say(id: string, text: string): AdapterEvent[] {
    const before = id === this.#speaker && this.#text.length < most ? [] : this.said();
    this.#speaker = id;
    this.#text += text;
    return before;
  }

  /** Returns what is held back. */
  said(): AdapterEvent[] {
    const text = this.#text.trim();
    const id = this.#speaker;
    this.#text = "";
    return text === "" ? [] : [{ type: "progress", message: `${this.nameOf(id)} ${text}`, agent_id: agentId(id) }];
  }
}

/** The id of an agent's agent for the host. */
export function agentId(id: string): string {
  return id.slice(0, 256);
}

/** The call that started the agent whose call this is, where `claude-agent-acp` tells it: its id is that agent's. */
export function parentCallOf({ _meta }: JsonFields): string | undefined {
  return textOf(fieldsOf(fieldsOrNone(_meta)["claudeCode"])?.["parentToolUseId"]);
}

/** Name and prompt of the agent that a call starts. */
export function taskOf({ rawInput, title }: JsonFields): { name?: string; prompt?: string } {
  const { description, subagent_type, prompt } = fieldsOrNone(rawInput);
  const name = textOf(description) ?? textOf(title) ?? textOf(subagent_type);
  const asked = textOf(prompt);
  return { ...(name === undefined ? {} : { name }), ...(asked === undefined ? {} : { prompt: asked }) };
}
