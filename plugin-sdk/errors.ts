import { omitUndefined } from "./optional-fields.ts";
/**
 * Every error code of Bulkhead with its meaning. `core/ground/errors` adds HTTP status, exit code and JSON-RPC code to
 * the same keys.
 */
export const errorCodes = {
  invalid_request: "The request does not fit its schema.",
  invalid_manifest: "A plugin manifest does not fit its schema.",
  invalid_package: "A plugin package is damaged, unsafe to unpack, or not what its lock, signature or source says.",
  invalid_config: "The host manifest, a setting or a flag does not fit its schema.",
  invalid_model: "The adapter does not offer this model.",
  unknown_adapter: "No enabled adapter has this id.",
  duplicate_plugin: "Two plugins have the same id.",
  blocked_plugin: "The operator has blocked this plugin, or this version of it, in bulkhead.yaml.",
  unaccepted_change:
    "A file that the host acts on changed while an agent could write it, and the operator has not accepted that.",
  grant_needed: "A plugin asks for permissions that the operator has to grant by name.",
  workdir_missing: "The working directory does not exist or is not a folder.",
  too_large: "Something is larger than its limit.",
  bundle_failed: "The plugin's source could not be bundled.",
  load_failed: "The plugin's script failed while it was being evaluated.",
  adapter_incomplete: "The adapter lacks members every adapter must have.",
  adapter_initialization: "The adapter's initialize() threw.",
  permission_denied: "The adapter asked for something it was not granted.",
  binary_missing: "A program the adapter runs was not found.",
  env_missing: "An environment variable or secret the tool needs is not set.",
  not_found: "The thing asked for does not exist.",
  already_exists: "The thing to be made exists already.",
  conflict: "Changes were made in two places that do not fit together.",
  idempotency_conflict: "The idempotency key stands for another request.",
  io_error: "A file operation failed.",
  network_error: "A network request failed.",
  limit_exceeded: "A limit of the host was reached.",
  budget_exceeded: "A budget is spent: of the session, of its conversation, or one that sessions share.",
  busy: "All slots and the waiting line are full.",
  timeout: "The total deadline passed.",
  idle_timeout: "Nothing was heard for longer than the idle deadline.",
  interrupted: "The session was interrupted.",
  rate_limit: "The agent's provider limits requests for now.",
  unavailable: "The adapter or its agent cannot be used now.",
  crash: "The plugin's worker or its agent died.",
  out_of_memory: "The plugin's worker ran out of memory.",
  unresponsive: "The plugin's worker stopped answering heartbeats.",
  protocol_violation: "The other side of a channel broke the protocol.",
  quarantined: "The plugin crashed too often and is stopped until the operator acts.",
  unanswered: "A permission request or question of the agent was not answered in time.",
  unenforceable: "The adapter cannot enforce a limit that the request sets.",
  host_closed: "The host is shutting down.",
  host_restarted: "The host stopped while the session ran.",
  machine_lost: "The machine that ran the session was lost.",
  journal_error: "The journal could not be written or read.",
  git_missing: "git was not found, so artifacts cannot be derived.",
  unsupported: "This runtime or system cannot do what was asked.",
  drift: "A program made a call that the replayed session did not record.",
  output_invalid: "The agent's structured output does not fit the output schema.",
  fatal: "The agent failed in a way that a retry cannot mend.",
  unauthorized: "The request carries no valid token.",
  forbidden: "The token's scopes, or where the request comes from, do not allow it.",
  method_not_allowed: "The thing is there and does not take this method.",
  internal: "A defect in Bulkhead itself.",
} as const;

/** A key of {@link errorCodes}. */
export type ErrorCode = keyof typeof errorCodes;

/** An error as data: crosses channels, appears in results and is printed with `--json`. */
export interface ErrorData {
  code: ErrorCode;
  /** A sentence that names the act, the thing and the state. */
  message: string;
  /** Next step for a person. */
  hint?: string;
  /** Facts for programs, all JSON. */
  details?: Record<string, unknown>;
}

/** Options of {@link BulkheadError}. */
export interface BulkheadErrorOptions {
  hint?: string | undefined;
  details?: Record<string, unknown> | undefined;
  cause?: unknown;
}

/** The one error class; `code` tells which error it is. */
export class BulkheadError extends Error {
  override readonly name: string = "BulkheadError";
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, options: BulkheadErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.details = options.details;
  }

  /** Returns the error as JSON data, without stack and cause. */
  toJSON(): ErrorData {
    return { code: this.code, message: this.message, ...omitUndefined({ hint: this.hint, details: this.details }) };
  }
}

/** `initialize()` of an adapter threw. */
export class AdapterInitializationError extends BulkheadError {
  override readonly name = "AdapterInitializationError";
  constructor(message: string, options: BulkheadErrorOptions = {}) {
    super("adapter_initialization", message, options);
  }
}

/** The request names a model that the adapter does not offer; `details.allowed` lists those it does. */
export class InvalidModelError extends BulkheadError {
  override readonly name = "InvalidModelError";
  constructor(model: string, allowed: readonly string[]) {
    super("invalid_model", `Model "${model}" is not offered. Allowed: ${allowed.join(", ") || "none"}.`, {
      details: { model, allowed: [...allowed] },
    });
  }
}

/** Rebuilds an error from data received over a channel. */
export function errorFromData(data: ErrorData): BulkheadError {
  if (data.code === "adapter_initialization") return new AdapterInitializationError(data.message, data);
  const { model, allowed } = data.details ?? {};
  if (data.code === "invalid_model" && typeof model === "string" && Array.isArray(allowed)) {
    return new InvalidModelError(model, allowed.map(String));
  }
  return new BulkheadError(data.code, data.message, { hint: data.hint, details: data.details });
}

/** Returns true for the name of an error code. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(errorCodes, value);
}

/**
 * Returns the data of a {@link BulkheadError}, also of one made by another copy of this module, which each bundled
 * adapter has; null for any other value.
 */
export function errorDataOf(thrown: unknown): ErrorData | null {
  if (!(thrown instanceof Error)) return null;
  const code: unknown = Reflect.get(thrown, "code");
  if (!isErrorCode(code)) return null;
  const hint: unknown = Reflect.get(thrown, "hint");
  const details: unknown = Reflect.get(thrown, "details");
  return {
    code,
    message: thrown.message,
    ...omitUndefined({
      hint: typeof hint === "string" ? hint : undefined,
      details: typeof details === "object" && details !== null ? details as Record<string, unknown> : undefined,
    }),
  };
}
