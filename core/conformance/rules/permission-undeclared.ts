import { coversTarget } from "../../broker/net-grants.ts";
import type { Rule } from "../rule.ts";
import { allTakes, type Seen } from "../seen.ts";

/** All that its manifest asks for was granted, so what is denied was never asked for. */
export const permissionUndeclaredRule: Rule = {
  id: "permission-undeclared",
  title: "The adapter uses nothing that its manifest does not ask for.",
  check(seen) {
    const denied = envelopesOf(seen).flatMap(({ event }) =>
      event.type === "capability" && event.decision === "denied" ? [`${event.permission} "${event.target}"`] : []
    );
    const hosts = seen.used.net.filter((target) => !isDeclared(target, seen)).map((target) => `net "${target}"`);
    const secrets = seen.used.secrets.filter((name) => !seen.permissions.secrets?.some((one) => one.name === name))
      .map((name) => `secrets "${name}"`);
    return [...new Set([...denied, ...hosts, ...secrets])].map((what) => ({
      message: `It uses ${what}, which its manifest does not ask for.`,
    }));
  },
};

function isDeclared(target: string, { permissions }: Seen): boolean {
  const at = target.lastIndexOf(":");
  const named = { host: target.slice(0, at), port: Number(target.slice(at + 1)) };
  return permissions.net?.some((grant) => coversTarget(grant, named)) ?? false;
}

function envelopesOf(seen: Seen): Seen["asked"] {
  return [...seen.asked, ...allTakes(seen).flatMap(({ envelopes }) => envelopes)];
}
