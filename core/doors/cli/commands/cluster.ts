import type { ClusterLog, ClusterMachine, ClusterStatus } from "../../../../plugin-sdk/cluster-status.ts";
import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { daemonPlace } from "../daemon-place.ts";
import { runningDaemon } from "../ask-daemon.ts";
import { safeLine } from "../render/agent-text.ts";
import { createPaint, type Paint, type Tone } from "../render/paint.ts";
import { formatBytes, formatCount, formatDuration } from "../render/quantities.ts";
import { type Cell, type Row, tableLines } from "../render/table.ts";
import { tableColumns } from "../show-session.ts";

/** `bulkhead cluster`. */
export const defineCluster: DefineCommand = (command, bind) => {
  command
    .command("status")
    .description("show the machines, who writes their logs, and how far this machine's copies are")
    .addHelpText(...examples(
      ["bulkhead cluster status", "every machine, as this one sees it"],
      ["bulkhead cluster status --json | jq '.machines[] | select(.state == \"lost\").name'", "the lost ones"],
    ))
    .action(bind(clusterStatus));
};

async function clusterStatus(call: Invocation): Promise<number> {
  const { stateDir } = await daemonPlace(call);
  const record = await runningDaemon(stateDir, "show the cluster");
  const { connectDaemon, ours } = await import("../remote-sessions.ts");
  const status = await ours((await connectDaemon(record)).cluster());
  return await tell(call, status, statusText(status, call));
}

function statusText(status: ClusterStatus, { terminal }: Pick<Invocation, "terminal">): string {
  const paint = createPaint(terminal.colours.stdout);
  const columns = tableColumns(terminal);
  const table = (rows: readonly Row[], head: readonly string[]) =>
    tableLines(rows, { paint, columns, indent: 1, head });
  return [
    ...headLines(status, paint),
    "",
    ...table(status.machines.map(machineRow), ["machine", "state", "sessions", "clock", "version", "labels", "agents"]),
    "",
    ...table(status.logs.map(logRow), [
      "log of",
      "written by",
      "events",
      "behind",
      "size",
      "kept on",
      "led by",
      "refused",
    ]),
  ].join("\n");
}

function headLines(status: ClusterStatus, paint: Paint): string[] {
  const { connected, server, server_version, round_trip_ms, waiting_entries, waiting_sessions } = status;
  const way = round_trip_ms === null ? "" : `, ${round_trip_ms} ms away`;
  const word = connected ? paint("green", "connected") : paint("red", "not connected");
  const waits = waiting_entries === 0 ? [] : [`   ${formatCount(waiting_entries)} entries wait for the servers`];
  const queue = waiting_sessions === 0 ? [] : [`   ${formatCount(waiting_sessions)} sessions wait for a machine`];
  return [
    ` ${word}  ${safeLine(server)}, nats-server ${safeLine(server_version)}${way}`,
    `   ${formatCount(status.slots)} of ${formatCount(status.host_sessions)} sessions are taken`,
    ...waits,
    ...queue,
  ];
}

const tones: Readonly<Record<ClusterMachine["state"], Tone>> = {
  present: "green",
  leaving: "yellow",
  silent: "yellow",
  left: "dim",
  lost: "red",
};

function machineRow(machine: ClusterMachine): Cell[] {
  const { name, state, self, silent_ms, sessions, slots, skew_ms, version, labels, agents, other_agents } = machine;
  const since = state === "lost" || state === "silent"
    ? ` ${silent_ms === null ? "never heard" : formatDuration(silent_ms)}`
    : "";
  const shown = agents.map((id) => other_agents.includes(id) ? `${id} (other code)` : id);
  return [
    { text: safeLine(name), tone: "bold" },
    { text: self ? "this one" : `${state}${since}`, tone: tones[state] },
    sessions === null ? "" : `${sessions} of ${slots ?? 0}`,
    self || skew_ms === null
      ? ""
      : { text: `${skew_ms > 0 ? "+" : ""}${skew_ms} ms`, tone: Math.abs(skew_ms) > 1000 ? "yellow" : "dim" },
    version ?? "",
    safeLine(Object.entries(labels).map(([label, text]) => `${label}=${text}`).join(" ")),
    safeLine(shown.join(", ")),
  ];
}

function logRow({ machine, writer, gseq, behind, bytes, replicas, leader, refused }: ClusterLog): Cell[] {
  return [
    { text: safeLine(machine), tone: "bold" },
    { text: safeLine(writer ?? ""), tone: writer === null || writer === machine ? "dim" : "yellow" },
    formatCount(gseq),
    behind === 0 ? "" : { text: formatCount(behind), tone: "yellow" },
    formatBytes(bytes),
    replicas === 1 ? "1 server" : `${replicas} servers`,
    safeLine(leader ?? ""),
    refused === 0 ? "" : { text: formatCount(refused), tone: "yellow" },
  ];
}
