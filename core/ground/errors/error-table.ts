import type { ErrorCode } from "../../../plugin-sdk/errors.ts";

/** How one error code looks at each door. */
export interface ErrorRow {
  http_status: number;
  exit_code: number;
  json_rpc_code: number;
}

/**
 * Exit codes of the command line: 0 done, 1 the agent failed, 2 bad input or usage, 3 blocked,
 * 4 denied, 5 not found, 6 unavailable or busy, 7 deadline, 8 crash, 9 limit, 70 a defect of Bulkhead, 130 interrupted.
 */
export const errorTable: { readonly [C in ErrorCode]: ErrorRow } = {
  invalid_request: row(400, 2, -32602),
  invalid_manifest: row(422, 2, -32010),
  invalid_package: row(422, 2, -32061),
  invalid_config: row(422, 2, -32011),
  invalid_model: row(422, 2, -32012),
  unknown_adapter: row(404, 5, -32013),
  duplicate_plugin: row(409, 2, -32014),
  blocked_plugin: row(403, 4, -32063),
  unaccepted_change: row(409, 3, -32065),
  grant_needed: row(403, 4, -32062),
  workdir_missing: row(422, 2, -32015),
  too_large: row(413, 2, -32016),
  bundle_failed: row(422, 2, -32017),
  load_failed: row(422, 2, -32018),
  adapter_incomplete: row(422, 2, -32019),
  adapter_initialization: row(502, 1, -32020),
  permission_denied: row(403, 4, -32021),
  binary_missing: row(424, 5, -32022),
  env_missing: row(424, 5, -32023),
  not_found: row(404, 5, -32002),
  already_exists: row(409, 2, -32025),
  conflict: row(409, 3, -32060),
  idempotency_conflict: row(422, 2, -32064),
  io_error: row(500, 1, -32026),
  network_error: row(502, 1, -32027),
  limit_exceeded: row(429, 9, -32028),
  // No 429: waiting mends nothing.
  budget_exceeded: row(402, 9, -32067),
  busy: row(503, 6, -32029),
  timeout: row(504, 7, -32030),
  idle_timeout: row(504, 7, -32031),
  interrupted: row(499, 130, -32032),
  rate_limit: row(429, 6, -32033),
  unavailable: row(503, 6, -32034),
  crash: row(502, 8, -32035),
  out_of_memory: row(502, 8, -32036),
  unresponsive: row(502, 8, -32037),
  protocol_violation: row(502, 8, -32038),
  quarantined: row(503, 6, -32039),
  unanswered: row(409, 3, -32047),
  unenforceable: row(422, 2, -32040),
  host_closed: row(503, 6, -32041),
  host_restarted: row(503, 8, -32042),
  machine_lost: row(503, 8, -32048),
  journal_error: row(503, 1, -32043),
  git_missing: row(424, 5, -32044),
  unsupported: row(501, 2, -32045),
  drift: row(409, 1, -32066),
  output_invalid: row(502, 1, -32049),
  fatal: row(502, 1, -32046),
  unauthorized: row(401, 4, -32070),
  forbidden: row(403, 4, -32071),
  method_not_allowed: row(405, 2, -32072),
  internal: row(500, 70, -32603),
};

function row(http_status: number, exit_code: number, json_rpc_code: number): ErrorRow {
  return { http_status, exit_code, json_rpc_code };
}
