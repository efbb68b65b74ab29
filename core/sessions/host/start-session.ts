import { bringsKey } from "../routing/access-key.ts";
import { openCheckpoints } from "../../records/checkpoints/checkpoint-store.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { HeldRecord } from "../../records/workspace/held-files.ts";
import type { Workspaces } from "../../records/workspace/workspaces.ts";
import { type AgentNetworks, localPorts } from "../../walls/agent/agent-networks.ts";
import { createSessionBroker } from "../../walls/broker/broker.ts";
import type { SessionBroker, SessionBrokerOptions } from "../../walls/broker/session-broker.ts";
import { sharedWallsDir } from "../../walls/broker/session-walls.ts";
import { containsPrograms, programNet } from "../../packages/permissions/contained-programs.ts";
import { watchManifest } from "../../packages/manifest/manifest-edits.ts";
import { createRedactor } from "../../ground/log/redact.ts";
import type { ContextFile } from "../../ground/prompt/enhance-prompt.ts";
import { isEnhanced } from "../../ground/prompt/prompt-settings.ts";
import type { ChildLedger } from "../../ground/platform/processes/child-ledger.ts";
import { join } from "../../ground/platform/files/paths.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import {
  accepts,
  isPriced,
  lackedAttachments,
  priceFields,
  takesNone,
  unenforceableFields,
} from "../session/enforceable.ts";
import { RunningSession } from "../session/running-session.ts";
import type { NamedBudgets } from "../session/spend/named-budgets.ts";
import type { SharedBudgets } from "../session/spend/shared-budgets.ts";
import { modelEndpoints, needsSeenCalls, seesCalls, sharedBudget, unseen } from "../session/spend/seen-calls.ts";
import type { Admitted, Candidate, PassedOverAdapter, Resumed, RunningSessionDeps } from "../session/admitted.ts";
import { readProjectMemory } from "./context-files.ts";
import { checkEnv, fitToPlugin, handedTrace, withTrace } from "./check-request.ts";
import type { ApprovalRules } from "../session/approval-policy.ts";
import type { AttachmentStore } from "./attachments/attachment-store.ts";
import type { KeptSessions } from "./kept-sessions.ts";
import type { GuardedPlaces } from "./guarded-places.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { ownGateway } from "./own-gateway.ts";
import { openMcpServers } from "./mcp-servers.ts";
import type { OperatorSettings } from "./operator-settings.ts";
import type { PluginPermissions } from "./plugin-permissions.ts";
import type { PinStore } from "./state/pin-store.ts";
import type { LateEnds } from "../session/late-ends.ts";
import type { StateHealth } from "../../ground/platform/state/state-health.ts";
import type { OpenedSecrets } from "./session-secrets.ts";
import type { Follows } from "../../../plugin-sdk/envelope.ts";
import type { WireRecords } from "../../records/wire/record-files.ts";
import type { OpenedRecord } from "../../records/wire/wire-player.ts";
import { openBox } from "./box/wire-boxes.ts";
import { candidateRequests, type RecalledTurns } from "./talk/candidate-requests.ts";
import { hasNoTurn, waitOf } from "./talk/empty-session.ts";
import type { Trash } from "../../ground/platform/files/trash.ts";
import type { Routes, Way } from "./routes.ts";
import type { ServedPlugin } from "./served-plugin.ts";
import { privateGitFolder } from "./state/state-folder.ts";
import type { StateClaim } from "./state/state-claim.ts";

/** Collaborators of {@link startSession} that sessions of one host share. */
export interface SessionDeps
  extends Pick<RunningSessionDeps, "log" | "looks" | "askGrant" | "deniedNow" | "keepDenial"> {
  claim: StateClaim;
  /** Records every child process. */
  children: ChildLedger;
  trash: Trash;
  /** Sessions that rest with their agent's program kept. */
  kept: KeptSessions;
  /** Images and files of requests and messages. */
  attachments: AttachmentStore;
  /** Recorded calls of models. */
  records: WireRecords;
  /** Budgets that sessions share: the operator's, and those of conversations with their forks. */
  budgets: NamedBudgets;
  shared: SharedBudgets;
  networks: AgentNetworks;
  /** Records the pins of programs. */
  pins: PinStore;
  settings: OperatorSettings;
  /** Returns the places that currently no grant opens. */
  guarded(): GuardedPlaces;
  /**
   * Records what hosts act on in folders that a contained session is about to write.
   * @returns compares it once the session's programs have ended
   */
  expose(folders: readonly string[]): Promise<() => Promise<void>>;
  /** Notes that a session works in a folder in place. */
  watchHeld: Workspaces["watchHeld"];
  /** Folder with the stores of the conversations' files. */
  checkpointsDir: string;
  /** Keeps the ends of sessions that could not be written. */
  lateEnds: LateEnds;
  /** Knows whether the state can be written. */
  health: StateHealth;
  /** Keeps what a session left until a person applies or drops it. */
  keepHeld(held: HeldRecord): Promise<void>;
  writeLog(record: LogRecord): void;
}

