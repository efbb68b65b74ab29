import { omitEmpty } from "../../../plugin-sdk/optional-fields.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type {
  PermissionLimits,
  Permissions,
  RunPermission,
  SecretPermission,
} from "../../../plugin-sdk/permissions.ts";
import { containLevel } from "../../ground/config/contain-level.ts";
import { coversTarget, sampleTarget } from "../../ground/config/net-target.ts";
import { isAbsolute, isInside, join, normalize } from "../../ground/platform/files/paths.ts";
import { coversPattern, sameForm, samplesOf } from "./argument-samples.ts";
import { decide, type PermissionCall, type PermissionLists } from "./decide.ts";

/**
 * Lists what {@link decide} allows: each entry of manifest, grant or request that is allowed as a whole. A root, host or
 * secret of which a denial takes a part is left out; a program's arguments stay, and the denial is decided at the call.
 * @throws {BulkheadError} `invalid_manifest` for an argument pattern that cannot be read, and for patterns that take too
 * long to compare
 */
export function effectivePermissions(sources: PermissionLists): Permissions {
  const { requested, grant, deny, request } = sources;
  const names = (kind: "env" | "mcp_servers", callOf: (name: string) => PermissionCall) =>
    itemsOf(sources, kind).filter((name) => decide(sources, callOf(name)).allowed);
  return omitEmpty({
    run: effectiveRun(sources),
    read: effectiveRoots(sources, "read"),
    write: effectiveRoots(sources, "write"),
    net: hostsOf(itemsOf(sources, "net"), {
      isAllowed: (target) => decide(sources, { kind: "net", target }).allowed,
      denied: deny.net ?? [],
    }),
    env: names("env", (name) => ({ kind: "env", name })),
    mcp_servers: names("mcp_servers", (binary) => ({ kind: "mcp_servers", binary })),
    secrets: effectiveSecrets(sources),
    kv: decide(sources, { kind: "kv" }).allowed,
    limits: smallest([requested.limits, grant.limits, request?.limits, deny.limits]),
  });
}

/** Returns a path to compare a root by. A word whose place is not known gets one beside all that are known. */
function placeOf(root: string, places: Readonly<Record<string, string>> = {}): string {
  const below = /^workdir:(.*)$/s.exec(root)?.[1];
  if (below !== undefined) return join(placeOf("workdir", places), below);
  const path = Object.hasOwn(places, root) ? places[root] ?? root : root;
  return isAbsolute(path) ? join("/known", normalize(path)) : `/words/${root}`;
}

/** Makes the call of an adapter to a root itself. */
export function rootCall(
  kind: "read" | "write",
  root: string,
  places: Readonly<Record<string, string>> = {},
): PermissionCall & { kind: "read" | "write" } {
  return { kind, path: placeOf(root, places), placesOf: (word) => [placeOf(word, places)] };
}

/** Entries of one kind in the lists that allow, each once, in order. */
function itemsOf(
  { requested, grant, request }: PermissionLists,
  kind: "read" | "write" | "net" | "env" | "mcp_servers",
): string[] {
  return [...new Set([requested, grant, request].flatMap((list) => list?.[kind] ?? []))].sort();
}

function effectiveRoots(sources: PermissionLists, kind: "read" | "write"): string[] {
  const { deny, places } = sources;
  const held = (outer: string, inner: string) => isInside(placeOf(outer, places), placeOf(inner, places));
  const allowed = itemsOf(sources, kind).filter((root) =>
    decide(sources, { ...rootCall(kind, root, places), isNamed: true }).allowed &&
    !(deny[kind] ?? []).some((denied) => held(root, denied))
  );
  return widest(allowed, held);
}

/** Hosts that are allowed, without those of which a denial takes a part. */
function hostsOf(
  hosts: readonly string[],
  { isAllowed, denied }: {
    isAllowed(target: NonNullable<ReturnType<typeof sampleTarget>>): boolean;
    denied: readonly string[];
  },
): string[] {
  const covers = (wide: string, narrow: string) => {
    const sample = sampleTarget(narrow);
    return sample !== null && coversTarget(wide, sample);
  };
  const allowed = hosts.filter((host) => {
    const sample = sampleTarget(host);
    return sample !== null && isAllowed(sample) && !denied.some((other) => covers(host, other));
  });
  return widest(allowed, covers);
}

