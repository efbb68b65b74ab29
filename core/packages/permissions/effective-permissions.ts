import { omitEmpty } from "../../../plugin-sdk/optional-fields.ts";
import type {
  PermissionLimits,
  Permissions,
  RunPermission,
  SecretPermission,
} from "../../../plugin-sdk/permissions.ts";
import { containLevel } from "../../ground/config/contain-level.ts";
import { PatternComparison } from "./argument-set.ts";
import { meetNet } from "./net-set.ts";
import { meetSecrets, widestSecrets, withoutSecrets } from "./secret-set.ts";
import { holds, meetRoots, type Places, rootsOverlap } from "./root-set.ts";

/** Sources of the effective permissions. */
export interface PermissionSources {
  /** Permissions that the manifest asks for. */
  requested: Permissions;
  /** The operator's grants. A program without `args` or `env` is granted as the manifest asks for it. */
  grant: Permissions;
  /** Permissions that the operator denied; they win over grants. */
  deny: Permissions;
  /** Permissions that the session narrows to; a kind that it leaves out is not narrowed. */
  request?: Permissions | undefined;
  /** Paths of the named roots, so that they can be compared with absolute paths. */
  places?: Places | undefined;
}

/**
 * Manifest ∩ grant ∩ request − deny. Never wider than any of them. What is denied takes away everything that
 * overlaps with it: a root that holds a denied one goes as a whole, since what is left of it has no name.
 * @throws {BulkheadError} `invalid_manifest` for an argument pattern that cannot be read, and for patterns that take too
 * long to compare
 */
export function effectivePermissions(sources: PermissionSources): Permissions {
  const { requested, grant, deny, request = {}, places = {} } = sources;
  const roots = {
    meet: (a: string, b: string) => meetRoots(a, b, places),
    within: (a: string, b: string) => holds(b, a, places),
  };
  const lists = (["read", "write", "net", "env", "mcp_servers"] as const).map((kind) => {
    const algebra = kind === "read" || kind === "write" ? roots : kind === "net" ? net : names;
    const granted = meetLists(requested[kind] ?? [], grant[kind] ?? [], algebra);
    const narrowed = request[kind] === undefined ? granted : meetLists(granted, request[kind], algebra);
    const overlaps = kind === "read" || kind === "write"
      ? (a: string, b: string) => rootsOverlap(a, b, places)
      : (a: string, b: string) => algebra.meet(a, b) !== null;
    return [kind, narrowed.filter((item) => !(deny[kind] ?? []).some((denied) => overlaps(item, denied)))] as const;
  });
  const run = effectiveRun(sources);
  const secrets = effectiveSecrets(sources);
  const limits = smallest([requested.limits, grant.limits, request.limits, deny.limits]);
  const kv = requested.kv === true && grant.kv === true && request.kv !== false && deny.kv !== true;
  return omitEmpty({ run, ...Object.fromEntries(lists), secrets, kv, limits });
}

interface ListAlgebra {
  /** The narrower of two, or null when they share nothing. */
  meet(a: string, b: string): string | null;
  within(a: string, b: string): boolean;
}

const names: ListAlgebra = { meet: (a, b) => (a === b ? a : null), within: (a, b) => a === b };
const net: ListAlgebra = { meet: meetNet, within: (a, b) => meetNet(a, b) === a };

function meetLists(left: readonly string[], right: readonly string[], { meet, within }: ListAlgebra): string[] {
  const met = left.flatMap((a) => right.map((b) => meet(a, b))).filter((item) => item !== null);
  const unique = [...new Set(met)].sort();
  return unique.filter((item, index) =>
    !unique.some((other, at) => at !== index && within(item, other) && (at < index || !within(other, item)))
  );
}

function effectiveRun({ requested, grant, deny, request }: PermissionSources): RunPermission[] {
  // One comparison for all, so that its bound holds for all together.
  const patterns = new PatternComparison();
  // In a manifest no `args` means no arguments, and no `env` no names.
  const asked = (requested.run ?? []).map((entry) => ({
    binary: entry.binary,
    args: listOrNone(entry.args),
    env: entry.env ?? [],
    ...(entry.contain === "off" ? {} : containmentOf([entry])),
  }));
  const granted = meetRuns(asked, { given: grant.run ?? [], patterns });
  // A session can shut a program in, and never let it out.
  const narrowed = request?.run === undefined
    ? granted
    : meetRuns(granted, { given: request.run.map(withoutOff), patterns });
  const allowed = narrowed.map((entry) => withoutDenied(entry, { denied: deny.run ?? [], patterns })).filter((entry) =>
    entry.args.length > 0
  );
  return widestRuns(allowed, patterns).map(writeRun);
}

