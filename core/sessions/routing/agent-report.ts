import coerce from "semver/functions/coerce.js";
import gtr from "semver/ranges/gtr.js";
import type { AccessMode } from "../../../plugin-sdk/access-modes.ts";
import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { AvailabilityReport, HealthStatus } from "../../../plugin-sdk/availability.ts";
import { healthOf } from "../../../plugin-sdk/health-of.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { orderAccessModes } from "../../../plugin-sdk/order-access-modes.ts";
import { containsPrograms } from "../../packages/permissions/contained-programs.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import { requestedWith } from "../../packages/permissions/requested-permissions.ts";
import { secretCommand } from "../../ground/config/secret-command.ts";
import { isKnownAgent } from "../../ground/platform/places/key-places.ts";
import { type KeyProblem, keyProblem, type MissingKeys, noKeyMissing } from "./access-key.ts";
import { type AccessModeState, accessModeState, type ModeUse } from "./access-mode-state.ts";
import { releaseCommand } from "../../walls/pool/plugin-health.ts";
import type { Known } from "./availability-board.ts";
import { toolModels } from "../../../plugin-sdk/tool-models.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { narrowCapabilities } from "./lacking.ts";

/** Options of {@link describeAgent}: what is known of the agent. */
export interface DescribeAgentOptions {
  plugin: Plugin;
  /** Result of its probe, or why it is not asked: it is disabled. */
  found: Known | { stopped: AvailabilityReport };
  /** Returns the use of a mode; null stands for an adapter that lists none. */
  useOf(mode: AccessMode | null): ModeUse;
  /** Keys that its access modes lack. */
  missing?: MissingKeys;
  /** Milliseconds since 1970. */
  now: number;
}

/** An agent with the facts by which routes are chosen. */
export interface RoutableAgent {
  report: AgentReport;
  /** In the order in which they are tried; those that are not enabled come last. */
  modes: AccessModeState[];
  /** End of the limit of an adapter without modes, in milliseconds since 1970; null when it has none. */
  limitedUntil: number | null;
}

/** Makes the report on an agent from its probe and its counts. Routing decides which agent is the primary. */
export function describeAgent(facts: DescribeAgentOptions): RoutableAgent {
  const { plugin, found, now } = facts;
  const { id, manifest } = plugin;
  const probed = "stopped" in found ? found.stopped : found.report;
  const modes = modeStates(facts, probed);
  const current = limited(facts, { probed, modes }) ?? probed;
  const picked = pickAccessMode(modes) ?? modes.find(({ mode }) => mode.enabled) ?? null;
  const checkedAt = new Date("stopped" in found ? now : found.checkedAt).toISOString();
  const { availability, reason, version } = current;
  // An adapter does not see the host's environment.
  const next_step = withSettings(current, plugin)?.replace(
    /(?<!\| )bulkhead secret set (\w+)/,
    (_, key) => secretCommand(key),
  );
  // The host's record and a refused probe both name the command that lifts a quarantine.
  const isQuarantined = availability === "disabled" && next_step === releaseCommand(id);
  const report: AgentReport = {
    id,
    name: manifest.name,
    version: manifest.version,
    adapter_type: manifest.adapter_type,
    description: manifest.description,
    ...omitUndefined({ config: manifest.config, output_schema: manifest.output_schema, expose: manifest.expose }),
    availability,
    reason: availability === "available" ? [reason, ...locksOf(modes)].join(" ") : reason,
    ...(isQuarantined ? { quarantined: true } : {}),
    ...omitUndefined({ next_step, agent_version: version, ...testedVersions(plugin, version) }),
    ...omitUndefined({ settings_of: plugin.settings_of }),
    checked_at: checkedAt,
    health: "stopped" in found
      ? healthOf(current, { latency_ms: 0, last_check: checkedAt })
      : healthNow(found.health, { probed, current, remaining: picked?.remaining ?? null }),
    access_mode: picked?.status ?? null,
    access_modes: modes.map(({ status }) => status),
    capabilities: narrowCapabilities(manifest.capabilities, "stopped" in found ? undefined : found.capabilities),
    accepts: manifest.accepts ?? [],
    models: offeredModels(manifest),
    primary: false,
  };
  return { report, modes, limitedUntil: facts.useOf(null).limitedUntil };
}

