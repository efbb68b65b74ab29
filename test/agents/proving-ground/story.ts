import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import { type CaseName, cases, type Story } from "./cases.ts";
import { type Difference, differences } from "./differences.ts";

const told: readonly AdapterEvent["type"][] = ["progress", "usage", "agent_info", "agent_started", "agent_ended"];
const joined: readonly AdapterEvent["type"][] = ["output", "thinking"];

/**
 * Kinds of events in their order: neighbouring output and thinking joined, and what is only told on the way left out.
 * While a tool is asked for or runs, words are those that were said before it, as some agents tell both apart; what
 * comes on standard error then is left out, as nothing orders that stream and the other. A call without a result was
 * denied, or was cut off.
 */
export function kindsOf(events: readonly AdapterEvent[]): string {
  const kinds: AdapterEvent["type"][] = [];
  const over = events.some(({ type }) => type === "completed" || type === "error");
  const answered = new Set(events.flatMap((event) => event.type === "tool_result" ? [event.call_id] : []));
  let callAt = 0;
  let running = 0;
  for (const event of events) {
    if (told.includes(event.type)) continue;
    const runs = event.type === "tool_call" && (!over || answered.has(event.call_id));
    if (runs && running++ === 0) callAt = kinds.length;
    if (event.type === "tool_result") running--;
    if (event.type !== "output" || running <= 0) kinds.push(event.type);
    else if (event.stream === "stdout") kinds.splice(callAt++, 0, event.type);
  }
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
