import { matchesArguments, parseArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import type { Permissions, RunPermission, SecretPermission } from "../../../plugin-sdk/permissions.ts";
import { containLevel } from "../../ground/config/contain-level.ts";
import { grantTarget } from "../../ground/config/grant-command.ts";
import { coversTarget, namesLiterally, type NetTarget, sampleTarget } from "../../ground/config/net-target.ts";
import { isInside } from "../../ground/platform/files/paths.ts";
import { actedOnBelow } from "../../ground/platform/places/acted-on-names.ts";

/** Lists that decide together about a plugin's calls. */
export interface PermissionLists {
  /** Permissions that the manifest asks for. */
  requested: Permissions;
  /** The operator's grants. A program without `args` or `env` is granted as the manifest asks for it. */
  grant: Permissions;
  /** Permissions that the operator denied; they win over grants. */
  deny: Permissions;
  /** Permissions that the session narrows to; a kind that it leaves out is not narrowed. */
  request?: Permissions | undefined;
  /**
   * Absolute paths of the named roots `workdir`, `data`, `plugin` and `config:<tool>`, where they are known, so that lists
   * can be compared with one another. A path below `workdir` is written `workdir:<path>`.
   */
  places?: Readonly<Record<string, string>> | undefined;
}

/** A call that needs a permission. */
export type PermissionCall =
  | ({ kind: "run" } & RunCall)
  | FileCall
  | { kind: "net"; target: NetTarget; isSpelledOut?: boolean }
  | { kind: "env"; name: string }
  | { kind: "secrets"; name: string; env?: string; host?: NetTarget }
  | { kind: "mcp_servers"; binary: string }
  | { kind: "kv" };

/** A program and its arguments. */
interface RunCall {
  binary: string;
  args: readonly string[];
}

/** A call about a file, by its real path. */
interface FileCall {
  kind: "read" | "write";
  path: string;
  /** Returns the real paths of a root as a list writes it. For a denial they are all that it may mean. */
  placesOf: (root: string, list: "allowing" | "denying") => readonly string[];
  /** A grant or a person named what programs act on by themselves. */
  isNamed?: boolean;
}

/** The answer to a call. */
type Decision =
  | { allowed: true; run?: RunPermission }
  | { allowed: false; against: ListName; because?: string };

/** The lists by the parties that write them. */
type ListName = "manifest" | "grant" | "request" | "denial";

/**
 * Decides a call: manifest, grant and request each allow it, and no denial matches it. For a program the answer says
 * which variables it may be given and how it is contained.
 */
export function decide(lists: PermissionLists, call: PermissionCall): Decision {
  if (call.kind === "secrets" && call.env === undefined && call.host === undefined) return decideName(lists, call.name);
  const { requested, grant, deny, request } = lists;
  const against = (list: ListName, because?: string | null): Decision =>
    because ? { allowed: false, against: list, because } : { allowed: false, against: list };
  if (!matches(requested, call, "manifest")) return against("manifest");
  if (request?.[call.kind] !== undefined && !matches(request, call, "request")) return against("request");
  if (!matches(grant, call, "grant")) return against("grant");
  if (matches(deny, call, "denial")) return against("denial");
  if (call.kind === "net" && call.isSpelledOut === true && !isSpelledOut(lists, call.target)) return against("grant");
  if (call.kind === "run") return { allowed: true, run: runOf(lists, call) };
  const because = call.kind === "write" && call.isNamed !== true ? actedOn(grant, call) : null;
  return because === null ? { allowed: true } : against("grant", because);
}

/** Whether one list says something about a call. */
function matches(list: Permissions, call: PermissionCall, name: ListName): boolean {
  switch (call.kind) {
    case "run":
      return (list.run ?? []).some((entry) => matchesRun(entry, call, name));
    case "read":
    case "write":
      return placesIn(list, call, name).some((place) => isInside(place, call.path));
    case "net":
      return (list.net ?? []).some((entry) => coversTarget(entry, call.target));
    case "env":
      return list.env?.includes(call.name) ?? false;
    case "secrets":
      return (list.secrets ?? []).some((entry) => matchesSecret(entry, call, name));
    case "mcp_servers":
      return list.mcp_servers?.includes(call.binary) ?? false;
    case "kv":
      return list.kv === true;
  }
}

/** In a manifest no `args` means no arguments; a denial of variables alone leaves the program. */
function matchesRun(
  { binary, args, env }: RunPermission,
  call: RunCall,
  name: ListName,
): boolean {
  if (binary !== call.binary) return false;
  if (args === undefined && name === "denial") return env === undefined;
  if (args === undefined && name !== "manifest") return true;
  if (args === undefined || args.length === 0) return call.args.length === 0;
  return args.some((line) => matchesArguments(parseArgumentPattern(line), call.args));
}

function placesIn(list: Permissions, { kind, placesOf }: FileCall, name: ListName): string[] {
  return (list[kind] ?? []).flatMap((root) => placesOf(root, name === "denial" ? "denying" : "allowing"));
}

/** A name alone stands for all that the manifest asks for under it; in the manifest it asks for nothing. */
function matchesSecret(
  { name, env, hosts }: SecretPermission,
  call: { name: string; env?: string; host?: NetTarget },
  list: ListName,
): boolean {
  if (name !== call.name) return false;
  if (env === undefined && hosts === undefined) return list !== "manifest";
  const { env: variable, host } = call;
  if (variable !== undefined) return env?.includes(variable) ?? false;
  return host !== undefined && (hosts ?? []).some((entry) => coversTarget(entry, host));
}

/** A secret may be used where at least one place may get it. */
function decideName(lists: PermissionLists, name: string): Decision {
  const decided = placesOfSecret(lists, name).map((place) => decide(lists, { kind: "secrets", name, ...place }));
  return decided.find(({ allowed }) => allowed) ?? decided[0] ?? { allowed: false, against: "manifest" };
}

/** Variables and hosts that the lists name for a secret; a domain is represented by one name in it. */
function placesOfSecret(
  { requested, grant, request = {} }: PermissionLists,
  secret: string,
): ({ env: string } | { host: NetTarget })[] {
  const named = [requested, grant, request].map(({ secrets = [] }) => secrets.filter(({ name }) => name === secret));
  const hosts = named.flat().flatMap((entry) => entry.hosts ?? []).map(sampleTarget).filter((host) => host !== null);
  const variables = named[0]!.flatMap(({ env = [] }) => env);
  return [...variables.map((env) => ({ env })), ...hosts.map((host) => ({ host }))];
}

/** One of the lists names the target itself, not only a domain that holds it. */
function isSpelledOut({ requested, grant, request = {} }: PermissionLists, target: NetTarget): boolean {
  return [requested, grant, request].some(({ net = [] }) => net.some((entry) => namesLiterally(entry, target)));
}

/** Says what programs act on by themselves at a path, unless the grant's narrowest root there names it. */
function actedOn(grant: Permissions, call: FileCall): string | null {
  const holding = placesIn(grant, call, "grant").filter((place) => isInside(place, call.path));
  const narrowest = holding.reduce((best, place) => (place.length > best.length ? place : best), "");
  const found = actedOnBelow(narrowest, call.path);
  return found === null ? null : `${found}, and the grant does not name it`;
}

/** The strictest containment of all entries that match, and the variables that entries as strict as that name. */
function runOf(
  { requested, grant, deny, request }: PermissionLists,
  call: PermissionCall & { kind: "run" },
): RunPermission {
  const { binary } = call;
  const matching = (list: Permissions, name: ListName) =>
    (list.run ?? []).filter((entry) => matchesRun(entry, call, name));
  const asked = matching(requested, "manifest");
  const lists = [
    { entries: asked, levelOf: statedLevel, all: false },
    { entries: matching(grant, "grant"), levelOf: containLevel, all: true },
    ...(request?.run === undefined ? [] : [{ entries: matching(request, "request"), levelOf: statedLevel, all: true }]),
  ];
  const level = Math.max(...lists.flatMap(({ entries, levelOf }) => entries.map(levelOf)));
  const denied = new Set((deny.run ?? []).flatMap((entry) => (entry.binary === binary ? entry.env ?? [] : [])));
  const names = new Set(asked.flatMap(({ env = [] }) => env));
  const env = [...names].filter((name) => {
    const naming = lists.map(({ entries, levelOf, all }) =>
      entries.filter((entry) => entry.env === undefined ? all : entry.env.includes(name)).map(levelOf)
    );
    return !denied.has(name) && naming.every(({ length }) => length > 0) && Math.max(...naming.flat()) === level;
  });
  return { binary, ...(env.length > 0 ? { env: env.sort() } : {}), ...containment[level] };
}

/** Manifest and request can shut a program in, and never let it out. */
function statedLevel(entry: RunPermission): number {
  const level = containLevel(entry);
  return level > 1 ? level : 0;
}

const containment: readonly Pick<RunPermission, "contain" | "contain_net">[] = [
  { contain: "off" },
  {},
  { contain: "workdir" },
  { contain: "workdir", contain_net: true },
];

/** Decides the calls of a session. */
export interface Rights {
  decide: (call: PermissionCall) => Decision;
  /**
   * Decides as if all that the manifest asks for were granted: a person may allow that much during a session. Absent: a
   * person may allow anything, but each approval covers only the exact call.
   */
  reach?: ((call: PermissionCall) => Decision) | undefined;
  /** Returns the target of the grant that allows a run as the manifest asks for it: `git push`, or the program alone. */
  rowOf: (call: RunCall) => string;
  /** Returns the roots that the lists name, so that the caller of {@link decide} can resolve them. */
  roots: (kind: "read" | "write") => { allowing: readonly string[]; denying: readonly string[] };
}

function rowOf({ run = [] }: Permissions, { binary, args }: RunCall): string {
  const lines = run.filter((entry) => entry.binary === binary).flatMap((entry) => entry.args ?? []);
  const line = lines.find((one) => matchesArguments(parseArgumentPattern(one), args));
  return line === undefined ? binary : grantTarget({ permission: "run", target: `${binary} ${line}`, binary });
}

/** Binds the lists of a session. */
export function rightsOf(lists: PermissionLists): Rights {
  const { requested, grant, deny, request = {} } = lists;
  // A manifest cannot let a program out, not even with a person's approval.
  const run = requested.run?.map(({ contain, ...entry }) => (contain === "workdir" ? { ...entry, contain } : entry));
  const most = { ...lists, grant: { ...requested, ...(run && { run }) } };
  return {
    decide: (call) => decide(lists, call),
    reach: (call) => decide(most, call),
    rowOf: (call) => rowOf(requested, call),
    roots: (kind) => ({
      allowing: [...new Set([requested, grant, request].flatMap((list) => list[kind] ?? []))],
      denying: deny[kind] ?? [],
    }),
  };
}

/** Binds permissions that are asked for and granted alike; of a program without `args` that is no arguments. */
export function rightsTo(permissions: Permissions): Rights {
  return { ...rightsOf({ requested: permissions, grant: permissions, deny: {} }), reach: undefined };
}
