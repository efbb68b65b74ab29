import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk";
import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Approval } from "../../../plugin-sdk/request.ts";

/** The mode in which the host chooses the adapter. */
export const autoMode = "auto";

/** Value of an option that the client leaves to the agent's or the operator's setting. */
const unset = "default";

/** Choices of a client for the next message of a conversation. */
export interface ChosenTerms {
  /** `auto`, or the id of the adapter. */
  mode: string;
  model?: string | undefined;
  approval?: Approval | undefined;
}

/** Terms of a conversation, as its options show them. */
export interface ShownTerms extends ChosenTerms {
  /** The adapter that took the conversation last; null before its agent is chosen. */
  adapter: string | null;
  /** Terms that hold where the client has chosen none; a message cannot unset them. */
  held: { model?: string | undefined; approval?: Approval | undefined };
}

/** Names of the approvals, as a person reads them. */
const approvalNames: Readonly<Record<Approval, string>> = {
  ask: "Ask for everything",
  reads: "Allow reading",
  edits: "Allow reading and editing",
  all: "Allow everything",
  deny: "Deny everything",
};

/** Returns the modes of a conversation: the host's own choice, and one for each adapter that is enabled. */
export function modeState(agents: readonly AgentReport[], currentModeId: string): SessionModeState {
  const enabled = agents.filter(({ availability }) => availability !== "disabled");
  return {
    currentModeId,
    availableModes: [
      { id: autoMode, name: "Automatic", description: autoDescription(agents) },
      ...enabled.map(({ id, name, availability, reason }) => ({
        id,
        name,
        description: availability === "available" ? reason : `Not available now: ${reason}`,
      })),
    ],
  };
}

/** Returns the options of a conversation: its agent, the agent's model, and the approval. */
export function configOptions(agents: readonly AgentReport[], terms: ShownTerms): SessionConfigOption[] {
  const { currentModeId, availableModes } = modeState(agents, terms.mode);
  const options: SessionConfigOption[] = [{
    id: "agent",
    name: "Agent",
    category: "mode",
    type: "select",
    currentValue: currentModeId,
    options: availableModes.map(({ id, name, description }) => ({ value: id, name, description: description ?? null })),
  }];
  const { model, held: { model: heldModel } } = terms;
  const models = [...new Set([...modelsOf(agents, terms), heldModel, model])].filter((one) => one !== undefined);
  if (models.length > 0) {
    options.push({
      id: "model",
      name: "Model",
      category: "model",
      type: "select",
      currentValue: model ?? heldModel ?? unset,
      options: [
        ...unsetChoice(heldModel, "The agent's own"),
        ...models.filter((one) => one !== unset).map((one) => ({ value: one, name: one })),
      ],
    });
  }
  const { approval, held: { approval: heldApproval } } = terms;
  options.push({
    id: "approval",
    name: "Approval",
    category: "_approval",
    type: "select",
    currentValue: approval ?? heldApproval ?? unset,
    options: [
      ...unsetChoice(heldApproval, "As the host is set"),
      ...Object.entries(approvalNames).map(([value, name]) => ({ value, name })),
    ],
  });
  return options;
}

/**
 * Returns the terms with an option changed. Another agent has other models, so the model goes.
 * @throws {BulkheadError} `invalid_request` for an unknown option, `unknown_adapter` and `invalid_request` for a value
 * that it does not offer
 */
export function changeOption(
  options: readonly SessionConfigOption[],
  { id, value, terms }: { id: string; value: unknown; terms: ChosenTerms },
): ChosenTerms {
  const option = options.find((one) => one.id === id);
  const values = option?.type === "select" ? option.options.flatMap((one) => "value" in one ? [one.value] : []) : [];
  if (option === undefined) {
    throw new BulkheadError("invalid_request", `Cannot set the option "${id}": there is none of that name.`, {
      hint: `Options are ${options.map((one) => one.id).join(", ")}.`,
    });
  }
  const chosen = values.find((one) => one === value);
  if (chosen === undefined) {
    throw new BulkheadError(
      id === "agent" ? "unknown_adapter" : "invalid_request",
      id === "agent"
        ? `Cannot set the mode: no enabled adapter has the id "${String(value)}".`
        : `Cannot set the option "${id}" to "${String(value)}": it is not offered.`,
      { hint: `${id === "agent" ? "Modes" : "Values"} are ${values.join(", ")}.` },
    );
  }
  if (id === "agent") return { ...terms, mode: chosen, model: chosen === terms.mode ? terms.model : undefined };
  const set = chosen === unset ? undefined : chosen;
  return id === "model" ? { ...terms, model: set } : { ...terms, approval: set as Approval | undefined };
}

/** Models of the agent that the next message goes to, as far as that is known. */
function modelsOf(agents: readonly AgentReport[], { mode, adapter }: ShownTerms): readonly string[] {
  const id = mode === autoMode ? adapter : mode;
  return agents.find((agent) => id === null ? agent.primary : agent.id === id)?.models ?? [];
}

function unsetChoice(held: string | undefined, name: string): { value: string; name: string }[] {
  return held === undefined ? [{ value: unset, name }] : [];
}

function autoDescription(agents: readonly AgentReport[]): string {
  const primary = agents.find((agent) => agent.primary);
  return primary === undefined
    ? "Bulkhead chooses the agent."
    : `Bulkhead chooses the agent: ${primary.name} now, another where it fails.`;
}
