import type { Permissions } from "../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import { createSessionBroker } from "../broker/broker.ts";
import type { GrantPlace, MissingGrant } from "../broker/session-broker.ts";
import { hostVersion } from "../config/version.ts";
import { effectivePermissions } from "../registry/effective-permissions.ts";
import type { Plugin } from "../registry/plugin.ts";
import { requestedPermissions } from "../registry/requested-permissions.ts";
import type { ChildLedger } from "../runtime/child-ledger.ts";
import { join } from "../runtime/paths.ts";
import type { MergedLog } from "../session/merged-log.ts";
import { RunningSession } from "../session/running-session.ts";
import { checkEnv } from "./check-request.ts";
import type { GuardedPlaces } from "./guarded-places.ts";
import type { LogRecord } from "./host.ts";
import type { SessionSecrets } from "./session-secrets.ts";
import type { ServedPlugin } from "./served-plugin.ts";
import type { StateClaim } from "./state-claim.ts";

/** What sessions of one host have in common. */
export interface SessionGround {
  claim: StateClaim;
  /** Where every child process is written down. */
  children: ChildLedger;
  log: MergedLog;
  /** What no grant opens, as of now. */
  guarded(): GuardedPlaces;
  /** Where secrets are. Real absolute paths. */
  secretPaths: readonly string[];
  openSecrets(permissions: Permissions): Promise<SessionSecrets>;
  /** Which line of which file would allow it; null without a host manifest. */
  grantPlace(pluginId: string, permission: string): GrantPlace | null;
  askGrant?: (missing: MissingGrant) => Promise<boolean>;
  writeLog(record: LogRecord): void;
}

/** One session to start; the request is checked and fits the plugin. */
export interface NewSession {
  sessionId: string;
  service: ServedPlugin;
  request: SessionRequest;
  workdir: string;
  artifacts: "git" | "none";
  allowed: Allowed;
}

/** What a session may do. */
export interface Allowed extends SessionSecrets {
  effective: Permissions;
  /** The most that a grant given while the session runs could allow. */
  ceiling: Permissions;
}

/**
 * What a session of this request may do, with its secrets opened.
 * @throws {BulkheadError} `invalid_config`, `io_error` for secrets that cannot be read
 */
export async function allowedIn(
  { claim, askGrant, openSecrets }: SessionGround,
  { plugin, request, workdir }: { plugin: Plugin; request?: SessionRequest; workdir: string },
): Promise<Allowed> {
  const options = { workdir, claim, ...(request ? { request } : {}) };
  const effective = permissionsFor(plugin, options);
  const ceiling = permissionsFor(plugin, { ...options, grant: requestedPermissions(plugin.manifest) });
  return { effective, ceiling, ...await openSecrets(askGrant ? ceiling : effective) };
}

/**
 * Starts a session.
 * @throws {BulkheadError} `permission_denied` for environment names that are not granted
 */
export function startSession(ground: SessionGround, session: NewSession): RunningSession {
  const { claim, children, log, askGrant, writeLog } = ground;
  const { sessionId, service, request, workdir, artifacts, allowed } = session;
  const { plugin, pool } = service;
  const place = (permission: string) => ground.grantPlace(plugin.id, permission);
  return new RunningSession({
    sessionId,
    plugin,
    request,
    workdir,
    ...allowed,
    secretPaths: ground.secretPaths,
    grantPlace: place,
    requestEnv: checkEnv(request.env, allowed.effective, { plugin, place: place("env") }),
    artifacts,
    scratchDir: join(claim.folder, "scratch"),
    dataDir: dataDirOf(claim, plugin),
    stateDir: claim.root,
    guarded: ground.guarded(),
    log,
    hostVersion,
    script: () => service.script(),
    acquire: (options) => pool.acquire(options),
    makeBroker: (options) => createSessionBroker({ ...options, children }),
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
