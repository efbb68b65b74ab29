import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { Permissions } from "../../../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import { hostEnv } from "../../../ground/platform/engine/platform.ts";
import type { Plugin } from "../../../packages/manifest/plugin.ts";
import { containsPrograms, mayRunFree } from "../../../packages/permissions/contained-programs.ts";

/** Request and permissions of a session. */
interface Allowed {
  request: Pick<SessionRequest, "env">;
  effective: Permissions;
  secrets: ReadonlyMap<string, string>;
}

/** Whether calls of a plugin's programs to their models pass the host: it holds the key of one of them, behind its walls. */
export function seesCalls(
  plugin: Plugin,
  { request: { env = {} }, effective: { run = [] }, secrets }: Allowed,
): boolean {
  if (!containsPrograms(plugin)) return false;
  return (plugin.manifest.endpoints ?? []).some(({ program, key }) => {
    const isGranted = run.some((one) => one.binary === program && one.env?.includes(key));
    const value = env[key] ?? secrets.get(key) ?? plugin.manifest.cli?.env_vars?.[key] ?? hostEnv(key) ?? "";
    return isGranted && value !== "" && !mayRunFree(plugin, program);
  });
}

/** Makes the error for a session whose calls the host does not see. */
export function unseen(pluginId: string): BulkheadError {
  return new BulkheadError("unenforceable", `Adapter "${pluginId}" cannot record: its calls do not pass the host.`, {
    hint: "They do where the host holds the key of the agent's model: set the key, and leave the agent in its walls.",
    details: { fields: ["record"] },
  });
}
