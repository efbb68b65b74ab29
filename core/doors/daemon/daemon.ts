import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type DaemonSettings, defaultDaemonSettings } from "../../ground/config/daemon-settings.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { defaultLimits, type Limits } from "../../ground/config/limits.ts";
import { hostBuild } from "../../ground/config/version.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { McpHttp } from "../mcp/http.ts";
import type { Cluster } from "../../cluster/machines/cluster.ts";
import type { MissingGrant } from "../../walls/broker/session-broker.ts";
import type { Host, HostOptions } from "../../sessions/host/host.ts";
import type { HostSeams } from "../../sessions/host/host-seams.ts";
import { demandOwnState, stateFolderOf } from "../../sessions/host/state/state-folder.ts";
import { consolePage } from "../console/page-files.ts";
import { createHttpDoor, type HttpDoor } from "../http/door.ts";
import type { HostFacts, Mount, Readiness, ReloadChanges } from "../http/door-options.ts";
import { pluginFacts } from "../http/plugin-facts.ts";
import { openPutAside } from "../http/put-aside.ts";
import { problem } from "../http/problem.ts";
import { mkdir, realpath } from "../../ground/platform/files/files.ts";
import { pid, runtimeVersion } from "../../ground/platform/engine/platform.ts";
import { runtimeFault } from "../../ground/platform/engine/runtime-fault.ts";
import { processStart } from "../../ground/platform/processes/process-rows.ts";
import { within } from "../../ground/platform/engine/within.ts";
import { daemonFiles } from "./daemon-files.ts";
import { removeLeftRecord, takeDaemonLock } from "./daemon-lock.ts";
import { type DaemonLog, openDaemonLog } from "./daemon-log.ts";
import { type DaemonRecord, removeDaemonRecord, writeDaemonRecord } from "./daemon-record.ts";
import { type GatedSessions, gateSessions } from "./gated-sessions.ts";
import { joinCluster } from "./join-cluster.ts";
import { listen, type Listening } from "./listen.ts";
import { ManifestInForce } from "./manifest-in-force.ts";
import { PluginTrials } from "./plugin-trials.ts";
import { openAccess } from "./shared-access.ts";
import { uncontainedPrograms } from "./uncontained.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { letEngineOptimize } from "../../ground/platform/engine/boot-flags.ts";
import { collectGarbageOnce } from "../../ground/platform/engine/collect-garbage.ts";

interface DaemonOptions extends Pick<HostOptions, "stateDir" | "bundledDir"> {
  createHost(options: HostOptions, seams?: HostSeams): Promise<Host>;
  /** Reads the host manifest, at the start and at each reload; undefined where there is none. */
  readManifest(): Promise<HostManifest | undefined>;
  /** Folder of `plugins/` and of relative paths. */
  root: string;
  /** Overrides the host manifest's port. Where neither names one and the usual one is busy, any free one is taken. */
  port?: number | undefined;
  /** Also receives each line of the log. */
  echo?: ((line: string) => void) | undefined;
}

/** A daemon that takes requests. */
export interface Daemon {
  record: DaemonRecord;
  host: Host;
  /**
   * Reloads the host manifest, for future sessions.
   * @throws {BulkheadError} the error of the manifest; then the old one stays in force
   */
  reload(): Promise<ReloadChanges>;
  /**
   * Starts no more sessions, gives running ones their time, interrupts the rest and ends.
   * @param drainMs default: `daemon.drain_ms`
   */
  stop(options?: { drainMs?: number }): Promise<void>;
  /** Aborts when another machine of the cluster has taken over: stop this daemon without a drain, and start another. */
  lost: AbortSignal;
}

/** How long answers in progress may take at the end. Milliseconds. */
const lastAnswersMs = 1000;

