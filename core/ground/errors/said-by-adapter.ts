import type { ErrorCode, ErrorData } from "../../../plugin-sdk/errors.ts";

/** Codes that an adapter may give: what its agent, its request or a call of its own can fail with. */
const ofAdapters: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "invalid_request",
  // A tool without code meets its own manifest while it runs.
  "invalid_manifest",
  "invalid_model",
  "invalid_config",
  "too_large",
  "load_failed",
  "adapter_incomplete",
  "adapter_initialization",
  "permission_denied",
  "binary_missing",
  "env_missing",
  "not_found",
  "already_exists",
  "conflict",
  "io_error",
  "network_error",
  "limit_exceeded",
  "busy",
  "timeout",
  "idle_timeout",
  "interrupted",
  "rate_limit",
  "unavailable",
  "crash",
  "unanswered",
  "unenforceable",
  "git_missing",
  "unsupported",
  "output_invalid",
  "fatal",
]);

/** An error as an adapter gave it. Codes of the host alone become `fatal`; `details.agent_code` keeps them. */
export function saidByAdapter(error: ErrorData): ErrorData {
  if (ofAdapters.has(error.code)) return error;
  return { ...error, code: "fatal", details: { ...error.details, agent_code: error.code } };
}

/** The same for an error of a whole worker, of which its guest says one thing more: on Deno it alone sees a full heap. */
export function saidByGuest(error: ErrorData): ErrorData {
  return error.code === "out_of_memory" ? error : saidByAdapter(error);
}
