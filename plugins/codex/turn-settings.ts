import {
  type Effort,
  fieldsOrNone,
  type JsonFields,
  nearestEffort,
  objectsOf,
  stringOf,
  type Turn,
} from "bulkhead/plugin-sdk";

/** Words of most of its models. */
const usual = ["low", "medium", "high", "xhigh"];

/** The settings of turns: what Codex is given holds for the turns after it as well. */
export class TurnSettings {
  readonly #ask: (method: string, params: JsonFields) => Promise<unknown>;
  #effort: string | null = null;
  #plans = false;

  constructor(ask: (method: string, params: JsonFields) => Promise<unknown>) {
    this.#ask = ask;
  }

  /** Returns the fields of a turn's beginning that say how much its model thinks, and whether it only plans. */
  async settings({ effort, plan = false }: Pick<Turn, "effort" | "plan">, model = ""): Promise<JsonFields> {
    if (effort !== undefined) this.#effort = await this.#levelOf(effort, model);
    const reasoning_effort = this.#effort;
    if (!plan && !this.#plans) return reasoning_effort === null ? {} : { effort: reasoning_effort };
    this.#plans = plan;
    // Its own instructions for the mode; they go before the other settings of a turn.
    const settings = { model, reasoning_effort, developer_instructions: null };
    return { collaborationMode: { mode: plan ? "plan" : "default", settings } };
  }

  async #levelOf(effort: Effort, model: string): Promise<string> {
    const listed = objectsOf(
      fieldsOrNone(await this.#ask("model/list", { includeHidden: true }).catch(() => null))["data"],
    );
    const known = listed.find((one) => one["model"] === model || one["id"] === model);
    const levels = objectsOf(known?.["supportedReasoningEfforts"]).flatMap((one) =>
      stringOf(one["reasoningEffort"]) ?? []
    );
    return nearestEffort(effort, levels) ?? nearestEffort(effort, usual)!;
  }
}
