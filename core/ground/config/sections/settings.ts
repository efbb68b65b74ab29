import * as z from "zod";
import validRange from "semver/ranges/valid.js";
import { type AgentCapabilities, capabilityFlags } from "../../../../plugin-sdk/capabilities.ts";
import type { BudgetSettings } from "../budget-settings.ts";
import { type ClusterCredentials, type ClusterSettings, defaultClusterSettings } from "../cluster-settings.ts";
import type { DaemonSettings } from "../daemon-settings.ts";
import type { BlockedPlugin, HostManifest, Routing } from "../host-manifest.ts";
import { journalSyncs } from "../journal-sync.ts";
import { hasOnlyReferences, type McpServer } from "../mcp-server.ts";
import { readSecretReference } from "../secret-reference.ts";
import { defaultNotifySettings, noticeKinds, type NotifySettings } from "../notify-settings.ts";
import { defaultTelemetrySettings, genAiConventions, type TelemetrySettings } from "../telemetry-settings.ts";
import { line, positive, time } from "./texts.ts";
import type { PromptSettings } from "../../prompt/prompt-settings.ts";
import { isAbsolute } from "../../platform/files/paths.ts";

/** `blocked`: plugins that are never used; it overrides every other setting. */
export function blockedSection(): z.ZodType<BlockedPlugin[]> {
  const range = z.string().min(1).max(256).refine((text) => validRange(text) !== null, {
    params: { expected: "a range of versions such as <1.2.3" },
  });
  const entry = z.strictObject({
    plugin: z.string().min(1).max(64).exactOptional(),
    package: z.string().min(1).max(214).exactOptional(),
    versions: range.exactOptional(),
    because: line().exactOptional(),
  }).refine(({ plugin, package: name }) => plugin !== undefined || name !== undefined, {
    params: { expected: "plugin, an id, or package, the name of an npm package" },
  });
  return z.array(entry).max(1024).nullable().transform((blocked) => blocked ?? []);
}

/** Every call of a model is counted in each budget that covers it. */
const mostBudgets = 256;

/** `budgets`: what sessions may use together, by name. */
export function budgetsSection(): z.ZodType<Record<string, BudgetSettings>> {
  const budget = z.strictObject({
    labels: z.record(z.string().min(1).max(64), z.string().max(256)).exactOptional(),
    per: z.enum(["day", "month"]).exactOptional(),
    cost: z.number().min(0).exactOptional(),
    tokens: z.int().min(0).exactOptional(),
  }).refine(({ cost, tokens }) => cost !== undefined || tokens !== undefined, {
    params: { expected: '"cost", "tokens" or both' },
  });
  return z.record(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), budget)
    .refine((budgets) => Object.keys(budgets).length <= mostBudgets, {
      params: { expected: `at most ${mostBudgets} budgets` },
    })
    .nullable().transform((budgets) => budgets ?? {});
}

/** `secrets`: where each is. */
export function secretsSection(): z.ZodType<Record<string, string>> {
  const secretName = z.string().max(256).refine((text) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text), {
    params: { expected: "a name of letters, digits and _" },
  });
  const reference = z.string().max(4096).refine((text) => readSecretReference(text) !== null, {
    params: { expected: "stored, env:NAME or file:/absolute/path" },
  });
  return z.record(secretName, reference).nullable().transform((secrets) => secrets ?? {});
}

/** `mcp_servers`: servers that sessions may name, by their names. */
export function mcpServersSection(): z.ZodType<Record<string, McpServer>> {
  const withSecrets = z.record(
    z.string().min(1).max(256),
    z.string().max(8192).refine(hasOnlyReferences, { params: { expected: "text, with secrets as ${secret:NAME}" } }),
  );
  const server: z.ZodType<McpServer> = z.union([
    z.strictObject({
      command: line(),
      args: z.array(z.string().max(4096)).max(64).exactOptional(),
      env: withSecrets.exactOptional(),
    }),
    z.strictObject({
      url: z.string().max(4096).regex(/^https?:\/\/[^\s]+$/),
      headers: withSecrets.exactOptional(),
    }),
  ]);
  return z.record(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), server).nullable()
    .transform((servers) => servers ?? {});
}

/** `routing`. */
export function routingSection(): z.ZodType<Routing> {
  const capabilities: z.ZodType<AgentCapabilities> = z.strictObject({
    ...Object.fromEntries(capabilityFlags.map((flag) => [flag, z.boolean().exactOptional()])),
    max_context_tokens: positive().exactOptional(),
    custom: z.record(z.string().min(1).max(64), z.boolean()).exactOptional(),
  });
  return z.strictObject({
    agent: z.union([line(), z.array(line()).min(1).max(64)]).default("auto"),
    order: z.array(line()).max(64).exactOptional(),
    require: capabilities.exactOptional(),
    availability_ttl_ms: time(0).exactOptional(),
  });
}

/** `prompt`. */
export function promptSection(): z.ZodType<Partial<PromptSettings>> {
  const text = z.string().min(1).max(65_536);
  const roleInstructions = z.strictObject({ full: text.exactOptional(), condensed: text.exactOptional() });
  return z.strictObject({
    enhance: z.enum(["asked", "always", "never"]).exactOptional(),
    signal: z.string().min(1).max(256).refine((signal) => signal.trim() === signal && !/[\r\n]/.test(signal), {
      params: { expected: "one line without blanks around it" },
    }).exactOptional(),
    scratchpad: line().exactOptional(),
    full_iterations: z.int().min(0).exactOptional(),
    instructions: z.strictObject({
      orchestrator: roleInstructions.exactOptional(),
      implementor: roleInstructions.exactOptional(),
    }).exactOptional(),
  });
}

