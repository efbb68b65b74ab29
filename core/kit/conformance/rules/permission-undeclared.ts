import type { CapabilityEvent } from "../../../../plugin-sdk/envelope.ts";
import { coversTarget } from "../../../walls/broker/net-grants.ts";
import type { Rule } from "../rule.ts";
import { allTakes, type Seen } from "../seen.ts";

/** All that its manifest asks for was granted, so what is denied was never asked for. */
export const permissionUndeclaredRule: Rule = {
  id: "permission-undeclared",
  title: "The adapter uses nothing that its manifest does not ask for.",
  check(seen) {
    const denied = envelopesOf(seen).flatMap(({ event }) =>
      event.type === "capability" && event.decision === "denied" ? useOf(event, seen) : []
    );
    const hosts = seen.used.net.filter((target) => !isDeclared(target, seen)).map((target) => `net "${target}"`);
    const secrets = seen.used.secrets.filter((name) => !seen.permissions.secrets?.some((one) => one.name === name))
      .map((name) => `secrets "${name}"`);
    const others = [...hosts, ...secrets].map(undeclared);
    return [...new Set([...denied, ...others])].map((message) => ({ message }));
  },
};

function useOf(event: CapabilityEvent, { permissions, unscripted }: Seen): string[] {
  const { permission, target, manifest_entry } = event;
  const named = permission === "run" ? permissions.run?.filter(({ binary }) => binary === target) ?? [] : [];
  if (named.length === 0) {
    const line = manifest_entry === undefined ? "" : `\nAdd to plugin.yaml: ${manifest_entry}`;
    return [`${undeclared(`${permission} "${target}"`)}${line}`];
  }
  // The kit starts nothing that is not scripted, and another rule says so.
  if (unscripted.includes(target)) return [];
  const patterns = named.flatMap(({ args = [] }) => args).map((pattern) => `"${pattern}"`).join(", ");
  return [
    `It starts "${target}" with arguments that its manifest does not allow (it allows: ${patterns || "none"}).`,
  ];
}

function undeclared(what: string): string {
  return `It uses ${what}, which its manifest does not ask for.`;
}

function isDeclared(target: string, { permissions }: Seen): boolean {
  const at = target.lastIndexOf(":");
  const named = { host: target.slice(0, at), port: Number(target.slice(at + 1)) };
  return permissions.net?.some((grant) => coversTarget(grant, named)) ?? false;
}

function envelopesOf(seen: Seen): Seen["asked"] {
  return [...seen.asked, ...allTakes(seen).flatMap(({ envelopes }) => envelopes)];
}