/** Says of each enabled mode that lacks its key which one that is. */
function locksOf(modes: readonly AccessModeState[]): string[] {
  return [...new Set(modes.flatMap(({ mode, lock }) => mode.enabled && lock ? [lock.reason] : []))];
}

/** Returns the versions that a plugin was tested with of the program that it runs, and whether this one is newer. */
function testedVersions(
  { manifest, config }: Pick<Plugin, "manifest" | "config">,
  version: string | undefined,
): Pick<AgentReport, "tested" | "newer_than_tested"> {
  const { tested = {} } = manifest;
  const programs = (requestedWith(manifest, config).run ?? []).map(({ binary }) => binary);
  const program = programs.find((one) => Object.hasOwn(tested, one));
  if (program === undefined) return {};
  const range = tested[program]!;
  const found = coerce(version ?? null, { includePrerelease: true });
  const isNewer = found !== null && gtr(found, range, { includePrerelease: true });
  return { tested: range, ...(isNewer ? { newer_than_tested: true } : {}) };
}

function withSettings({ availability, next_step }: AvailabilityReport, plugin: Plugin): string | undefined {
  if (availability !== "unauthenticated") return next_step;
  return [next_step, settingsHint(plugin)].filter(Boolean).join(" ") || undefined;
}

/**
 * Says which settings a program has in its walls, where its login and its conversations may be missing: one with the
 * walls' default, and a name that no agent known to us has. Undefined for other plugins.
 */
export function settingsHint(plugin: Plugin): string | undefined {
  const { grant: { run = [] }, settings_of, id } = plugin;
  if (settings_of !== undefined || !containsPrograms(plugin)) return undefined;
  const unknown = run.find(({ binary, contain }) => contain === undefined && /^\w[\w.-]*$/.test(binary));
  if (unknown === undefined || run.some(({ binary }) => isKnownAgent(binary))) return undefined;
  const shown =
    `In its walls ${unknown.binary} sees its settings in ~/.${unknown.binary} and ~/.config/${unknown.binary}`;
  const change = `If it uses those of another agent, name that one in bulkhead.yaml: plugins.${id}.settings_of.`;
  return `${shown}. ${change}`;
}

/** Makes the report on an enabled agent whose plugin cannot be used. */
export function describeUnavailable(
  { id, stopped: { message, hint } }: { id: string; stopped: BulkheadError },
  now: number,
): RoutableAgent {
  const checked_at = new Date(now).toISOString();
  const reason = message.replaceAll("\n", "; ");
  const report: AgentReport = {
    id,
    name: id,
    version: null,
    adapter_type: null,
    availability: "unavailable",
    reason,
    ...omitUndefined({ next_step: hint }),
    checked_at,
    health: healthOf({ availability: "disabled", reason }, { latency_ms: 0, last_check: checked_at }),
    access_mode: null,
    access_modes: [],
    capabilities: {},
    models: [],
    primary: false,
  };
  return { report, modes: [], limitedUntil: null };
}

function modeStates(
  { plugin, found, useOf, now, missing = noKeyMissing }: DescribeAgentOptions,
  probed: AvailabilityReport,
): AccessModeState[] {
  const all = plugin.manifest.access_modes ?? [];
  const ordered = [...orderAccessModes(all), ...all.filter(({ enabled }) => !enabled)];
  const said = "stopped" in found ? null : found.access_mode;
  const meant = said === null ? undefined : ordered.find(({ type }) => type === said.type);
  const login = all.find(({ type, enabled }) => enabled && type === probed.access_mode)?.type;
  return ordered.map((mode) =>
    accessModeState(mode, useOf(mode), {
      now,
      usable: isUsable(probed) && (login === undefined || mode.type === login),
      said: mode === meant ? said : null,
      // A program that is logged in has its key, perhaps in its own settings.
      lock: mode.type === login ? null : keyProblem(mode, plugin, missing),
    })
  );
}

