import type { ExplainedPermission } from "../../../plugin-sdk/plugin-report.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { Permissions, RunPermission } from "../../../plugin-sdk/permissions.ts";
import { sampleTarget } from "../../ground/config/net-target.ts";
import { mayMeet, sameForm, samplesOf } from "./argument-samples.ts";
import { type BreadthOptions, broadness, broadRunEnv, riskiestFirst, writesWorkdir } from "./broad-permissions.ts";
import { isForPrograms } from "./contained-programs.ts";
import { decide, type PermissionCall, type PermissionLists } from "./decide.ts";
import { effectivePermissions, rootCall } from "./effective-permissions.ts";

/**
 * A row for every permission that the manifest asks for, for every grant and every denial it does not ask for; those
 * first that amount to most.
 */
export function explainPermissions(
  sources: PermissionLists,
  places: BreadthOptions = { path: [] },
): ExplainedPermission[] {
  const rows = atoms(sources.requested).map((atom) => ({ atom, row: explainRequested(atom, sources) }));
  const unasked = atoms(sources.grant).filter((atom) =>
    !isBareRun(atom) && !overlaps(sources.requested, atom, sources)
  );
  const hasPrograms = places.contained === true && (sources.requested.run ?? []).length > 0;
  const all = [
    ...rows,
    ...unasked.map((atom) => ({
      atom,
      row: hasPrograms && isForPrograms(atom) ? explainForPrograms(atom, sources) : explainUnasked(atom),
    })),
  ];
  // The rows of what is asked for, or granted, say themselves what of it is denied.
  const known = [sources.requested, sources.grant];
  const programs = new Set(known.flatMap(({ run = [] }) => run.map(({ binary }) => binary)));
  const denied = atoms(sources.deny).filter((atom) =>
    !(isBareRun(atom) && programs.has(atom.only.run?.[0]?.binary ?? "")) &&
    !known.some((permissions) => overlaps(permissions, atom, sources))
  );
  all.push(...denied.map((atom) => ({ atom, row: explainDenied(atom) })));
  const beside = { ...places, workdirIsWritten: writesWorkdir(sources.requested) };
  return riskiestFirst(all.map(({ atom, row }) => ({ ...row, ...breadthOf(atom, beside) })));
}

/** Lists the permissions that amount to more than they seem, the riskiest first. */
export function broadPermissions(permissions: Permissions, places: BreadthOptions): BroadPermission[] {
  const all = atoms(permissions).map((atom) => {
    const { permission, target } = atom;
    return { permission, target, ...breadthOf(atom, { ...places, workdirIsWritten: writesWorkdir(permissions) }) };
  });
  return riskiestFirst(all).filter(({ breadth }) => breadth !== "bounded");
}

/** A permission that amounts to more than it seems. */
export type BroadPermission = Pick<ExplainedPermission, "permission" | "target" | "breadth" | "broad_because">;

function breadthOf(
  { permission, only }: Atom,
  places: BreadthOptions,
): Pick<ExplainedPermission, "breadth" | "broad_because"> {
  const [run] = only.run ?? [];
  const broad = permission === "run_env"
    ? broadRunEnv(run?.binary ?? "", run?.env?.[0] ?? "")
    : broadness(only, places);
  return broad === null ? { breadth: "bounded" } : { breadth: broad.breadth, broad_because: broad.why };
}

type Decision = ReturnType<typeof decide>;

type Settled = Omit<ExplainedPermission, "breadth" | "broad_because">;

interface Atom {
  permission: ExplainedPermission["permission"];
  target: string;
  only: Permissions;
}

/** Permissions taken apart to the smallest pieces that can be granted. */
function atoms(permissions: Permissions): Atom[] {
  const lists = (["read", "write", "net", "env", "mcp_servers"] as const).flatMap((kind) =>
    (permissions[kind] ?? []).map((target): Atom => ({ permission: kind, target, only: { [kind]: [target] } }))
  );
  const limits = Object.entries(permissions.limits ?? {}).map(([key, value]): Atom => ({
    permission: "limits",
    target: `${key} ${value}`,
    only: { limits: { [key]: value } },
  }));
  const kv: Atom[] = permissions.kv ? [{ permission: "kv", target: "kv", only: { kv: true } }] : [];
  const secrets = (permissions.secrets ?? []).flatMap(secretAtoms);
  return [...(permissions.run ?? []).flatMap(runAtoms), ...lists, ...secrets, ...kv, ...limits];
}