interface AdmitDeps extends SessionDeps {
  routes: Pick<Routes, "started" | "ended" | "told">;
}

/** Options of {@link LiveSessions.start}. */
export interface LiveStartOptions {
  /** Called with the session's id before the journal has anything of it; the journal waits for it. */
  begins?: ((sessionId: string) => Promise<void>) | undefined;
  /** The session whose agent this one continues. */
  resumed?: Resumed | null;
  /** The turn of an earlier session that this one goes on from. */
  follows?: Follows | null;
  /** Turns of earlier sessions. Default: none. */
  recalled?: RecalledTurns;
  /** The turn whose files its new worktree begins with. */
  filesOf?: { conversation: string; turn: number } | undefined;
  /** The session whose worktree it goes on in, where that is not the one that it follows. */
  placeOf?: string | undefined;
  /** The record that a replay plays. */
  record?: OpenedRecord;
}

/** A way of a route, with the plugin that serves it. */
interface ServedWay {
  way: Way;
  service: ServedPlugin;
}

/** A request whose fields are checked, with its place and the ways that could run it. */
interface Checked extends Pick<Admitted, "sessionId" | "request" | "place" | "resumed" | "follows" | "artifacts"> {
  ways: readonly ServedWay[];
  /** Name of the client; clients take turns when sessions wait. */
  client?: string | undefined;
  contextFiles: readonly ContextFile[];
  recalled: RecalledTurns;
  /** Adapters that the route passed over. */
  passedOver: readonly PassedOverAdapter[];
  /** Ids of the chain that the request named, in order. */
  chain: readonly string[];
  record?: OpenedRecord | undefined;
}

/**
 * Returns what a session of this request may do, with its secrets opened.
 * @throws {BulkheadError} `invalid_config`, `io_error` for secrets that cannot be read
 */
export async function allowedIn(
  { askGrant, settings }: Pick<SessionDeps, "askGrant" | "settings">,
  { service, request, workdir }: { service: ServedPlugin; request?: SessionRequest; workdir: string },
): Promise<ReturnType<PluginPermissions["in"]> & OpenedSecrets> {
  const there = service.permissions.in(workdir, request?.permissions);
  return { ...there, ...await settings.openSecrets(askGrant ? there.ceiling : there.effective) };
}

/**
 * Admits a checked request: the ways that can run it become its candidates, in order.
 * @throws {BulkheadError} when none can: the first way's error
 */
export async function admit(
  deps: AdmitDeps,
  { ways, client, contextFiles, recalled, ...checked }: Checked,
): Promise<Admitted> {
  const { chain, passedOver: skipped, record, ...same } = checked;
  const { request, follows = null } = same;
  const terms = { ...same, client, contextFiles, recalled };
  const made = await Promise.allSettled(ways.map((one) => {
    const first = ways.find(({ way }) => way.adapter_id === one.way.adapter_id) ?? one;
    return makeCandidate(deps, { ...one, firstMode: first.way.access_mode }, terms);
  }));
  const [first, ...others] = made.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  if (!first) throw made.find((one) => one.status === "rejected")?.reason;
  const failed = made.flatMap((one, index) =>
    one.status === "rejected"
      ? [{ adapter_id: ways[index]!.way.adapter_id, reason: (one.reason as Error).message }]
      : []
  );
  const candidates = [first, ...others] as const;
  const passedOver = [...skipped.map(reasonOnly), ...failed];
  const { claim: { folder: part }, records, settings: { prompt } } = deps;
  const begun = { ...same, follows, firstTurn: (follows?.turn ?? 0) + 1, redactor: commonRedactor(candidates) };
  return {
    ...begun,
    account: await deps.budgets.open(request),
    share: deps.shared.open(begun),
    box: await openBox({ ...begun, limits: first.plugin.limits, record, part }, records),
    ...waitOf(request, { follows, limits: first.plugin.limits }),
    candidates,
    passedOver,
    replaced: namedBefore(first.plugin.id, { chain, passedOver }),
    loopSignal: isEnhanced(request, prompt) ? prompt.signal : null,
    answerTimeoutMs: Math.min(request.answer_timeout_ms ?? Infinity, first.plugin.limits.answer_timeout_ms),
  };
}

function reasonOnly({ adapter_id, reason }: PassedOverAdapter): PassedOverAdapter {
  return { adapter_id, reason };
}

