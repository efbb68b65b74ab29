import type { ClusterLog, ClusterMachine, ClusterStatus } from "../../../plugin-sdk/cluster-status.ts";
import type { ClusterSettings } from "../../ground/config/cluster-settings.ts";
import type { Signal } from "../../ground/log/prometheus-text.ts";
import type { Engine, StreamState } from "../engine/engine.ts";
import type { MachineLog } from "../log/machine-log.ts";
import type { Mirror } from "../log/mirror.ts";
import type { MachineFacts } from "./machine.ts";
import { isSameAgent } from "./machine-facts.ts";
import { type HeardMachine, missedBeats } from "./presence.ts";
import type { SessionShares } from "./session-shares.ts";

/** Collaborators of {@link clusterStatus}, and what they know. */
export interface ClusterStatusDeps {
  settings: ClusterSettings;
  engine: Engine;
  /** This machine's own log; null before it is taken. */
  log: MachineLog | null;
  facts: MachineFacts;
  heard: readonly HeardMachine[];
  mirrors: readonly Mirror[];
  /** Sessions that wait for a machine. */
  waiting: number;
  shares: Pick<SessionShares, "taken">;
  /** Most sessions of all machines together. */
  hostSessions: number;
}

/** Describes a cluster as one machine sees it. */
export async function clusterStatus(view: ClusterStatusDeps): Promise<ClusterStatus> {
  const { settings, engine, log, facts } = view;
  const [roundTripMs, logs] = await Promise.all([
    engine.isConnected ? engine.roundTripMs().catch(() => null) : null,
    engine.logs().catch(() => []),
  ]);
  const { address, version } = engine.server;
  return {
    machine: settings.name,
    prefix: settings.prefix,
    connected: engine.isConnected,
    server: address,
    server_version: version,
    round_trip_ms: roundTripMs,
    waiting_entries: log?.waiting ?? 0,
    waiting_sessions: view.waiting,
    slots: view.shares.taken,
    host_sessions: view.hostSessions,
    machines: [ofSelf(facts), ...machinesOf(view)].sort((one, other) => one.name < other.name ? -1 : 1),
    logs: logs.map((state) => logOf(state, view)).sort((one, other) => one.machine < other.machine ? -1 : 1),
  };
}

function ofSelf(
  { name, version, runtime, labels, agents, sessions, slots, started_at }: MachineFacts,
): ClusterMachine {
  return {
    name,
    state: "present",
    self: true,
    version,
    runtime,
    labels,
    agents: agents.map(({ id }) => id),
    other_agents: [],
    sessions,
    slots,
    started_at,
    silent_ms: 0,
    skew_ms: 0,
  };
}

function machinesOf({ settings, facts: own, heard, mirrors }: ClusterStatusDeps): ClusterMachine[] {
  const known = heard.map(({ facts, silentMs, skewMs }): ClusterMachine => ({
    ...ofSelf(facts),
    self: false,
    state: stateOf({ facts, silentMs }, settings),
    other_agents: facts.agents.filter((agent) =>
      own.agents.some((mine) => mine.id === agent.id && !isSameAgent(mine, agent))
    )
      .map(({ id }) => id),
    silent_ms: Math.round(silentMs),
    skew_ms: Math.round(skewMs),
  }));
  const unheard = mirrors.filter(({ machine }) => !heard.some(({ facts }) => facts.name === machine));
  return [...known, ...unheard.map(({ machine }) => neverHeard(machine))];
}

function stateOf(
  { facts: { leaving, gone }, silentMs }: Pick<HeardMachine, "facts" | "silentMs">,
  { heartbeat_ms, silent_ms }: ClusterSettings,
): ClusterMachine["state"] {
  if (gone) return "left";
  if (silentMs >= silent_ms) return "lost";
  if (silentMs > missedBeats * heartbeat_ms) return "silent";
  return leaving ? "leaving" : "present";
}

function neverHeard(name: string): ClusterMachine {
  return {
    name,
    state: "lost",
    self: false,
    version: null,
    runtime: null,
    labels: {},
    agents: [],
    other_agents: [],
    sessions: null,
    slots: null,
    started_at: null,
    silent_ms: null,
    skew_ms: null,
  };
}

function logOf(
  { name, lastSeq, bytes, replicas, leader }: StreamState,
  { engine, log, facts, heard, mirrors, settings }: ClusterStatusDeps,
): ClusterLog {
  const machine = engine.names.machineOf(name) ?? name;
  const isOwn = machine === settings.name;
  const mirror = mirrors.find((one) => one.machine === machine);
  const position = isOwn ? log?.position : mirror?.position;
  const newest = isOwn ? facts.gseq : heard.find((one) => one.facts.name === machine)?.facts.gseq;
  const gseq = position?.gseq ?? 0;
  return {
    machine,
    writer: position === undefined || position.machine === "" ? null : position.machine,
    messages: lastSeq,
    bytes,
    replicas,
    leader,
    gseq,
    behind: Math.max(0, (newest ?? gseq) - gseq),
    refused: mirror?.dropped ?? 0,
  };
}

/** Returns the counters and gauges of one machine's part in a cluster. */
export function clusterSignals(
  { engine, log, heard, mirrors, waiting, shares, hostSessions, silentMs }:
    & Omit<ClusterStatusDeps, "settings" | "facts">
    & { silentMs: number },
): Signal[] {
  const gauge = (name: string, help: string, samples: Signal["samples"]): Signal => {
    return { name: `bulkhead_cluster_${name}`, help, type: "gauge", samples };
  };
  const present = heard.filter((one) => !one.facts.gone && one.silentMs < silentMs).length;
  return [
    gauge("connected", "1 while a server of the cluster is connected.", [{
      labels: {},
      value: engine.isConnected ? 1 : 0,
    }]),
    gauge("machines", "Other machines of the cluster that are there.", [{ labels: {}, value: present }]),
    gauge("waiting_sessions", "Sessions that wait for a machine.", [{ labels: {}, value: waiting }]),
    gauge("slots", "Slots for sessions that the machines have taken together.", [{ labels: {}, value: shares.taken }]),
    gauge("slots_limit", "Sessions that the machines may have together.", [{ labels: {}, value: hostSessions }]),
    gauge("waiting_entries", "Entries of the machine's log that wait for the servers.", [
      { labels: {}, value: log?.waiting ?? 0 },
    ]),
    gauge(
      "copy_behind",
      "Events that the copy of a machine's log here lacks.",
      heard.map(({ facts: { name: machine, gseq } }) => ({
        labels: { machine },
        value: Math.max(0, gseq - (mirrors.find((one) => one.machine === machine)?.position.gseq ?? 0)),
      })),
    ),
    gauge(
      "clock_skew_seconds",
      "A machine's clock less this one's.",
      heard.map(({ facts: { name: machine }, skewMs }) => ({ labels: { machine }, value: skewMs / 1000 })),
    ),
  ];
}
