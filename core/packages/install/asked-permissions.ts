import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { quoteWord } from "../../ground/config/grant-command.ts";
import { type BreadthOptions, riskiestFirst } from "../permissions/broad-permissions.ts";
import type { NewGrant } from "../manifest/edit-host-manifest.ts";
import type { Grantable } from "../manifest/grantable.ts";
import type { ExplainedPermission } from "../../../plugin-sdk/plugin-report.ts";
import { explainPermissions } from "../permissions/explain-permissions.ts";
import { joinPermissions } from "../manifest/join-permissions.ts";
import { hideArguments } from "../permissions/shown-permissions.ts";
import { requestedWith } from "../permissions/requested-permissions.ts";

interface AskedOptions {
  manifest: Manifest;
  /** Manifest of the version in use; null for a new plugin. */
  before: Manifest | null;
  /** Permissions that the host manifest grants it already. */
  granted: Permissions;
  places: BreadthOptions;
  /** The operator's values for its options. */
  config: Readonly<Record<string, unknown>>;
  /** Option values that must not be shown. */
  hidden: readonly string[];
}

/** Lists permissions to decide on, the riskiest first. A grant by name covers what the version in use asks for. */
export function undecidedPermissions(options: AskedOptions): ExplainedPermission[] {
  const { manifest, before, granted, places, config, hidden } = options;
  const known = before === null ? {} : requestedWith(before, config);
  const grant = joinPermissions([asGrant(known), before === null ? granted : withoutNamesOf(granted, known)]);
  const rows = explainPermissions({ requested: requestedWith(manifest, config), grant, deny: {} }, places);
  const undecided = rows.filter(({ permission, target, requested, effective }) =>
    requested && permission !== "limits" && !(effective.length === 1 && effective[0] === target)
  );
  return hideArguments(undecided, hidden);
}

/** Permissions that one entry of the host manifest asks for and the operator must still decide on. */
export interface EntryAsks {
  id: string;
  undecided: ExplainedPermission[];
}

/** Joins what the entries of one package ask for, each permission once, the riskiest first. */
export function joinedAsks(entries: readonly EntryAsks[]): ExplainedPermission[] {
  const rows = entries.flatMap(({ undecided }) => undecided);
  const nameOf = ({ permission, target }: ExplainedPermission) => `${permission} ${target}`;
  return riskiestFirst([...new Map(rows.map((row) => [nameOf(row), row])).values()]);
}

/** Turns grants to a package into grants to each of its entries that asks for them. */
export function grantsToEntries(grants: readonly NewGrant[], entries: readonly EntryAsks[]): NewGrant[] {
  return entries.flatMap(({ id, undecided }) =>
    grantsFor(id, undecided).filter((one) => grants.some((grant) => isSameGrant(grant, one)))
  );
}

/** The grants that would allow these, each once. */
export function grantsFor(pluginId: string, rows: readonly ExplainedPermission[]): NewGrant[] {
  const grants = rows.map(({ permission, target, binary }): NewGrant => {
    if (permission === "run" || permission === "run_env") {
      return { pluginId, permission: "run", target: binary ?? target };
    }
    if (permission === "secrets") return { pluginId, permission, target: target.split(" ")[0] ?? target };
    return { pluginId, permission: permission as Grantable, target };
  });
  return grants.filter((grant, index) => index === grants.findIndex((other) => isSameGrant(other, grant)));
}

/** Whether two grants are one. */
export function isSameGrant(a: NewGrant, b: NewGrant): boolean {
  return a.permission === b.permission && (a.permission === "kv" || a.target === b.target);
}

/** Flags that give these grants, as they are typed. */
export function grantFlags(grants: readonly NewGrant[]): string[] {
  return grants.map((grant) => `--grant ${quoteWord(grantWord(grant))}`);
}

/** A grant as it is typed. */
export function grantWord({ permission, target }: Pick<NewGrant, "permission" | "target">): string {
  return permission === "kv" ? "kv" : `${permission}:${target}`;
}

/** Turns a manifest's requests into a grant of exactly those: an omitted field in a grant would mean all. */
function asGrant(asked: Permissions): Permissions {
  const { limits: _, ...rights } = asked;
  if (rights.run === undefined) return rights;
  return {
    ...rights,
    run: rights.run.map((run) => ({ ...run, args: run.args?.length ? run.args : [""], env: run.env ?? [] })),
  };
}

function withoutNamesOf(granted: Permissions, known: Permissions): Permissions {
  const { limits: _, run = [], secrets = [], ...rest } = granted;
  return {
    ...rest,
    run: run.filter(({ binary, args }) => args !== undefined || !known.run?.some((one) => one.binary === binary)),
    secrets: secrets.filter(({ name, env, hosts }) =>
      env !== undefined || hosts !== undefined || !known.secrets?.some((one) => one.name === name)
    ),
  };
}
