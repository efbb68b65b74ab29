import { errorFromData } from "../../../plugin-sdk/errors.ts";
import type { ConfigSchema } from "../../../plugin-sdk/manifest.ts";
import type { MissingGrant } from "../../walls/broker/session-broker.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import type { DaemonRecord } from "../daemon/daemon-record.ts";
import { daemonFiles } from "../daemon/daemon-files.ts";
import { type DaemonView, inspectDaemon } from "../daemon/inspect-daemon.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { HostWorkspaces } from "../../sessions/host/state/workspaces.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import { readHostManifest } from "../../packages/manifest/find-host-manifest.ts";
import { type NamedPlugin, stoppedPlugins } from "../../sessions/routing/unknown-adapter.ts";
import type { Invocation } from "./command.ts";
import { daemonPlace } from "./daemon-place.ts";
import { isFirstNotice, otherProject } from "./project-daemon.ts";
import { openHost, type OpenHostOptions } from "./open-host.ts";
import { safeLine } from "./render/agent-text.ts";
import { asTyped } from "./render/as-typed.ts";
import type { Throttled } from "../client/call-api.ts";
import type { Terminal } from "../../ground/platform/terminal/terminal.ts";

/** Fields of a listed plugin that commands use. */
export interface ListedPlugin extends NamedPlugin {
  /** The daemon runs other code than its files hold now; never for a host in this process. */
  edited?: boolean;
  /** Variables that it reads and the daemon's environment lacks; never for a host in this process. */
  env_missing?: readonly string[];
}

/** Sessions for a command, in this process or in the daemon, and this folder's manifest. */
export interface OpenedSessions extends AsyncDisposable {
  sessions: SessionHost;
  workspaces: HostWorkspaces;
  plugins(): Promise<readonly ListedPlugin[]>;
  /** The options that a plugin declares. */
  configOf(pluginId: string): Promise<ConfigSchema | undefined>;
  /** Grants something in the daemon, for future sessions; null for a host in this process. */
  grant: ((missing: MissingGrant, under: "grant" | "deny") => Promise<void>) | null;
  /** The host in this process; null where the daemon has it. */
  host: Host | null;
  /** Absent where no bulkhead.yaml was found. */
  manifest: HostManifest | undefined;
}

/**
 * Opens the sessions of the daemon that runs for this command's state folder and host manifest, else those of a host
 * in this process. Close them with `await using`.
 * @throws {BulkheadError} as `openHost`, `unavailable` when the daemon does not answer
 */