/**
 * Makes this process the daemon of a state folder. It takes requests once the promise resolves.
 * @throws {BulkheadError} `busy` when one runs already or another program has the port, and as `createHost`
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const manifest = await options.readManifest();
  const settings = settingsOf(manifest, options.port);
  const stateDir = await makeFolder(stateFolderOf({ stateDir: options.stateDir, manifest }, options.root));
  await demandOwnState(stateDir);
  const files = daemonFiles(stateDir);
  const undo: (() => unknown)[] = [];
  try {
    const lock = await takeDaemonLock(files);
    let isTaken = false;
    undo.push(() => lock.release({ restores: !isTaken }));
    const log = openDaemonLog({ ...settings, file: files.log, echo: options.echo });
    undo.push(() => log.close());
    const writeLog: DaemonLog["write"] = (record) => log.write(record);
    const fault = runtimeFault();
    if (fault !== null) writeLog({ level: "warn", message: fault });
    let door: HttpDoor | null = null;
    const limits: Limits = { ...defaultLimits, ...manifest?.limits };
    const listening = await listen({
      port: settings.port,
      mayMove: (options.port ?? manifest?.daemon?.port) === undefined,
      addresses: settings.addresses,
      sockets: files.sockets,
      limits,
      onStall: (path) => writeLog(stalled(path, limits.http_stall_timeout_ms)),
      answer: async (request, from) => await door?.fetch(request, from) ?? notYet(request),
    });
    undo.push(() => listening.close({ graceMs: lastAnswersMs }));
    if (listening.portOf !== null) {
      const message = `The daemon has a free port: ${listening.portOf} has port ${settings.port} of 127.0.0.1.`;
      writeLog({ level: "warn", message, fields: { port: settings.port } });
    }
    if (listening.noSocket.length > 0) {
      writeLog({ level: "warn", message: `There is no unix socket, only TCP: ${listening.noSocket.join("; ")}.` });
    }
    // Only now: an older version elsewhere, which this lock does not keep away, would have the socket.
    isTaken = true;
    const left = await removeLeftRecord(files, lock.left);
    if (left !== null) writeLog(left);
    const cluster = await joinCluster(manifest, { stateDir, writeLog });
    undo.push(() => cluster?.close());
    const { root, bundledDir } = options;
    const file = manifest?.file;
    const keepDenial = file === undefined ? undefined : (denied: MissingGrant) => inForce.deny(denied);
    const host = await options.createHost(
      { root, bundledDir, manifest, stateDir, resume: true, onlyFirst: true, keepDenial, writeLog },
      cluster?.seams,
    );
    const trials = new PluginTrials({ host, writeLog });
    undo.push(() => trials.stop());
    const inForce = new ManifestInForce(manifest, {
      host,
      read: () => options.readManifest(),
      onReloaded(after, { added, changed }) {
        log.setLevel(settingsOf(after).log_level);
        trials.start([...added, ...changed]);
      },
      writeLog,
    });
    undo.push(() => host.close());
    const told = tellUncontained(host, writeLog);
    undo.push(() => told);
    const parts = { options, manifest, settings, host, inForce, listening, log, stateDir, cluster };
    const made = await openDaemon(parts);
    await cluster?.serve(host);
    door = made.door;
    const paths = { token_file: made.tokenFile, log_file: files.log, config_file: manifest?.file ?? null };
    const record = recordOf(listening, paths);
    await writeDaemonRecord(files.record, record);
    undo.push(() => removeDaemonRecord(files.record), settleAfterStart(made.isUnused));
    trials.startLater();
    writeLog({ level: "info", message: `The daemon takes requests at ${record.address}.`, fields: { pid } });
    const ending = endingOf({ made, log, undo, drainMs: settings.drain_ms });
    return { record, host, reload: made.reload, stop: ending, lost: cluster?.lost ?? new AbortController().signal };
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw error;
  }
}

/** Probing takes longer than a start may. Never rejects. */
async function tellUncontained(host: Host, writeLog: DaemonLog["write"]): Promise<void> {
  const message = await uncontainedPrograms(host.registry.list().filter(({ enabled }) => enabled));
  if (message !== null) writeLog({ level: "warn", message });
}

function stalled(path: string, ms: number): LogRecord {
  return { level: "warn", message: `Cut off a client of ${path}: it has read nothing for ${ms} ms.` };
}

interface OpenDaemonOptions {
  options: DaemonOptions;
  manifest: HostManifest | undefined;
  settings: DaemonSettings;
  host: Host;
  inForce: ManifestInForce;
  listening: Listening;
  log: DaemonLog;
  stateDir: string;
  /** This machine's part in a cluster; null for a daemon that is alone. */
  cluster: Cluster | null;
}

interface OpenedDaemon {
  door: HttpDoor;
  host: Host;
  tokenFile: string;
  reload(): Promise<ReloadChanges>;
  shut(): void;
  isUnused(): boolean;
}

/** Opens the host's HTTP door, with its access to the daemon. */
async function openDaemon(opened: OpenDaemonOptions): Promise<OpenedDaemon> {
  const { manifest, host, inForce, listening, log, stateDir, cluster } = opened;
  const writeLog: DaemonLog["write"] = (record) => log.write(record);
  const gate = gateSessions(cluster?.sessions(host.sessions) ?? host.sessions);
  const { tokens, tokenFile, owners, stopSharing } = await openAccess(stateDir, { notes: cluster?.notes, writeLog });
  const limits = { ...defaultLimits, ...manifest?.limits };
  const mcp = mountMcp(limits);
  const door = createHttpDoor({
    sessions: gate.sessions,
    mounts: [mcp],
    pages: consolePage,
    facts: factsOf(opened, gate),
    tokens,
    owners,
    hosts: () => listening.hosts,
    limits,
    writeLog,
  });
  const close = () => (door.close(), mcp.close());
  const shut = () => {
    gate.shut();
    stopSharing();
    cluster?.leave();
  };
  return { door: { ...door, close }, host, tokenFile, reload: inForce.reload, shut, isUnused: gate.isUnused };
}