interface FullRun {
  binary: string;
  args: string[];
  env: string[];
  contain?: "workdir" | "off";
  contain_net?: true;
}

function meetRuns(
  asked: readonly FullRun[],
  { given, patterns }: { given: readonly RunPermission[]; patterns: PatternComparison },
): FullRun[] {
  return asked.flatMap((ask) =>
    given.filter((give) => give.binary === ask.binary).map((give) => ({
      binary: ask.binary,
      args: patterns.meet(ask.args, give.args === undefined ? ask.args : listOrNone(give.args)),
      env: give.env === undefined ? ask.env : ask.env.filter((name) => give.env?.includes(name)),
      ...containmentOf([ask, give]),
    }))
  ).filter((entry) => entry.args.length > 0);
}

/** The strictest of several that are stated. */
function containmentOf(entries: readonly RunPermission[]): Pick<FullRun, "contain" | "contain_net"> {
  if (entries.some((entry) => entry.contain_net === true)) return { contain: "workdir", contain_net: true };
  if (entries.some((entry) => entry.contain === "workdir")) return { contain: "workdir" };
  return entries.some((entry) => entry.contain === "off") ? { contain: "off" } : {};
}

function withoutOff({ contain, ...entry }: RunPermission): RunPermission {
  return contain === "workdir" ? { ...entry, contain } : entry;
}

/** An empty list of patterns allows the empty argument list, as none at all does. */
function listOrNone(args: readonly string[] | undefined): string[] {
  return args === undefined || args.length === 0 ? [""] : [...args];
}

/** A denied program without `args` and `env` is denied as a whole; with them, only those. */
function withoutDenied(
  entry: FullRun,
  { denied, patterns }: { denied: readonly RunPermission[]; patterns: PatternComparison },
): FullRun {
  return denied.filter((deny) => deny.binary === entry.binary).reduce<FullRun>((left, deny) => {
    const whole = deny.args === undefined && deny.env === undefined;
    return {
      ...left,
      args: whole ? [] : deny.args === undefined ? left.args : patterns.without(left.args, listOrNone(deny.args)),
      env: left.env.filter((name) => !deny.env?.includes(name)),
    };
  }, entry);
}

/** One form for the same grants: names sorted, and no entry that another one covers. */
function widestRuns(entries: readonly FullRun[], patterns: PatternComparison): FullRun[] {
  const sorted = entries
    .map((entry) => ({ ...entry, env: [...new Set(entry.env)].sort() }))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  const covers = (wide: FullRun, narrow: FullRun) => isWithin(narrow, wide) && patterns.covers(wide.args, narrow.args);
  return sorted.filter((entry, index) =>
    !sorted.some((other, at) => at !== index && covers(other, entry) && (at < index || !covers(entry, other)))
  );
}

/**
 * Whether all but the arguments of a run are within another. A less contained run never covers a more contained one:
 * where both allow a run, the more contained one is used.
 */
function isWithin(narrow: FullRun, wide: FullRun): boolean {
  if (containLevel(wide) < containLevel(narrow)) return false;
  return wide.binary === narrow.binary && narrow.env.every((name) => wide.env.includes(name));
}

function writeRun({ binary, args, env, ...containment }: FullRun): RunPermission {
  const onlyEmpty = args.length === 1 && args[0] === "";
  return { binary, ...omitEmpty({ args: onlyEmpty ? undefined : args, env }), ...containment };
}

function effectiveSecrets({ requested, grant, deny, request }: PermissionSources): SecretPermission[] {
  const granted = meetSecrets(requested.secrets ?? [], grant.secrets ?? []);
  const narrowed = request?.secrets === undefined ? granted : meetSecrets(granted, request.secrets);
  return widestSecrets(withoutSecrets(narrowed, deny.secrets ?? []));
}

function smallest(all: readonly (PermissionLimits | undefined)[]): PermissionLimits {
  const limits: PermissionLimits = {};
  for (const key of ["children", "file_bytes", "response_bytes"] as const) {
    const values = all.map((one) => one?.[key]).filter((value) => value !== undefined);
    if (values.length > 0) limits[key] = Math.min(...values);
  }
  return limits;
}
