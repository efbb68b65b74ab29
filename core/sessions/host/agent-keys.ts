import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import { keyNames, type MissingKeys, noKeyMissing } from "../routing/access-key.ts";
import type { ServedPlugin } from "./served-plugin.ts";
import { allowedIn, type SessionDeps } from "./start-session.ts";

/** Options of {@link missingKeys}. */
interface KeyOptions {
  deps: Pick<SessionDeps, "askGrant" | "settings">;
  workdir: string;
  /** Variables of the session's request. */
  env?: SessionRequest["env"];
}

/** Returns the keys of a plugin's access modes that its sessions would lack. */
export async function missingKeys(
  service: ServedPlugin,
  { deps, workdir, env = {} }: KeyOptions,
): Promise<MissingKeys> {
  const { plugin } = service;
  const names = keyNames(plugin.manifest);
  if (names.length === 0) return noKeyMissing;
  const { effective, ceiling, secrets } = await allowedIn(deps, { service, workdir });
  const { run = [], env: readable = [], secrets: usable = [] } = deps.askGrant ? ceiling : effective;
  const granted = new Set([...readable, ...run.flatMap((one) => one.env ?? []), ...usable.map(({ name }) => name)]);
  const has = (name: string) => {
    if (secrets.has(name) || isFixed(plugin, name)) return true;
    const isVariable = run.some((one) => one.env?.includes(name)) || readable.includes(name);
    return isVariable && (env[name] ?? hostEnv(name) ?? "") !== "";
  };
  return new Map(
    names.filter((name) => !has(name)).map((name) => [name, granted.has(name) ? "no value" : "not granted"]),
  );
}

/** Whether a tool without code sets the variable itself. */
function isFixed({ manifest: { cli } }: Plugin, name: string): boolean {
  return (cli?.env_vars?.[name] ?? "") !== "";
}