/** Returns those that a chain names before the adapter that takes the session, in its order. */
function namedBefore(
  id: string,
  { chain, passedOver }: Pick<Checked, "chain" | "passedOver">,
): PassedOverAdapter[] {
  return chain.slice(0, Math.max(chain.indexOf(id), 0)).flatMap((earlier) =>
    passedOver.find(({ adapter_id }) => adapter_id === earlier) ?? []
  );
}

/** Starts an admitted session. */
export function startSession(
  deps: SessionDeps,
  admitted: Admitted,
  hooks: Pick<RunningSessionDeps, "sharedWith" | "termsChanged" | "moveMessages" | "keep">,
): RunningSession {
  const { claim, networks, settings } = deps;
  const { sessionId: session_id, place, candidates: [{ plugin }] } = admitted;
  admitted.share?.begin();
  // It opens while the working directory is looked at and the adapter starts.
  if (containsPrograms(plugin)) networks.prepare(localPorts(programNet(plugin)));
  return new RunningSession(admitted, {
    log: deps.log,
    looks: deps.looks,
    scratchDir: join(claim.folder, "scratch"),
    gitDir: privateGitFolder(claim.folder),
    stateDir: claim.root,
    secretPaths: settings.secretPaths,
    watchOwnFiles: () => watchManifest(settings.manifest?.file, place.workdir),
    watchHeld: (watched) => deps.watchHeld({ session_id, ...watched }),
    keepHeld: (held) => deps.keepHeld({ session_id, at: new Date().toISOString(), ...held }),
    readAttachment: (sha256) => deps.attachments.read(sha256),
    keepEnd: (end) => deps.lateEnds.keep(end),
    openCheckpoints: (options) =>
      openCheckpoints({ folder: deps.checkpointsDir, exclude: [claim.root, ...settings.secretPaths], ...options }),
    ...hooks,
    guarded: () => deps.guarded(),
    makeBroker: (options) => openBroker(deps, options),
    askGrant: deps.askGrant,
    deniedNow: (id) => deps.deniedNow(id),
    keepDenial: deps.keepDenial,
  });
}

function openBroker(
  { claim, children, networks, pins, trash, expose }: SessionDeps,
  options: SessionBrokerOptions,
): SessionBroker {
  return createSessionBroker({
    ...options,
    children,
    trash,
    networks,
    sharedWallsDir: sharedWallsDir(join(claim.folder, "scratch")),
    pins: pins.of(options.pluginId),
    expose,
  });
}

/** Redacts the secrets of all candidates from every attempt: one candidate's error may repeat another one's secret. */
function commonRedactor(candidates: readonly Candidate[]): ReturnType<typeof createRedactor> {
  const all = candidates.flatMap(({ secrets }) => [...secrets]);
  return createRedactor([...new Map(all)].map(([name, value]) => ({ name, value })));
}

/**
 * Makes a candidate from one way.
 * @throws {BulkheadError} `invalid_model`, `invalid_request`, `unenforceable`, `permission_denied` for environment
 * names that are not granted, `env_missing` for a secret of an MCP server, `invalid_config`, `io_error` for secrets
 * that cannot be read
 */
