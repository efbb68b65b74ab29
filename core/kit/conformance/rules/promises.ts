import { matchesArguments, parseArgumentPattern } from "../../../../plugin-sdk/argument-pattern.ts";
import type { CapabilityEvent, ProcessSpawnedEvent } from "../../../../plugin-sdk/envelope.ts";
import { accepts, reports } from "../../../sessions/session/enforceable.ts";
import { coversTarget } from "../../../ground/config/net-target.ts";
import { type Rule, skipped } from "../rule.ts";
import { allTakes, ordinary, type Seen, unsetVariable } from "../seen.ts";

/** Fields whose values can be followed to the agent; the others may hold without being handed on. */
const traced = ["model", "system_prompt", "continue_from", "output_schema"] as const;

/** Rules of what the manifest promises and asks for. */
export const promiseRules: readonly Rule[] = [
  // DRIFT: a client counts on what the manifest accepts.
  {
    id: "accepts",
    title: "What the manifest accepts reaches the agent.",
    check(seen) {
      const { fields, manifest, scripted } = seen;
      if (fields === null) return skipped("It accepts nothing that can be followed.");
      const unset = unsetVariable(seen);
      if (unset !== null) return skipped(unset);
      // A tool without code says in its template what it takes; code that only lists models promises no more than those.
      const promised = (field: typeof traced[number]) =>
        manifest.cli === undefined ? manifest.accepts?.includes(field) === true : accepts(manifest, field);
      return traced.filter(promised).flatMap((field) => {
        const value = sentValue(field, seen);
        if (value === null) return [];
        if (!fields.read.includes(field)) {
          return [{ message: `DRIFT: the manifest accepts ${field}, and the adapter never looks at it.` }];
        }
        if (!scripted || fields.sent.includes(value)) return [];
        return [{ message: `DRIFT: the manifest accepts ${field}, and its value never reaches the agent.` }];
      });
    },
  },
  // DRIFT: only what is told can be limited.
  {
    id: "reports",
    title: "What the manifest reports is told, and what is told and can be limited is reported.",
    check(seen) {
      const { manifest } = seen;
      const unset = unsetVariable(seen);
      if (unset !== null) return skipped(unset);
      const told = ordinary(seen).flatMap(({ events }) => events);
      const all = allTakes(seen).flatMap(({ events }) => events);
      const tokens = told.some((event) =>
        (event.type === "usage" && (event.tokens_in !== null || event.tokens_out !== null)) ||
        (event.type === "completed" && event.tokens_used !== null)
      );
      const cost = told.some((event) => (event.type === "usage" || event.type === "completed") && event.cost !== null);
      const missing = [
        ...(manifest.reports?.includes("tokens") && !tokens ? ["tokens"] : []),
        ...(manifest.reports?.includes("cost") && !cost ? ["cost"] : []),
      ];
      const unsaid = [
        ...(all.some(({ type }) => type === "tool_call") && !reports(manifest, "tool_calls") ? ["tool_calls"] : []),
        ...(all.some(({ type }) => type === "permission_request") && !reports(manifest, "permissions")
          ? ["permissions"]
          : []),
      ];
      return [
        ...missing.map((fact) => ({ message: `DRIFT: the manifest reports ${fact}, and no session told any.` })),
        ...unsaid.map((fact) => ({ message: `DRIFT: a session told ${fact}, and the manifest does not report them.` })),
      ];
    },
  },
  // All that its manifest asks for was granted, so what is denied was never asked for.
  {
    id: "permission-undeclared",
    title: "The adapter uses nothing that its manifest does not ask for.",
    check(seen) {
      const denied = envelopesOf(seen).flatMap(({ event }) =>
        event.type === "capability" && event.decision === "denied" && event.needed !== false ? useOf(event, seen) : []
      );
      const hosts = seen.used.net.filter((target) => !isDeclared(target, seen)).map((target) => `net "${target}"`);
      const secrets = seen.used.secrets.filter((name) => !seen.permissions.secrets?.some((one) => one.name === name))
        .map((name) => `secrets "${name}"`);
      const others = [...hosts, ...secrets].map(undeclared);
      return [...new Set([...denied, ...others])].map((message) => ({ message }));
    },
  },
  // An unused permission bothers every operator for nothing. Perhaps only a session of conformance.yaml is missing.
  {
    id: "permission-unused",
    title: "Each permission that the manifest asks for is used by some session.",
    level: "note",
    check(seen) {
      if (seen.unscripted.length > 0) return skipped("Not every program is scripted.");
      const unused = [...unusedRuns(seen), ...unusedNames(seen)];
      return unused.map((what) => ({ message: `No session used ${what}.` }));
    },
  },
];

/** Returns the value that the agent must get; null where the kit knows no value to send. */
function sentValue(field: (typeof traced)[number], { members, traced: sent }: Seen): string | null {
  // An adapter may say a schema in other words, but not name its fields otherwise.
  const value = field === "output_schema" ? Object.keys(Object(sent[field]?.["properties"]))[0] : sent[field];
  if (typeof value !== "string") return null;
  const own = field === "model" ? members?.models[value]?.value : undefined;
  return typeof own === "string" ? own : value;
}

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
  return permissions.net?.some((grant) => covers(grant, target)) ?? false;
}

function envelopesOf(seen: Seen): Seen["asked"] {
  return [...seen.asked, ...allTakes(seen).flatMap(({ envelopes }) => envelopes)];
}

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
  return envelopesOf(seen).flatMap(({ event }) => (event.type === type ? [event as unknown as T] : []));
}