export async function openSessions(call: Invocation, options: OpenHostOptions = {}): Promise<OpenedSessions> {
  const daemon = call.embedded ? null : await daemonFor(call);
  if (daemon !== null) return await openRemote(daemon, call);
  const opened = await openHost(call, options);
  const { host, manifest } = opened;
  return {
    sessions: host.sessions,
    workspaces: host.workspaces,
    plugins: () => Promise.resolve([...host.registry.list(), ...stoppedPlugins(host.registry.problems())]),
    configOf: (id) => Promise.resolve(host.registry.get(id)?.manifest.config),
    grant: null,
    host,
    manifest,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

async function openRemote(
  { record, manifest, stateDir }: FoundDaemon,
  { terminal }: Pick<Invocation, "terminal">,
): Promise<OpenedSessions> {
  const { connectDaemon, ours, ourWorkspaces, remoteSessions } = await import("./remote-sessions.ts");
  const remote = await connectDaemon(record, {
    onLost: tellOfLoss(stateDir, terminal),
    onThrottled: tellOfThrottle(terminal),
  });
  return {
    sessions: remoteSessions(remote),
    workspaces: ourWorkspaces(remote),
    plugins: async () => {
      const [plugins, problems] = await Promise.all([ours(remote.plugins()), ours(remote.pluginProblems())]);
      const listed = plugins.map(({ id, enabled, edited, env_missing, blocked }) => ({
        id,
        enabled,
        edited,
        env_missing,
        ...(blocked === null ? {} : { blocked }),
      }));
      const known = problems.map((problem) => ({ ...problem, error: errorFromData(problem.error) }));
      return [...listed, ...stoppedPlugins(known)];
    },
    configOf: async (id) => (await ours(remote.explain(id))).config ?? undefined,
    grant: ({ plugin_id, permission, target }, under) =>
      ours(remote.addGrant(plugin_id, { permission, target, under })),
    host: null,
    manifest,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

interface FoundDaemon {
  record: DaemonRecord;
  manifest: HostManifest | undefined;
  stateDir: string;
}

/** Finds the daemon for a command; null where none runs, or, with a message, where it has another host manifest. */
export async function daemonFor(
  call: Invocation,
  { quiet = false }: { quiet?: boolean } = {},
): Promise<FoundDaemon | null> {
  const place = await daemonPlace(call);
  const { stateDir, configFile, manifest, problem } = place;
  const { notices } = daemonFiles(stateDir);
  const { state, record, reason } = await inspectDaemon(stateDir);
  if (state === "elsewhere" && !quiet && await isFirstNotice(notices, reason)) {
    await call.terminal.stderr.write(
      asTyped(`${reason} Commands here run on their own (more: bulkhead help daemon).\n`),
    );
  }
  if (state !== "running" || record === null) return null;
  if (configFile === undefined) return { record, manifest: await manifestOf(record, stateDir), stateDir };
  if (record.config_file === configFile) return { record, manifest, stateDir };
  if (problem !== null) throw problem;
  if (quiet || !(await isFirstNotice(notices, configFile))) return null;
  const whose = otherProject(record, place) === null ? "uses no bulkhead.yaml" : "serves another project";
  await call.terminal.stderr.write(
    asTyped(`The running daemon ${whose}, so commands here run on their own (more: bulkhead help daemon).\n`),
  );
  return null;
}

/** Reads the current version of the host manifest that the daemon was started with. */
async function manifestOf({ config_file }: DaemonRecord, stateDir: string): Promise<HostManifest | undefined> {
  if (config_file === null) return undefined;
  return await readHostManifest(config_file, { stateDir }).catch(() => undefined);
}

/** How long a daemon may leave its clients without an answer before that is told. Milliseconds. */
const quietMs = 1000;

/** Makes the function that a daemon's client calls before each retry. It tells the person of each loss once. */
export function tellOfLoss(stateDir: string, { stderr }: Pick<Terminal, "stderr">): (lostMs: number) => Promise<void> {
  let isTold = false;
  return async (lostMs) => {
    if (lostMs === 0) isTold = false;
    if (isTold) return;
    const { state, pid } = await inspectDaemon(stateDir);
    const isGone = state !== "running" && state !== "starting";
    if (!isGone && lostMs < quietMs) return;
    isTold = true;
    await stderr.write(`\n${asTyped(sentences[state](pid))}\nWaiting for it. Press Ctrl-C to leave.\n`);
  };
}

/** Makes the function that tells the person, once, that the client waits because the daemon gets too many requests. */
export function tellOfThrottle({ stderr }: Pick<Terminal, "stderr">): (what: Throttled) => Promise<void> {
  let isTold = false;
  return async ({ waitMs, message }) => {
    if (isTold) return;
    isTold = true;
    await stderr.write(`${safeLine(message)} Asking again in ${Math.ceil(waitMs / 1000)} s.\n`);
  };
}

const noAnswer = () => 'The daemon does not answer. "bulkhead status" tells more.';

const sentences: Readonly<Record<DaemonView["state"], (pid: number | null) => string>> = {
  killed: (pid) => `The daemon was killed: process ${pid} is gone. Start it again: bulkhead start`,
  stale: () => "The daemon was killed. Start it again: bulkhead start",
  elsewhere: () => "The daemon has stopped here, and another one runs in another container or on another machine.",
  stopped: () => "The daemon has stopped. Start it again: bulkhead start",
  starting: noAnswer,
  running: noAnswer,
};
