import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import { type CaseName, cases, type Story } from "./cases.ts";
import { type Difference, differences } from "./differences.ts";

const told: readonly AdapterEvent["type"][] = ["progress", "usage", "agent_info"];
const joined: readonly AdapterEvent["type"][] = ["output", "thinking"];

/**
 * Kinds of events in their order: neighbouring output and thinking joined, what is only told on the way left out, and so
 * is what comes on standard error while a tool runs: nothing orders that stream and the other.
 */
export function kindsOf(events: readonly AdapterEvent[]): string {
  let running = 0;
  const ordered = events.filter((event) => {
    if (event.type === "tool_call") running++;
    if (event.type === "tool_result") running--;
    return running <= 0 || event.type !== "output" || event.stream !== "stderr";
  });
  const kinds = ordered.map(({ type }) => type).filter((type) => !told.includes(type));
  return kinds.filter((type, index) => type !== kinds[index - 1] || !joined.includes(type)).join(" ");
}

/** What a case of an agent should come to. */
export function expectedStory(agent: string, name: CaseName): Story {
  return { ...cases[name].expected, ...differenceOf(agent, name)?.story };
}

/** How the agent differs there; undefined where it does not. */
export function differenceOf(agent: string, name: CaseName): Difference | undefined {
  return differences.find((one) => one.agent === agent && one.cases.includes(name));
}

/** What the program printed as its answer. */
export function printed(events: readonly AdapterEvent[]): string {
  return events.map((event) => (event.type === "output" && event.stream === "stdout" ? event.data : "")).join("");
}