/** Returns why an available agent can take no session now: every access mode is limited. Null when one is open. */
function limited(
  { useOf, now }: DescribeAgentOptions,
  { probed, modes }: { probed: AvailabilityReport; modes: readonly AccessModeState[] },
): AvailabilityReport | null {
  if (probed.availability !== "available") return null;
  const kept = probed.version === undefined ? {} : { version: probed.version };
  const enabled = modes.filter(({ mode }) => mode.enabled);
  if (enabled.length === 0) {
    const until = useOf(null).limitedUntil;
    if (until === null || until <= now) return null;
    return { availability: "rate_limited", ...words("It", new Date(until).toISOString()), ...kept };
  }
  if (enabled.some(({ status }) => status.status === "available")) return null;
  if (enabled.every(({ status }) => status.status === "unavailable")) {
    const { reason = "Its access modes cannot be used now.", next_step } = lockOf(modes) ?? {};
    return { availability: "unauthenticated", reason, ...omitUndefined({ next_step }), ...kept };
  }
  const closed = enabled.filter(({ status }) => status.status === "rate_limited");
  const types = [...new Set(closed.map(({ mode }) => mode.type))].join(" and ");
  const resets = closed.flatMap(({ status }) => (status.reset_at === null ? [] : [status.reset_at])).sort();
  const availability = closed.every(({ exhausted }) => exhausted) ? "quota_exhausted" : "rate_limited";
  return { availability, ...words(`Its ${types} access`, resets[0] ?? null), ...kept };
}

function words(what: string, until: string | null): { reason: string; next_step: string } {
  return until === null
    ? { reason: `${what} is limited for now.`, next_step: "Try again later, or use another adapter." }
    : { reason: `${what} is limited until ${until}.`, next_step: `Wait until ${until}, or use another adapter.` };
}

function healthNow(
  health: HealthStatus,
  { probed, current, remaining }: {
    probed: AvailabilityReport;
    current: AvailabilityReport;
    remaining: number | null;
  },
): HealthStatus {
  const details = { ...(remaining === null ? {} : { rate_limit_remaining: remaining }), ...health.details };
  if (current === probed || health.status !== "healthy") return { ...health, details };
  return { ...health, status: "degraded", error: current.reason, details };
}

function isUsable({ availability }: AvailabilityReport): boolean {
  return availability === "available" || availability === "rate_limited" || availability === "quota_exhausted";
}

/** Models that a manifest offers, by the names clients use; empty where the adapter takes any. */
export function offeredModels({ cli, models }: Pick<Manifest, "cli" | "models">): string[] {
  const own = cli === undefined ? undefined : toolModels(cli);
  return own === undefined ? models ?? [] : Object.keys(own);
}

/**
 * Returns the first open mode in the order in which they are tried; limited ones are skipped. If a mode names the
 * requested model, modes that name another one are left out. Null when none is open.
 */
export function pickAccessMode(modes: readonly AccessModeState[], model?: string): AccessModeState | null {
  return modesFor(modes, model).find(({ status }) => status.status === "available") ?? null;
}

/** Returns the enabled modes that could serve a model. */
export function modesFor(modes: readonly AccessModeState[], model?: string): AccessModeState[] {
  const enabled = modes.filter(({ mode }) => mode.enabled);
  const naming = model !== undefined && enabled.some(({ mode }) => "model" in mode && mode.model === model);
  return naming ? enabled.filter(({ mode }) => !("model" in mode) || mode.model === model) : enabled;
}

/** Returns the key without which no enabled mode serves a model; null where one has its key or needs none. */
export function lockOf(modes: readonly AccessModeState[], model?: string): KeyProblem | null {
  const locks = modesFor(modes, model).map(({ lock }) => lock);
  return locks.includes(undefined) ? null : locks[0] ?? null;
}
