import { nearestEffort, type Turn } from "bulkhead/plugin-sdk";
import { settingLine } from "./control-requests.ts";

/** Words of the program for how much a model thinks. */
const levels = ["low", "medium", "high", "xhigh", "max"];

/** Terms that the program was given: they hold until it is given others. */
export class GivenTerms {
  #level: string | undefined;
  #plans = false;

  /** Whether the program only plans. */
  get plans(): boolean {
    return this.#plans;
  }

  /** Returns the lines that come before a turn's prompt, for what is not so yet. */
  lines({ effort, plan = false }: Pick<Turn, "effort" | "plan">): string {
    const level = effort === undefined ? this.#level : nearestEffort(effort, levels);
    const isOther = level !== this.#level;
    const turns = plan !== this.#plans;
    this.#level = level;
    this.#plans = plan;
    return (isOther ? settingLine({ subtype: "apply_flag_settings", settings: { effortLevel: level } }) : "") +
      (turns ? settingLine({ subtype: "set_permission_mode", mode: plan ? "plan" : "default" }) : "");
  }
}
