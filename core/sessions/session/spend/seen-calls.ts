import type { AccessMode } from "../../../../plugin-sdk/access-modes.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { Manifest, ModelEndpoint } from "../../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import { hostEnv } from "../../../ground/platform/engine/platform.ts";
import type { Plugin } from "../../../packages/manifest/plugin.ts";
import { containsPrograms, mayRunFree } from "../../../packages/permissions/contained-programs.ts";
import type { SessionAccount } from "./named-budgets.ts";
import { hasCeiling } from "./shared-budgets.ts";

/**
 * Returns the endpoints of a plugin's programs in an access mode. Where the manifest sets the variable of the address itself,
 * that is the address.
 * @param gateway program that the person's own settings send elsewhere, with its key
 */
export function modelEndpoints(
  { endpoints = [], cli }: Manifest,
  { mode, gateway }: { mode: AccessMode | null; gateway: string | null },
): ModelEndpoint[] {
  return endpoints
    .filter(({ program, access_mode = mode?.type }) => program !== gateway && access_mode === mode?.type)
    .map((endpoint) => ({ ...endpoint, url: cli?.env_vars?.[endpoint.base_url] ?? endpoint.url }));
}

/** Whether an adapter calls its model itself, by the host: it may start no program, and has a model of an API or of a machine. */
export function fetchesModel({ run = [] }: Permissions, mode: AccessMode | null): boolean {
  return run.length === 0 && (mode?.type === "api" || mode?.type === "local");
}

/** Request and permissions of a session. */
interface Allowed {
  mode: AccessMode | null;
  endpoints: readonly ModelEndpoint[];
  request: Pick<SessionRequest, "env" | "model">;
  effective: Permissions;
  secrets: ReadonlyMap<string, string>;
}

/**
 * Whether the calls of an agent's model pass through the host: the adapter makes them itself, or the host holds the key, and
 * the programs that need it are contained. An agent may still use a login of its own, which its calls then show.
 */
export function seesCalls(
  plugin: Plugin,
  { mode, endpoints, request: { env = {}, model = "" }, effective, secrets }: Allowed,
): boolean {
  if (fetchesModel(effective, mode)) return true;
  const { run = [] } = effective;
  const { cli } = plugin.manifest;
  const programs = run.filter(({ binary }) => endpoints.some(({ program }) => program === binary));
  if (!containsPrograms(plugin) || programs.length === 0) return false;
  const hasValue = (key: string) => (env[key] ?? secrets.get(key) ?? cli?.env_vars?.[key] ?? hostEnv(key) ?? "") !== "";
  return programs.every(({ binary, env: granted = [] }) =>
    !mayRunFree(plugin, binary) &&
    endpoints.some(({ program, key, models = "" }) =>
      program === binary && granted.includes(key) && hasValue(key) && model.startsWith(models)
    )
  );
}

/** Whether a field of a request holds only where the host sees the calls of the agent's model. */
export function needsSeenCalls(field: string): boolean {
  return field === "record" || field === "budget.cost" || field === "budget.tokens" || field.startsWith("budgets.");
}

/** Makes the error for a session whose calls the host does not see. */
export function unseen(pluginId: string, fields: readonly string[]): BulkheadError {
  const budgets = fields.filter((field) => field !== "record");
  const act = budgets.length === 0 ? "record" : `be held to ${budgets.join(", ")}`;
  return new BulkheadError("unenforceable", `Adapter "${pluginId}" cannot ${act}: its calls do not pass the host.`, {
    hint: "They do where the host holds the key of the agent's model: set the key, and leave the agent in its walls." +
      (budgets.length === 0 ? "" : " Or set best_effort: then the session ends once its agent reports too much."),
    details: { fields: [...fields] },
  });
}

/** Makes the error for a session that a budget of the operator's covers, on one of several machines. */
export function sharedBudget(fields: readonly string[]): BulkheadError {
  return new BulkheadError(
    "unenforceable",
    `Cannot hold the session to ${fields.join(", ")}: in a cluster no machine knows what the others have spent.`,
    {
      hint: "Give the session a budget of its own, or set best_effort to run without that limit.",
      details: { fields: [...fields] },
    },
  );
}

/** A session, as far as budgets and records cover it. */
interface Counted {
  request: Pick<SessionRequest, "budget" | "record">;
  account: Pick<SessionAccount, "isCovered"> | null;
}

/** Whether what a session uses counts in a budget. */
export function isBudgeted({ request, account }: Counted): boolean {
  return account?.isCovered === true || hasCeiling(request);
}

/** Whether each call of a session's model must be seen. */
export function isCounted(session: Counted): boolean {
  return isBudgeted(session) || session.request.record !== undefined;
}