/** A name alone grants all that is asked for under it. */
function secretAtoms({ name, env, hosts }: NonNullable<Permissions["secrets"]>[number]): Atom[] {
  const atom = (target: string, rest: { env?: string[]; hosts?: string[] }): Atom => ({
    permission: "secrets",
    target,
    only: { secrets: [{ name, ...rest }] },
  });
  if (env === undefined && hosts === undefined) return [atom(name, {})];
  return [
    ...(env ?? []).map((variable) => atom(`${name} in ${variable}`, { env: [variable] })),
    ...(hosts ?? []).map((host) => atom(`${name} to ${host}`, { hosts: [host] })),
  ];
}

function runAtoms({ binary, args, env, ...containment }: RunPermission): Atom[] {
  const patterns = (args === undefined || args.length === 0 ? [""] : args).map(sameForm);
  return [
    ...patterns.map((pattern): Atom => ({
      permission: "run",
      target: pattern === "" ? binary : `${binary} ${pattern}`,
      only: { run: [{ binary, args: [pattern], ...containment }] },
    })),
    ...(env ?? []).map((name): Atom => ({
      permission: "run_env",
      target: `${binary} ${name}`,
      only: { run: [{ binary, ...omitUndefined({ args }), env: [name] }] },
    })),
  ];
}

function isBareRun(atom: Atom): boolean {
  return atom.permission === "run" && atom.only.run?.[0]?.args?.[0] === "";
}

function explainRequested(atom: Atom, sources: PermissionLists): Settled {
  const { permission, target, only } = atom;
  if (permission === "limits") return explainLimit(atom, sources);
  const own = { ...sources, requested: only };
  const unnarrowed = { ...own, request: undefined };
  const granted = allowedOf(atom, { ...unnarrowed, deny: {} });
  const allowed = allowedOf(atom, own);
  const except = allowed.length === 0 ? [] : deniedPartsOf(atom, sources);
  const effective = except.length === 0 ? allowed : allowed.map((one) => `${one} (not ${except.join(", ")})`);
  return {
    permission,
    target,
    ...binaryOf(atom),
    requested: true,
    granted: granted.length > 0,
    denied: allowedOf(atom, { ...unnarrowed, grant: only }).length === 0,
    effective,
    why: granted.length === 0
      ? `The manifest asks for it, and it is not granted${unnamedIn(atom, unnarrowed)}.`
      : effective.length > 0
      ? allowedWords(atom, { own, effective })
      : allowedOf(atom, unnarrowed).length === 0
      ? "It is granted and also denied; what is denied counts."
      : "It is granted, and this session's request leaves it out.",
  };
}

function allowedWords(
  atom: Atom,
  { own, effective }: { own: PermissionLists; effective: readonly string[] },
): string {
  if (effective.length !== 1 || effective[0] !== atom.target) return `It is allowed as far as ${effective.join(", ")}.`;
  const first = decisionsOn(atom, own).find(({ allowed }) => allowed);
  return `It is asked for and granted${containmentWords(first?.allowed ? first.run : undefined)}.`;
}

/** Says why a grant that holds it does not do. */
function unnamedIn(atom: Atom, sources: PermissionLists): string {
  const [decided] = decisionsOn(atom, { ...sources, deny: {} });
  return decided?.allowed === false && decided.because !== undefined ? `: ${decided.because}` : "";
}

/** Decides the calls that represent a permission. */
function decisionsOn(atom: Atom, sources: PermissionLists): Decision[] {
  if (atom.permission === "run_env") return [variableDecision(atom, sources)];
  return callsOf(atom, sources).map((call) => decide(sources, call));
}

/** Decides whether some call gives a program a variable. */
function variableDecision({ only }: Atom, sources: PermissionLists): Decision {
  const { binary = "", args = [], env = [] } = only.run?.[0] ?? {};
  const calls = (args.length === 0 ? [""] : args).flatMap(samplesOf);
  const decided = calls.map((call) => decide(sources, { kind: "run", binary, args: call }));
  return decided.find((one) => one.allowed && one.run?.env?.includes(env[0] ?? "")) ??
    decided.find(({ allowed }) => !allowed) ?? { allowed: false, against: "grant" };
}

/** Returns the targets that are allowed of a permission: itself, or as much as grant and request leave of it. */
function allowedOf(atom: Atom, sources: PermissionLists): string[] {
  const decided = decisionsOn(atom, sources);
  const isWhole = decided.every((one) => one.allowed || one.against === "denial");
  if (isWhole) return decided.some(({ allowed }) => allowed) ? [atom.target] : [];
  const { grant, request = {} } = sources;
  const parts = [grant, request].flatMap(atoms).filter((part) => {
    if (part.permission !== atom.permission || part.target === atom.target || isBareRun(part)) return false;
    // Calls that fit both patterns are allowed, where neither holds the other.
    const shared = mayMeetRun(atom, part) ? { ...sources, requested: part.only } : sources;
    return decisionsOn(part, shared).some(({ allowed }) => allowed);
  });
  return [...new Set(parts.map(({ target }) => target))].sort();
}

