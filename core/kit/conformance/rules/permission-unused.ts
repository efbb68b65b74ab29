import { matchesArguments, parseArgumentPattern } from "../../../../plugin-sdk/argument-pattern.ts";
import type { CapabilityEvent, ProcessSpawnedEvent } from "../../../../plugin-sdk/envelope.ts";
import { coversTarget } from "../../../walls/broker/net-grants.ts";
import { type Rule, skipped } from "../rule.ts";
import { allTakes, type Seen } from "../seen.ts";

/** An unused permission bothers every operator for nothing. Perhaps only a session of conformance.yaml is missing. */
export const permissionUnusedRule: Rule = {
  id: "permission-unused",
  title: "Each permission that the manifest asks for is used by some session.",
  level: "note",
  check(seen) {
    if (seen.unscripted.length > 0) return skipped("Not every program is scripted.");
    const unused = [...unusedRuns(seen), ...unusedNames(seen)];
    return unused.map((what) => ({ message: `No session used ${what}.` }));
  },
};

function unusedRuns(seen: Seen): string[] {
  const started = eventsOf<ProcessSpawnedEvent>(seen, "process_spawned").map(({ argv }) => argv.slice(1));
  return (seen.permissions.run ?? []).flatMap(({ binary, args }) => {
    const patterns = args === undefined || args.length === 0 ? [""] : args;
    return patterns.filter((pattern) => {
      const parsed = parseArgumentPattern(pattern);
      // The runtime has arguments of its own before those of the script.
      return !started.some((argv) =>
        argv.some((_, from) => matchesArguments(parsed, argv.slice(from))) ||
        matchesArguments(parsed, [])
      );
    }).map((pattern) => `run "${binary}${pattern === "" ? "" : ` ${pattern}`}"`);
  });
}

function unusedNames(seen: Seen): string[] {
  const { permissions, used } = seen;
  const allowed = eventsOf<CapabilityEvent>(seen, "capability").filter(({ decision }) => decision === "allowed");
  const any = (kind: string) => allowed.some(({ permission }) => permission === kind);
  const targets = [...used.net, ...allowed.flatMap(({ permission, target }) => (permission === "net" ? [target] : []))];
  const names = (kind: "env" | "secrets") =>
    new Set([
      ...(kind === "secrets" ? used.secrets : []),
      ...allowed.filter(({ permission }) => permission === kind).map((
        { target },
      ) => target),
    ]);
  return [
    ...(["read", "write"] as const).flatMap((kind) =>
      any(kind) ? [] : (permissions[kind] ?? []).map((root) => `${kind} "${root}"`)
    ),
    ...(permissions.net ?? []).filter((grant) => !targets.some((target) => covers(grant, target))).map((grant) =>
      `net "${grant}"`
    ),
    ...(permissions.env ?? []).filter((name) => !names("env").has(name)).map((name) => `env "${name}"`),
    ...(permissions.secrets ?? []).filter(({ name }) => !names("secrets").has(name)).map(({ name }) =>
      `secrets "${name}"`
    ),
    ...(any("mcp_servers") ? [] : (permissions.mcp_servers ?? []).map((program) => `mcp_servers "${program}"`)),
    ...(permissions.kv === true && !any("kv") ? ["kv"] : []),
  ];
}

function covers(grant: string, target: string): boolean {
  const at = target.lastIndexOf(":");
  return coversTarget(grant, { host: target.slice(0, at), port: Number(target.slice(at + 1)) });
}

function eventsOf<T extends { type: string }>(seen: Seen, type: T["type"]): T[] {
  const envelopes = [...seen.asked, ...allTakes(seen).flatMap((take) => take.envelopes)];
  return envelopes.flatMap(({ event }) => (event.type === type ? [event as unknown as T] : []));
}
