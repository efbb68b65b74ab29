import {
  type AdapterEvent,
  BulkheadError,
  type JsonFields,
  type JsonRpcPeer,
  nearestEffort,
  objectsOf,
  type Turn,
} from "bulkhead/plugin-sdk";
import { modesOf } from "./asking.ts";
import { chooseMode, chooseOption, optionOf, valuesOf } from "./session-choices.ts";

/** Names of modes in which agents only plan, at the end of those that are addresses. */
const planning = /(?:^|[#/])(?:plan|architect)$/i;

/** Collaborators of {@link TurnTermChoices}. */
interface TurnTermDeps {
  agent: JsonRpcPeer;
  sessionId: string;
  /** The agent's answer to the opening of the session, with what was chosen since. */
  session: JsonFields;
  /** Whether the session runs without what the agent does not offer. */
  bestEffort: boolean;
}

/** Asks an agent for the effort and the plan of each turn, where they differ from those of the turn before. */
export class TurnTermChoices {
  readonly #deps: TurnTermDeps;
  #effort: Turn["effort"];
  #plans = false;
  /** Takes the agent out of its plan. */
  #leave: (() => Promise<void>) | null = null;

  constructor(deps: TurnTermDeps) {
    this.#deps = deps;
  }

  /**
   * Asks for the terms of a turn; returns events that name those that the agent does not offer.
   * @throws {BulkheadError} `unenforceable` for them, unless the request takes the best effort
   */
  async choose({ effort, plan = false }: Pick<Turn, "effort" | "plan">): Promise<AdapterEvent[]> {
    const told: AdapterEvent[] = [];
    if (effort !== undefined && effort !== this.#effort && !await this.#think(effort)) {
      told.push(this.#without("effort", "It offers no choice of how much its model thinks."));
    }
    this.#effort = effort;
    if (plan && !this.#plans && !await this.#enter()) told.push(this.#without("plan", "It has no mode for that."));
    if (!plan) await this.#leave?.();
    if (!plan) this.#leave = null;
    this.#plans = plan;
    return told;
  }

  async #think(effort: NonNullable<Turn["effort"]>): Promise<boolean> {
    const option = optionOf(this.#deps.session, "thought_level");
    const value = option && nearestEffort(effort, valuesOf(option));
    if (option === undefined || value === undefined) return false;
    await chooseOption(this.#deps.agent, { ...this.#deps, option, value });
    return true;
  }

  async #enter(): Promise<boolean> {
    const { agent, sessionId, session } = this.#deps;
    const { current, offered } = modesOf(session);
    const mode = offered.find((id) => planning.test(id));
    if (mode !== undefined) {
      await chooseMode(agent, { sessionId, session, mode });
      this.#leave = () => chooseMode(agent, { sessionId, session, mode: current });
      return true;
    }
    const option = objectsOf(session["configOptions"]).find((one) =>
      valuesOf(one).some((value) => planning.test(value))
    );
    const value = option && valuesOf(option).find((one) => planning.test(one));
    if (option === undefined || value === undefined) return false;
    const before = String(option["currentValue"]);
    await chooseOption(agent, { sessionId, session, option, value });
    this.#leave = () => chooseOption(agent, { sessionId, session, option, value: before });
    return true;
  }

  #without(field: string, why: string): AdapterEvent {
    if (this.#deps.bestEffort) return { type: "progress", message: `Without the request's ${field}: ${why}` };
    throw new BulkheadError("unenforceable", `Cannot hold the agent to ${field}. ${why}`, {
      hint: "Leave it out, choose another agent, or set best_effort to run without it.",
      details: { fields: [field] },
    });
  }
}