/** Returns the denied targets that are a part of a permission. */
function deniedPartsOf(atom: Atom, { deny, places }: PermissionLists): string[] {
  const parts = { ...deny, run: (deny.run ?? []).filter(({ args }) => args !== undefined) };
  return atoms(parts).filter((part) =>
    part.permission === atom.permission &&
    (mayMeetRun(atom, part) ||
      decisionsOn(part, { requested: atom.only, grant: part.only, deny: {}, places }).some(({ allowed }) => allowed))
  ).map(({ target }) => target);
}

function mayMeetRun(a: Atom, b: Atom): boolean {
  const [left, right] = [a, b].map(({ permission, only }) => (permission === "run" ? only.run?.[0] : undefined));
  return left !== undefined && left.binary === right?.binary && mayMeet(left.args?.[0] ?? "", right.args?.[0] ?? "");
}

/** Makes the calls that represent a permission. */
function callsOf({ permission, only }: Atom, { places }: PermissionLists): PermissionCall[] {
  const run = only.run?.[0];
  const secret = only.secrets?.[0];
  const [text = ""] = Object.values(only).flat() as string[];
  const host = secret?.hosts?.[0] ?? text;
  const target = permission === "net" || secret?.hosts !== undefined ? sampleTarget(host) : null;
  switch (permission) {
    case "run":
      return samplesOf(run?.args?.[0] ?? "").map((args) => ({ kind: permission, binary: run!.binary, args }));
    case "read":
    case "write":
      return [rootCall(permission, text, places)];
    case "net":
      return target === null ? [] : [{ kind: permission, target }];
    case "env":
      return [{ kind: permission, name: text }];
    case "mcp_servers":
      return [{ kind: permission, binary: text }];
    case "secrets":
      return [{
        kind: permission,
        name: secret!.name,
        ...omitUndefined({ env: secret!.env?.[0], host: target ?? undefined }),
      }];
    case "kv":
      return [{ kind: permission }];
    default:
      return [];
  }
}

function binaryOf({ only }: Atom): { binary?: string } {
  const binary = only.run?.[0]?.binary;
  return binary === undefined ? {} : { binary };
}

function containmentWords(run: RunPermission | undefined): string {
  if (run?.contain === "off") return ", and runs with all your rights (contain: off)";
  if (run?.contain === undefined) return "";
  return `, contained in the working directory${run.contain_net ? " and without network" : ""}`;
}

function explainLimit({ permission, target, only }: Atom, sources: PermissionLists): Settled {
  const [key] = Object.keys(only.limits ?? {}) as ("children" | "file_bytes" | "response_bytes")[];
  const value = key && effectivePermissions(sources).limits?.[key];
  const own = key && only.limits?.[key];
  return {
    permission,
    target,
    requested: true,
    granted: true,
    denied: false,
    effective: value === undefined ? [] : [`${key} ${value}`],
    why: value === own ? "The manifest sets this ceiling." : `A smaller ceiling of ${value} is set for it.`,
  };
}

function overlaps(requested: Permissions, atom: Atom, { places = {} }: PermissionLists): boolean {
  if (atom.permission === "limits") return true;
  if ((requested.run ?? []).flatMap(runAtoms).some((one) => mayMeetRun(one, atom))) return true;
  const { limits: _, ...rights } = requested;
  return Object.keys(effectivePermissions({ requested: rights, grant: atom.only, deny: {}, places })).length > 0;
}

/** Explains a grant that the operator alone decides about: the manifest need not ask for it. */
function explainForPrograms(atom: Atom, { deny, places }: PermissionLists): Settled {
  const { permission, target, only } = atom;
  const left = effectivePermissions({ requested: only, grant: only, deny, places });
  const isDenied = Object.keys(left).length === 0;
  return {
    ...explainUnasked(atom),
    denied: isDenied,
    effective: isDenied ? [] : [target],
    why: isDenied
      ? "It is granted and also denied; what is denied counts."
      : `Its contained programs may ${permission === "net" ? "call" : "read"} it; its own code may not.`,
  };
}

function explainDenied(atom: Atom): Settled {
  return { ...explainUnasked(atom), granted: false, denied: true, why: "It is denied, and no one is asked about it." };
}

function explainUnasked(atom: Atom): Settled {
  const { permission, target } = atom;
  return {
    permission,
    target,
    ...binaryOf(atom),
    requested: false,
    granted: true,
    denied: false,
    effective: [],
    why: "It is granted, but the manifest does not ask for it.",
  };
}
