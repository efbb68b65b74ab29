import { allContained, containsPrograms } from "../../packages/permissions/contained-programs.ts";
import { accessModeStatusSchema } from "../../../plugin-sdk/access-modes.ts";
import {
  type AvailabilityReport,
  availabilityReportSchema,
  type HealthStatus,
  healthStatusSchema,
} from "../../../plugin-sdk/availability.ts";
import { agentCapabilitiesSchema } from "../../../plugin-sdk/capabilities.ts";
import { healthOf } from "../../../plugin-sdk/health-of.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { orderAccessModes } from "../../../plugin-sdk/order-access-modes.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { createSessionBroker } from "../../walls/broker/broker.ts";
import type { SessionBroker } from "../../walls/broker/session-broker.ts";
import { forAuthor } from "../../packages/registry/for-author.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { ProbeAnswer } from "../../walls/channel/protocol.ts";
import type { Probed } from "../routing/availability-board.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { platform } from "../../ground/platform/engine/platform.ts";
import { withOwnGateway } from "./own-gateway.ts";
import type { ServedPlugin } from "./served-plugin.ts";
import { allowedIn, type SessionDeps } from "./start-session.ts";

const isReport = lazyCheck(availabilityReportSchema);
const isHealth = lazyCheck(healthStatusSchema);
const isMode = lazyCheck(accessModeStatusSchema);
const isCapabilities = lazyCheck(agentCapabilitiesSchema);

interface ProbeOptions {
  deps: SessionDeps;
  workdir: string;
  /** Fires when the caller no longer waits for the answer. */
  signal: AbortSignal;
}

/**
 * Asks an adapter, in one entry, for its agent's state, health and ways. A failure is the answer `unrunnable`; null where
 * its sessions take all its workers.
 */
export async function probe(service: ServedPlugin, options: ProbeOptions): Promise<Probed | null> {
  const started = performance.now();
  const timed = () => ({
    latency_ms: Math.round(performance.now() - started),
    last_check: new Date().toISOString(),
  });
  const failed = (report: AvailabilityReport): Probed => ({
    report,
    health: healthOf(report, timed()),
    access_mode: null,
  });
  try {
    const answer = await ask(service, options);
    if (answer === null) return null;
    if ("report" in answer) return failed(answer.report);
    const { availability: report, health, access_mode, health_error } = answer.value;
    const capabilities = isCapabilities().Check(answer.value.capabilities) ? answer.value.capabilities : undefined;
    if (!isReport().Check(report)) {
      return failed({ availability: "unrunnable", reason: "The adapter's isAvailable() gave no availability." });
    }
    const corrected = await withOwnGateway(report, service.plugin);
    if (corrected !== report) return { ...failed(corrected), capabilities };
    return {
      report,
      health: isHealth().Check(health) ? health : failedCheck(healthOf(report, timed()), health_error),
      access_mode: isMode().Check(access_mode) ? access_mode : null,
      capabilities,
    };
  } catch (error) {
    const { code, message, hint } = toErrorData(error);
    const availability = code === "quarantined" ? "disabled" : "unrunnable";
    return failed({ availability, reason: message, ...(hint === undefined ? {} : { next_step: hint }) });
  }
}

/** A failed health check makes an available agent only `degraded`. */
function failedCheck(health: HealthStatus, error = "The adapter's healthCheck() gave no health."): HealthStatus {
  return health.status === "healthy" ? { ...health, status: "degraded", error: error.slice(0, 4096) } : health;
}

interface ProbeBrokerOptions extends Pick<ProbeOptions, "deps" | "workdir"> {
  sessionId: string;
}