/** Leaves out what another one holds; of two that hold each other the first stays. */
function widest(items: readonly string[], holds: (outer: string, inner: string) => boolean): string[] {
  return items.filter((item, index) =>
    !items.some((other, at) => at !== index && holds(other, item) && (at < index || !holds(item, other)))
  );
}

function effectiveSecrets(lists: PermissionLists): SecretPermission[] {
  const { requested, grant, deny, request = {} } = lists;
  const names = [...new Set((requested.secrets ?? []).map(({ name }) => name))].sort();
  return names.flatMap((name) => {
    const of = (list: Permissions, key: "env" | "hosts") =>
      (list.secrets ?? []).flatMap((entry) => (entry.name === name ? entry[key] ?? [] : []));
    const all = (key: "env" | "hosts") =>
      [...new Set([requested, grant, request].flatMap((list) => of(list, key)))].sort();
    const env = all("env").filter((variable) => decide(lists, { kind: "secrets", name, env: variable }).allowed);
    const hosts = hostsOf(all("hosts"), {
      isAllowed: (host) => decide(lists, { kind: "secrets", name, host }).allowed,
      denied: of(deny, "hosts"),
    });
    return env.length + hosts.length > 0 ? [{ name, ...omitEmpty({ env, hosts }) }] : [];
  });
}

/** Comparisons of words that one list of programs may take: a stranger's patterns must not keep the host busy. */
const maxSteps = 10_000_000;

/** Programs with the patterns that are allowed as a whole, those together that run alike. */
function effectiveRun(lists: PermissionLists): RunPermission[] {
  const alike = new Map<string, { run: RunPermission; lines: string[] }>();
  for (const [binary, lines] of patternsOf(lists)) {
    for (const line of lines) {
      const run = runOf(lists, { binary, line });
      if (run === null) continue;
      const key = JSON.stringify(run);
      const found = alike.get(key) ?? { run, lines: [] };
      found.lines.push(line);
      alike.set(key, found);
    }
  }
  return [...alike.values()].map(({ run: { binary, ...rest }, lines: all }) => {
    const lines = widest(all, coversPattern);
    const args = lines.length === 1 && lines[0] === "" ? undefined : lines;
    return { binary, ...omitEmpty({ args, ...rest }) };
  });
}

/**
 * Returns how a program runs with every call of a pattern; null for a pattern that some list does not allow as a whole,
 * or a denial takes.
 */
function runOf(lists: PermissionLists, { binary, line }: { binary: string; line: string }): RunPermission | null {
  const decided = samplesOf(line).map((args) => decide(lists, { kind: "run", binary, args }));
  if (!decided.every((one) => one.allowed || one.against === "denial")) return null;
  const [first, ...others] = decided.flatMap((one) => (one.allowed && one.run ? [one.run] : []));
  if (first === undefined) return null;
  const env = (first.env ?? []).filter((name) => others.every((other) => other.env?.includes(name)));
  const loosest = others.reduce((least, one) => (containLevel(one) < containLevel(least) ? one : least), first);
  return { ...loosest, env };
}

/**
 * Argument patterns by program, in order.
 * @throws {BulkheadError} `invalid_manifest` when comparing them would take too long
 */
function patternsOf({ requested, grant, request = {} }: PermissionLists): Map<string, string[]> {
  const entries = [requested, grant, request].flatMap(({ run = [] }) => run);
  const found = new Map<string, string[]>();
  for (const binary of [...new Set(entries.map((entry) => entry.binary))].sort()) {
    const own = entries.filter((entry) => entry.binary === binary);
    const lines = own.flatMap(({ args }) => (args === undefined || args.length === 0 ? [""] : args));
    const words = lines.reduce((sum, line) => sum + 1 + line.split(" ").length, 0);
    const sampled = lines.flatMap(samplesOf).reduce((sum, args) => sum + 1 + args.length, 0);
    if (words * sampled > maxSteps) throw tooLong();
    found.set(binary, [...new Set(lines.map(sameForm))].sort());
  }
  return found;
}

function tooLong(): BulkheadError {
  return new BulkheadError("invalid_manifest", "Cannot compare argument patterns: they are too long or too many.", {
    hint: "Write fewer and shorter patterns, with fewer {...} in each.",
  });
}

function smallest(all: readonly (PermissionLimits | undefined)[]): PermissionLimits {
  const limits: PermissionLimits = {};
  for (const key of ["children", "file_bytes", "response_bytes"] as const) {
    const values = all.map((one) => one?.[key]).filter((value) => value !== undefined);
    if (values.length > 0) limits[key] = Math.min(...values);
  }
  return limits;
}
