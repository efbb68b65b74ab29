import { BulkheadError } from "bulkhead/plugin-sdk";
import { type Asking, type KnownAgent, knownAgents } from "./agents.ts";
import type { RemoteAgent } from "./remote-agent.ts";

/** The program to start, and variables that it is given beside those of the host. */
export interface Program {
  command: string;
  args: readonly string[];
  set: Readonly<Record<string, string>>;
}

/** How this plugin's agent is reached and driven. */
export interface AgentOptions {
  reach: Program | RemoteAgent;
  /** Whether the agent may read and write files through the host. */
  files: boolean;
  /** Whether it may run commands through the host. */
  terminals: boolean;
  mode: string | undefined;
  /** Mode where none is set, and the host's walls are around the program. */
  containedMode: string | undefined;
  asking: Asking;
  authMethod: string | undefined;
  missingFileIsEmpty: boolean;
  /** Instruction for a user whose login is missing. */
  nextStep: string;
}

/**
 * The options of a session: those of the host manifest with the request's in front.
 * @throws {BulkheadError} `invalid_config` where they name no agent, or two
 */
export function agentOptions(values: Readonly<Record<string, unknown>>): AgentOptions {
  const [agent, command, url] = [text(values["agent"]), text(values["command"]), text(values["url"])];
  const known = agent === undefined ? undefined : knownAgents.get(agent);
  const named = [agent, command, url].filter((one) => one !== undefined);
  if (named.length !== 1 || (agent !== undefined && !known)) {
    const found = named.length === 0 ? "none of them" : named.join(", ");
    throw new BulkheadError("invalid_config", `Cannot find the agent: the options name ${found}.`, {
      hint: `Set one of agent (${[...knownAgents.keys()].join(", ")}), command and url under config.`,
    });
  }
  const started: Pick<KnownAgent, "command" | "args" | "set"> = known ??
    { command: command ?? "", args: texts(values["args"]) };
  return {
    reach: url === undefined
      ? { command: started.command, args: started.args, set: started.set ?? {} }
      : { url, secret: text(values["secret"]) },
    files: values["files"] === true,
    terminals: values["terminals"] === true,
    mode: text(values["mode"]),
    containedMode: known?.contained_mode,
    asking: known?.asking ?? {},
    authMethod: text(values["auth_method"]),
    missingFileIsEmpty: known?.missing_file_is_empty === true,
    nextStep: known?.next_step ?? "Log in to the agent, or set auth_method to one of its ways.",
  };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