/** Returns what the door shows and changes of the host, besides its sessions. */
function factsOf(
  { host, inForce, cluster, manifest, stateDir }: OpenDaemonOptions,
  gate: GatedSessions,
): HostFacts {
  const { reload, setGrants, addGrant, replaceGrant } = inForce;
  return {
    plugins: pluginFacts(host, manifest?.file),
    workspaces: cluster?.workspaces(host.workspaces) ?? host.workspaces,
    history: host.history,
    aside: openPutAside(stateDir),
    verify: () => host.verify(),
    setGrants,
    addGrant,
    replaceGrant,
    reload,
    signals: () => [...host.signals(), ...cluster?.signals() ?? []],
    cluster: () => cluster === null ? Promise.resolve(null) : cluster.status(),
    readiness: () => readinessOf({ isShut: gate.isShut(), cluster, host }),
  };
}

async function readinessOf(
  { isShut, cluster, host }: { isShut: boolean; cluster: Cluster | null; host: Host },
): Promise<Readiness> {
  // Anyone may ask, so that the folder has no name here.
  const unwritten = (await host.stateProblem())?.told ?? null;
  const reason = isShut ? "the daemon is shutting down" : unwritten ?? cluster?.problem ?? null;
  return reason === null ? { ready: true } : { ready: false, reason, isClosing: isShut };
}

/** Mounts the endpoint of the Model Context Protocol. The first request loads its library. */
function mountMcp({ message_bytes }: Pick<Limits, "message_bytes">): Mount & { close(): void } {
  let opening: Promise<McpHttp> | null = null;
  const open = async () => (await import("../mcp/http.ts")).createMcpHttp({ message_bytes });
  return {
    path: "/mcp",
    handle: async (request, caller) => await (await (opening ??= open())).handle(request, caller),
    close: () => void opening?.then((mcp) => mcp.close()).catch(() => {}),
  };
}

/** Creates the function that ends the daemon, once for all callers. */
function endingOf(
  { made, log, undo, drainMs: patience }: {
    made: OpenedDaemon;
    log: DaemonLog;
    undo: (() => unknown)[];
    drainMs: number;
  },
): Daemon["stop"] {
  let ending: Promise<void> | null = null;
  return ({ drainMs = patience } = {}) => ending ??= end(drainMs);

  async function end(drainMs: number): Promise<void> {
    made.shut();
    log.write({
      level: "info",
      message: `The daemon is shutting down; running sessions have ${drainMs / 1000} s to finish.`,
    });
    if (!(await within(made.host.idle(), drainMs))) {
      log.write({ level: "warn", message: "Sessions that still run are interrupted." });
    }
    // Streams stay open until their sessions have ended, so that clients see the end.
    await made.host.close();
    made.door.close();
    log.write({ level: "info", message: "The daemon has stopped." });
    for (const step of undo.reverse()) await step();
  }
}

function settingsOf(manifest: HostManifest | undefined, port?: number): DaemonSettings {
  const settings = { ...defaultDaemonSettings, ...manifest?.daemon };
  return port === undefined ? settings : { ...settings, port };
}

async function makeFolder(folder: string): Promise<string> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return await realpath(folder);
  } catch (cause) {
    throw new BulkheadError("io_error", `Cannot write to the state folder "${folder}".`, {
      hint: "Name another one with --state-dir.",
      cause,
    });
  }
}

function recordOf(
  { address, socket }: Listening,
  paths: Pick<DaemonRecord, "token_file" | "log_file" | "config_file">,
): DaemonRecord {
  return {
    record: 1,
    pid,
    start: processStart(pid),
    started_at: new Date().toISOString(),
    version: hostBuild,
    runtime: runtimeVersion,
    address,
    socket,
    ...paths,
  };
}

function notYet(request: Request): Response {
  const error = new BulkheadError("host_closed", "Cannot serve the request: the daemon is starting.", {
    hint: "Try again in a moment.",
  });
  return problem(error, { writeLog: () => {}, request });
}

/** When what the start left is collected. The first requests should not wait for it. Milliseconds. */
const settleMs = 500;

/**
 * Gives back the memory that the start of a daemon needed: without work the engine collects nothing for hours. With
 * sessions, it collects by itself.
 * @returns cancels it
 */
function settleAfterStart(isUnused: () => boolean): () => void {
  letEngineOptimize();
  return startBackgroundTimer(() => {
    if (isUnused()) collectGarbageOnce();
  }, settleMs);
}