async function ask(
  service: ServedPlugin,
  { deps, workdir, signal }: ProbeOptions,
): Promise<{ value: ProbeAnswer } | { report: AvailabilityReport } | null> {
  const { plugin, pool } = service;
  const sessionId = `probe-${randomId()}`;
  const { broker, effective, redactor } = await openBroker(service, { deps, workdir, sessionId });
  const missing = await missingPrograms(effective, broker);
  if (missing !== null) {
    await broker.close();
    return { report: missing };
  }
  const place = await freePlace(pool, signal);
  if (place === null) {
    await broker.close();
    return null;
  }
  const entry = place.lane.open({
    call: "probe",
    request: null,
    config: {
      working_directory: workdir,
      access_modes: orderAccessModes(plugin.manifest.access_modes ?? []),
      programs_contained: allContained(plugin),
      custom: plugin.config,
    },
    facts: { session_id: sessionId, attempt: 1, workdir, plugin_dir: plugin.folder, platform },
    onEvents: () => {},
    onCall: (operation, args) => broker.call(operation, args),
  });
  const late = () => entry.cancel({ code: "timeout", message: "The probe was not done in time." });
  signal.addEventListener("abort", late, { once: true });
  const end = await entry.ended;
  signal.removeEventListener("abort", late);
  place.release();
  await broker.close();
  if ("error" in end) {
    const { message, hint } = forAuthor(redactor?.value(end.error) ?? end.error, await service.script());
    const next = hint === undefined ? {} : { next_step: hint };
    return { report: { availability: "unrunnable", reason: message, ...next } };
  }
  const answer = readAnswer(end.value);
  return { value: redactor?.value(answer) ?? answer };
}

/** Waits for a place on a worker; null where sessions take all of them. */
async function freePlace(pool: ServedPlugin["pool"], signal: AbortSignal) {
  const taken = new AbortController();
  // After a crash it waits until a worker starts.
  const onQueued = (_: number, waitMs: number) => waitMs === 0 && taken.abort();
  return await pool.acquire({ signal: AbortSignal.any([signal, taken.signal]), onQueued }).catch((error: unknown) => {
    if (taken.signal.aborted || toErrorData(error).code === "busy") return null;
    throw error;
  });
}

/** Returns the report on an agent none of whose programs is there; null when one is, or it needs none. */
async function missingPrograms(
  { run = [] }: Permissions,
  broker: SessionBroker,
): Promise<AvailabilityReport | null> {
  let first: AvailabilityReport | null = null;
  for (const program of new Set(run.map(({ binary }) => binary))) {
    const error = await broker.call("which", { program }).then(() => null, toErrorData);
    if (error?.code !== "binary_missing") return null;
    const { message: reason, hint: next_step } = error;
    first ??= { availability: "missing", reason, ...omitUndefined({ next_step }) };
  }
  return first;
}

/** Opens the broker of a probe; it never asks a person for a grant. */
async function openBroker(service: ServedPlugin, { deps, workdir, sessionId }: ProbeBrokerOptions) {
  const { claim, settings, writeLog } = deps;
  const { plugin, dataDir } = service;
  const { rights, effective, secrets, redactor } = await allowedIn({ settings, askGrant: undefined }, {
    service,
    workdir,
  });
  const broker = createSessionBroker({
    sessionId,
    pluginId: plugin.id,
    workdir,
    pluginDir: plugin.folder,
    dataDir,
    tempDir: join(claim.folder, "scratch", sessionId),
    ...deps.guarded(),
    rights: { ...rights, reach: undefined },
    permissions: effective,
    spelledRoots: plugin.grant.write ?? [],
    secrets,
    redactor,
    grantPlace: (permission) => deps.settings.grantPlace(plugin.id, permission),
    requestEnv: {},
    limits: plugin.limits,
    ownPids: plugin.os_walls.bubblewrap !== "off",
    containPrograms: containsPrograms(plugin),
    settingsOf: plugin.settings_of,
    pins: deps.pins.of(plugin.id),
    install: plugin.manifest.install,
    children: deps.children,
    trash: deps.trash,
    emit: () => {},
    writeLog: (record) => writeLog({ ...record, plugin_id: plugin.id }),
    waitForAnswer: () => Promise.resolve(null),
  });
  return { broker, effective, redactor };
}

/** Reads each part of the guest's answer by itself: the guest code is ours, but its answer is untrusted data. */
function readAnswer(told: unknown): ProbeAnswer {
  const value = typeof told === "object" && told !== null ? told as Partial<ProbeAnswer> : {};
  return {
    availability: value.availability,
    access_mode: value.access_mode,
    health: value.health,
    capabilities: value.capabilities,
    health_error: typeof value.health_error === "string" ? value.health_error : undefined,
  };
}
