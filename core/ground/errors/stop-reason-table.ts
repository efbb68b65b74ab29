import type { StopReason } from "../../../plugin-sdk/result.ts";

/** Exit code of the command line for each stop reason; agrees with `error-table.ts` where both speak. */
export const stopReasonExitCodes: { readonly [R in StopReason]: number } = {
  end_turn: 0,
  loop_complete: 0,
  permission_deadline: 3,
  question_deadline: 3,
  refused: 3,
  interrupted: 130,
  timeout: 7,
  idle_timeout: 7,
  budget_cost: 9,
  budget_tokens: 9,
  budget_turns: 9,
  budget_tool_calls: 9,
  rate_limit: 6,
  unavailable: 6,
  crash: 8,
  host_restarted: 8,
  machine_lost: 8,
  output_invalid: 1,
  fatal: 1,
};
