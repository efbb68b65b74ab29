import type { RunPermission } from "../../../plugin-sdk/permissions.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";

/** The address of a program's model, and who said it. */
export interface ModelAddress {
  text: string;
  by: "client" | "operator" | "manifest";
  /** The manifest's own, which an adapter may repeat. */
  manifest: string;
}

/**
 * The addresses of a program's models, by the variable that tells it each: the client's, else the operator's, else the
 * manifest's. An adapter has no say: the key follows the address.
 */
export function modelAddresses(
  { binary, env = [] }: RunPermission,
  { endpoints = [], requestEnv }: Pick<SessionBrokerOptions, "endpoints" | "requestEnv">,
): Map<string, ModelAddress> {
  const addresses = new Map<string, ModelAddress>();
  for (const endpoint of endpoints.filter(({ program }) => program === binary)) {
    const { base_url: variable } = endpoint;
    if (addresses.has(variable)) continue;
    const isGranted = env.includes(variable);
    const asked = isGranted && Object.hasOwn(requestEnv, variable) ? requestEnv[variable] : undefined;
    const set = isGranted ? hostEnv(variable) : undefined;
    const manifest = withVariables(endpoint.url);
    const [text, by] = asked
      ? [asked, "client"] as const
      : set
      ? [set, "operator"] as const
      : [manifest, "manifest"] as const;
    addresses.set(variable, { text, by, manifest });
  }
  return addresses;
}

/** A text of a manifest with the variables of the host that it names, as `env_vars` has them. */
function withVariables(text: string): string {
  return text.replace(/\$\{([A-Za-z_]\w*)\}/g, (_, name: string) => hostEnv(name) ?? "");
}
