import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { StopReason } from "../../../plugin-sdk/result.ts";
import type { ScenarioName } from "../mock-model/scenarios.ts";

/** What is done to every agent. */
export interface Case {
  scenario: ScenarioName;
  /** How it ends, and which kinds of events come in which order, for every agent that does not differ for a reason. */
  expected: Story;
  request?: Partial<SessionRequest>;
  /** When the session is interrupted. */
  interrupt?: "while_speaking" | "while_running";
  /** Needs tools: nothing for an agent that has none. */
  tools?: true;
}

/** What is compared. */
export interface Story {
  stop_reason: StopReason;
  /** Kinds of events; neighbouring output and thinking joined, and what is only told on the way left out. */
  kinds: string;
}

const allowed: Partial<SessionRequest> = { tool_approvals: { "*": "allow" } };
const failed = (stop_reason: StopReason): Story => ({ stop_reason, kinds: "error" });
const limited: Story = { stop_reason: "rate_limit", kinds: "rate_limit error" };
const spoken: Story = { stop_reason: "end_turn", kinds: "output completed" };

/** All cases. */
export const cases = {
  text: { scenario: "text", expected: spoken },
  thinking: { scenario: "thinking", expected: { stop_reason: "end_turn", kinds: "thinking output completed" } },
  write: {
    scenario: "write",
    tools: true,
    request: allowed,
    expected: { stop_reason: "end_turn", kinds: "output tool_call tool_result file_change output completed" },
  },
  command: {
    scenario: "command",
    tools: true,
    request: allowed,
    expected: { stop_reason: "end_turn", kinds: "output tool_call tool_result output completed" },
  },
  denied: {
    scenario: "write",
    tools: true,
    request: { tool_approvals: { "*": "deny" } },
    expected: { stop_reason: "end_turn", kinds: "output tool_call permission_request tool_result output completed" },
  },
  denied_command: {
    scenario: "command",
    tools: true,
    request: { approval: "deny" },
    expected: { stop_reason: "end_turn", kinds: "output tool_call permission_request tool_result output completed" },
  },
  helper: {
    scenario: "helper",
    tools: true,
    request: allowed,
    expected: { stop_reason: "end_turn", kinds: "output tool_call tool_result output completed" },
  },
  resume: { scenario: "text", expected: spoken },
  long: { scenario: "long", expected: spoken },
  unauthorised: { scenario: "unauthorised", expected: failed("unavailable") },
  forbidden: { scenario: "forbidden", expected: failed("unavailable") },
  rate_limit: { scenario: "rate_limit", expected: limited },
  rate_limit_wait: { scenario: "rate_limit_wait", expected: limited },
  plan_limit: { scenario: "plan_limit", expected: limited },
  server_error: { scenario: "server_error", expected: failed("unavailable") },
  context_overflow: { scenario: "context_overflow", expected: failed("fatal") },
  malformed: { scenario: "malformed", expected: { stop_reason: "unavailable", kinds: "output error" } },
  endless: {
    scenario: "endless",
    interrupt: "while_speaking",
    expected: { stop_reason: "interrupted", kinds: "output" },
  },
  command_endless: {
    scenario: "command_endless",
    tools: true,
    request: allowed,
    interrupt: "while_running",
    expected: { stop_reason: "interrupted", kinds: "output tool_call" },
  },
} satisfies Record<string, Case>;

/** Name of a case. */
export type CaseName = keyof typeof cases;

/** Names of all cases, in their order. */
export const caseNames: readonly CaseName[] = Object.keys(cases) as CaseName[];
