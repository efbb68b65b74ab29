import type { Permissions } from "../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import { createSessionBroker } from "../broker/broker.ts";
import type { MissingGrant } from "../broker/session-broker.ts";
import { hostVersion } from "../config/version.ts";
import { effectivePermissions } from "../registry/effective-permissions.ts";
import type { Plugin } from "../registry/plugin.ts";
import { requestedPermissions } from "../registry/requested-permissions.ts";
import { join } from "../runtime/paths.ts";
import type { MergedLog } from "../session/merged-log.ts";
import { RunningSession } from "../session/running-session.ts";
import { checkEnv } from "./check-request.ts";
import type { LogRecord } from "./host.ts";
import type { PluginService } from "./plugin-service.ts";
import type { StateClaim } from "./state-claim.ts";

/** What sessions of one host have in common. */
export interface SessionGround {
  claim: StateClaim;
  log: MergedLog;
  askGrant?: (missing: MissingGrant) => Promise<boolean>;
  writeLog(record: LogRecord): void;
}

/** One session to start; the request is checked and fits the plugin. */
export interface NewSession {
  sessionId: string;
  service: PluginService;
  request: SessionRequest;
  workdir: string;
  artifacts: "git" | "none";
}

/**
 * Starts a session.
 * @throws {BulkheadError} `permission_denied` for environment names that are not granted
 */
export function startSession(ground: SessionGround, session: NewSession): RunningSession {
  const { claim, log, askGrant, writeLog } = ground;
  const { sessionId, service, request, workdir, artifacts } = session;
  const { plugin, pool } = service;
  const effective = permissionsFor(plugin, { request, workdir, claim });
  return new RunningSession({
    sessionId,
    plugin,
    request,
    workdir,
    effective,
    ceiling: permissionsFor(plugin, { request, workdir, claim, grant: requestedPermissions(plugin.manifest) }),
    requestEnv: checkEnv(request.env, effective, plugin),
    artifacts,
    scratchDir: join(claim.folder, "scratch"),
    dataDir: dataDirOf(claim, plugin),
    stateDir: claim.root,
    log,
    hostVersion,
    script: () => service.script(),
    acquire: (options) => pool.acquire(options),
    makeBroker: createSessionBroker,
    ...(askGrant ? { askGrant } : {}),
    writeLog: (record) => writeLog({ ...record, plugin_id: plugin.id, session_id: sessionId }),
  });
}

/** A plugin's own durable folder. */
export function dataDirOf(claim: StateClaim, plugin: Plugin): string {
  return join(claim.root, "data", plugin.id);
}

/** Effective permissions of a plugin; with `grant` those that it would have if that were granted. */
export function permissionsFor(
  plugin: Plugin,
  options: { request?: SessionRequest; workdir: string; claim: StateClaim; grant?: Permissions },
): Permissions {
  const { request, workdir, claim, grant = plugin.grant } = options;
  return effectivePermissions({
    requested: requestedPermissions(plugin.manifest),
    grant,
    deny: plugin.deny,
    ...(request?.permissions === undefined ? {} : { request: request.permissions }),
    places: { workdir, plugin: plugin.folder, data: dataDirOf(claim, plugin) },
  });
}