/** `journal`: how long, and up to what size, ended sessions are kept, and what an acknowledged event survives. */
export function journalSection(): z.ZodType<NonNullable<HostManifest["journal"]>> {
  return z.strictObject({
    keep_ms: time().exactOptional(),
    max_bytes: positive().exactOptional(),
    sync: z.enum(journalSyncs).exactOptional(),
  });
}

/** Not `localhost`, which is two addresses. */
const address = /^(?!localhost:)(?:[a-z0-9][a-z0-9.-]*|\[[0-9a-f:]+\]):[0-9]{1,5}$/;

/** `daemon`. */
export function daemonSection(): z.ZodType<Partial<DaemonSettings>> {
  return z.strictObject({
    port: z.int().min(0).max(65_535).exactOptional(),
    addresses: z.array(z.string().regex(address, "An address is a host and a port, such as 127.0.0.1:8000."))
      .max(16).exactOptional(),
    drain_ms: time(0, 24 * 3_600_000).exactOptional(),
    log_level: z.enum(["debug", "info", "warn", "error"]).exactOptional(),
    log_file_bytes: z.int().min(4096).exactOptional(),
    log_files: z.int().min(0).max(64).exactOptional(),
  });
}

/** `telemetry`. */
export function telemetrySection(): z.ZodType<TelemetrySettings> {
  const { headers, content, convention, sample, backlog_ms, backlog_events } = defaultTelemetrySettings;
  const endpoint = z.string().max(4096).refine((text) => /^https?:\/\/[^\s/@?#]+(?:\/[^\s?#]*)?$/.test(text), {
    params: { expected: "http://host:port or https://host, without a user, ? and #" },
  });
  return z.strictObject({
    endpoint,
    headers: headersOf().default(headers),
    content: z.boolean().default(content),
    convention: z.enum(genAiConventions).default(convention),
    sample: z.number().min(0).max(1).default(sample),
    backlog_ms: time(1000).default(backlog_ms),
    backlog_events: z.int().min(1000).default(backlog_events),
  });
}

/** `notify`. */
export function notifySection(): z.ZodType<NotifySettings> {
  const { headers, after_ms, on, content } = defaultNotifySettings;
  const url = z.string().max(4096).refine((text) => /^https?:\/\/[^\s/@#]+(?:\/[^\s#]*)?$/.test(text), {
    params: { expected: "https://host/path or http://host/path, without a user and #" },
  });
  const word = z.string().max(4096).refine((text) => !text.includes("\0"), {
    params: { expected: "text without NUL" },
  });
  const command = z.array(word).min(1).max(64).refine(
    ([program = ""]) => isAbsolute(program) || /^[^/\\]+$/.test(program),
    {
      params: { expected: "a program's name or absolute path, and its arguments" },
    },
  );
  return z.strictObject({
    run: command.exactOptional(),
    url: url.exactOptional(),
    headers: headersOf().default(headers),
    after_ms: time(0).default(after_ms),
    on: z.array(z.enum(noticeKinds)).min(1).max(noticeKinds.length).default(on),
    content: z.boolean().default(content),
  }).refine(({ run, url }) => run !== undefined || url !== undefined, {
    params: { expected: '"run", "url" or both' },
  });
}

/** Headers of requests that the host itself makes for the operator. */
function headersOf(): z.ZodType<Record<string, string>> {
  const name = z.string().max(256).regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/);
  const value = z.string().max(8192).refine((text) => hasOnlyReferences(text) && !/[\r\n\0]/.test(text), {
    params: { expected: "one line of text, with secrets as ${secret:NAME}" },
  });
  return z.record(name, value);
}

/** `cluster`. */
export function clusterSection(): z.ZodType<ClusterSettings> {
  const server = line().refine((text) => /^(?:nats|tls):\/\/[^\s/@]+$/.test(text), {
    params: { expected: "nats://host:port or tls://host:port, without a user" },
  });
  const name = z.string().refine((text) => /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/.test(text), {
    params: { expected: "1 to 32 of the characters a-z, 0-9 and -" },
  });
  const label = z.string().min(1).max(64);
  const folder = line().refine(isAbsolute, { params: { expected: "an absolute path" } });
  const { prefix, labels, shared_folders, replicas, heartbeat_ms, silent_ms } = defaultClusterSettings;
  return z.strictObject({
    servers: z.array(server).min(1).max(16),
    name,
    prefix: name.default(prefix),
    labels: z.record(label, z.string().max(256)).default(labels),
    shared_folders: z.array(folder).max(64).default(shared_folders),
    slots: z.int().min(1).max(1_000_000).exactOptional(),
    credentials: credentials().exactOptional(),
    tls: z.strictObject({
      ca_file: line().exactOptional(),
      cert_file: line().exactOptional(),
      key_file: line().exactOptional(),
    }).exactOptional(),
    replicas: z.int().refine((count) => [1, 3, 5].includes(count), { params: { expected: "1, 3 or 5" } })
      .default(replicas),
    heartbeat_ms: time(100, 60_000).default(heartbeat_ms),
    silent_ms: time(500, 3_600_000).default(silent_ms),
  }).refine((settings) => settings.silent_ms >= 3 * settings.heartbeat_ms, {
    path: ["silent_ms"],
    params: { expected: "at least three times heartbeat_ms" },
  });
}

function credentials(): z.ZodType<ClusterCredentials> {
  return z.union([
    z.strictObject({ file: line() }),
    z.strictObject({ user: line(), password: line() }),
    z.strictObject({ token: line() }),
  ]);
}