async function makeCandidate(
  deps: AdmitDeps,
  { way, service, firstMode }: ServedWay & { firstMode: Way["access_mode"] },
  { sessionId, client = "", request, follows = null, place, contextFiles, recalled }: Pick<
    Checked,
    "sessionId" | "client" | "request" | "follows" | "place" | "contextFiles" | "recalled"
  >,
): Promise<Candidate> {
  const { routes, settings } = deps;
  const { workdir } = place;
  const { plugin, pool } = service;
  const fitted = { ...fitToPlugin(request, plugin), ...handedTrace(settings, { sessionId, request }) };
  // Without a price the adapter is refused: its next mode may be another model, of another server.
  const { rights, effective, ceiling, secrets } = await allowedIn(deps, { service, request: fitted, workdir });
  const gateway = await ownGateway(plugin);
  const endpoints = modelEndpoints(plugin.manifest, {
    mode: way.access_mode,
    gateway: gateway?.program.binary ?? null,
  });
  const isSeen = seesCalls(plugin, { mode: way.access_mode, endpoints, request: fitted, effective, secrets });
  const inCluster = settings.manifest?.cluster !== undefined;
  const budgets = deps.budgets.covering(fitted);
  const modes = [firstMode, way.access_mode];
  const paid = { modes, options: plugin.config, seesCalls: isSeen, endpoints, budgets, inCluster };
  const unenforced = unenforceableFields(fitted, plugin.manifest, paid);
  if (unenforced.length > 0 && request.best_effort !== true && !hasNoTurn(request, follows)) {
    const areShared = unenforced.every((field) => field.startsWith("budgets."));
    const isUnpriced = areShared || unenforced.join() === "budget.cost" && !isPriced(fitted, paid);
    if (areShared && inCluster) throw sharedBudget(unenforced);
    const lacked = lackedAttachments(fitted.content ?? [], plugin.manifest);
    if (lacked.length === unenforced.length) throw takesNone(plugin.id, lacked);
    if (!isSeen && unenforced.every(needsSeenCalls)) throw unseen(plugin.id, unenforced);
    throw isUnpriced ? unpriced(plugin, fitted.model, unenforced) : unenforceable(plugin.id, unenforced);
  }
  // A limit of a client's own key, or of a place that it names, is no other session's.
  const hasOwnKey = bringsKey(plugin.manifest, fitted.env);
  const grantPlace = (permission: string) => settings.grantPlace(plugin.id, permission);
  const mcp = await mcpServersOf(unenforced.includes("mcp_servers") ? {} : request, settings);
  return {
    plugin,
    ...candidateRequests({ ...fitted, workdir }, {
      settings: settings.prompt,
      contextFiles,
      recalled,
      unenforced,
      takesSystemPrompt: accepts(plugin.manifest, "system_prompt"),
      takesOutputSchema: accepts(plugin.manifest, "output_schema"),
    }),
    accessMode: way.access_mode,
    endpoints,
    hasOwnGateway: gateway !== null,
    limitedUntil: way.limited_until === undefined || fitted.replay_of !== undefined
      ? null
      : Date.parse(way.limited_until),
    started: () => routes.started(way),
    // What a model said once is no sign of how it is now.
    told: (call) => fitted.replay_of === undefined && !hasOwnKey && routes.told(way, call),
    ended: (end) => fitted.replay_of === undefined && routes.ended(way, end, { hasOwnKey }),
    unenforced,
    seesCalls: isSeen,
    rights,
    effective,
    approval: approvalOf(request, plugin.trust_tools ? "all" : settings.approval),
    projectMemory: await readProjectMemory(plugin.manifest.project_memory ?? [], {
      runsPrograms: (effective.run ?? []).length > 0,
      workdir,
      protectedPaths: deps.guarded().protectedPaths,
      limits: plugin.limits,
    }),
    mcpConfig: mcp.config,
    secrets: mcp.secrets.size === 0 ? secrets : new Map([...secrets, ...mcp.secrets]),
    grantPlace,
    requestEnv: withTrace(
      checkEnv(request.env, effective, { plugin, ceiling, place: grantPlace("env") }),
      effective,
      fitted,
    ),
    dataDir: service.dataDir,
    load: service,
    script: () => service.script(),
    acquire: (options) =>
      pool.acquire({
        ...options,
        client,
        onQueued: (position, waitMs) => {
          deps.kept.endOne(plugin.id);
          options.onQueued(position, waitMs);
        },
      }),
    writeLog: (record) => deps.writeLog({ ...record, plugin_id: plugin.id, session_id: sessionId }),
  };
}

function mcpServersOf({ mcp_servers = [] }: Pick<SessionRequest, "mcp_servers">, settings: OperatorSettings) {
  return openMcpServers(mcp_servers, {
    registered: settings.mcpServers,
    openSecrets: (permissions) => settings.openSecrets(permissions),
  });
}

function approvalOf(request: SessionRequest, otherwise: ApprovalRules["approval"]): ApprovalRules {
  const { approval = otherwise, allowed_tools, tool_approvals } = request;
  return { approval, allowed_tools, tool_approvals };
}

function unpriced(
  { id, manifest: { config } }: Plugin,
  model: string | undefined,
  fields: readonly string[],
): BulkheadError {
  const takesPrice = priceFields.every((field) => config?.properties?.[field] !== undefined);
  const name = takesPrice
    ? `Name its price in bulkhead.yaml, as ${priceFields.join(" and ")} under plugins.${id}.config, or use`
    : "Leave out the model, if its manifest prices the usual one, or use";
  return new BulkheadError(
    "unenforceable",
    `Adapter "${id}" cannot hold its agent to ${fields.join(", ")}: ${
      model === undefined ? "its model" : `the model "${model}"`
    } has no known price.`,
    { hint: `${name} budget.tokens.`, details: { fields: [...fields] } },
  );
}

function unenforceable(pluginId: string, fields: readonly string[]): BulkheadError {
  return new BulkheadError(
    "unenforceable",
    `Adapter "${pluginId}" cannot hold its agent to ${fields.join(", ")}: its manifest neither accepts nor reports it.`,
    {
      hint: "Leave it out, choose another adapter, or set best_effort to run without that limit.",
      details: { fields: [...fields] },
    },
  );
}
