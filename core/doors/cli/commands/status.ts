import type { BudgetReport } from "../../../../plugin-sdk/budget-report.ts";
import { defaultDaemonSettings } from "../../../ground/config/daemon-settings.ts";
import { type DaemonView, inspectDaemon } from "../../daemon/inspect-daemon.ts";
import { errorTable } from "../../../ground/errors/error-table.ts";
import { portIsFree } from "../../../ground/platform/net/listening.ts";
import { askDaemon } from "../ask-daemon.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { daemonPlace, noSocket } from "../daemon-place.ts";
import { budgetLine } from "../render/budget-line.ts";
import { safeLine } from "../render/agent-text.ts";
import { asTyped } from "../render/as-typed.ts";
import { createPaint, type Tone } from "../render/paint.ts";
import { formatAge } from "../render/quantities.ts";

/** `bulkhead status`. */
export const defineStatus: DefineCommand = (command, bind) => {
  command
    .addHelpText(...examples(
      ["bulkhead status", "exits with 0 only when the daemon takes sessions"],
      ["bulkhead status --json | jq -r .address", "where it is"],
    ))
    .action(bind(status));
};

/** Output of `bulkhead status --json`. */
interface StatusReport {
  state: DaemonView["state"] | "unresponsive";
  reason: string;
  /** Whether it takes sessions. */
  ready: boolean;
  pid: number | null;
  address: string | null;
  socket: string | null;
  version: string | null;
  started_at: string | null;
  /** Running sessions; null where the daemon cannot be asked. */
  sessions: number | null;
  /** Those of them that wait for an answer. */
  waiting: number | null;
  /** Ids of plugins in quarantine; null where the daemon cannot be asked. */
  quarantined: readonly string[] | null;
  /** The budgets that sessions share; null where the daemon cannot be asked. */
  budgets: readonly BudgetReport[] | null;
  /** The daemon's port, or the one that it would take; null while it chooses the port itself. */
  port: { number: number; free: boolean } | null;
  state_dir: string;
  config_file: string | null;
  log_file: string | null;
}

async function status(call: Invocation): Promise<number> {
  const report = await reportOf(call);
  const { configFile } = await daemonPlace(call);
  const elsewhere = report.address !== null && configFile !== undefined && configFile !== report.config_file
    ? configFile
    : null;
  const text = call.json ? `${JSON.stringify(report)}\n` : reportText(report, { call, elsewhere });
  await call.terminal.stdout.write(text);
  return report.ready ? 0 : errorTable.unavailable.exit_code;
}

async function reportOf(call: Invocation): Promise<StatusReport> {
  const { stateDir, configFile, manifest } = await daemonPlace(call);
  const view = await inspectDaemon(stateDir);
  const running = view.state === "running" && view.record !== null;
  const asked = running ? await askDaemon(view) : null;
  const wanted = manifest?.daemon?.port ?? defaultDaemonSettings.port;
  const record = running ? view.record : null;
  const port = record !== null
    ? { number: Number(new URL(record.address).port), free: false }
    : wanted === 0
    ? null
    : { number: wanted, free: await portIsFree(wanted) };
  return {
    state: running && asked === null ? "unresponsive" : view.state,
    reason: running && asked === null
      ? `Process ${view.pid} holds the lock and does not answer.`
      : asked?.refusal?.message ?? view.reason,
    ready: asked !== null && asked.refusal === null,
    pid: view.pid,
    address: record?.address ?? null,
    socket: record?.socket ?? null,
    version: record?.version ?? null,
    started_at: record?.started_at ?? null,
    sessions: asked?.running.length ?? null,
    waiting: asked?.running.filter((one) => one.waiting.length > 0).length ?? null,
    quarantined: asked?.quarantined ?? null,
    budgets: asked?.budgets ?? null,
    port,
    state_dir: stateDir,
    config_file: record === null ? configFile ?? null : record.config_file,
    log_file: view.record?.log_file ?? null,
  };
}

function sessionsText(sessions: number, waiting: number): string {
  return waiting === 0 ? `${sessions} running` : `${sessions} running, ${waiting} of them waiting for an answer`;
}

/** Says which plugins are in quarantine. */
export function quarantineText(ids: readonly string[]): string {
  return `${ids.join(", ")} in quarantine: ${asTyped(`bulkhead plugin explain ${ids[0]}`)}`;
}

const looks: Readonly<Record<StatusReport["state"], Tone>> = {
  running: "green",
  starting: "yellow",
  elsewhere: "yellow",
  unresponsive: "red",
  stopped: "dim",
  killed: "red",
  stale: "red",
};

/** @param options.elsewhere the host manifest here, where the daemon has another one */
function reportText(
  report: StatusReport,
  { call, elsewhere }: { call: Invocation; elsewhere: string | null },
): string {
  const paint = createPaint(call.terminal.colours.stdout);
  const { state, ready, started_at, sessions, waiting, quarantined, budgets, port } = report;
  const word = state === "running" && !ready ? "running, takes no sessions" : state;
  const rows: [string, string | null][] = [
    ["address", report.address],
    ["socket", report.socket ?? (report.address === null ? null : noSocket)],
    ["up for", started_at === null ? null : formatAge(started_at, Date.now())],
    ["sessions", sessions === null ? null : sessionsText(sessions, waiting ?? 0)],
    ["plugins", quarantined === null || quarantined.length === 0 ? null : quarantineText(quarantined)],
    ...(budgets ?? []).map((budget): [string, string] => ["budget", budgetLine(budget)]),
    ["version", report.version],
    [
      "port",
      port === null || report.address !== null
        ? null
        : `${port.number} is ${port.free ? "free" : "taken by another program"}`,
    ],
    ["state", report.state_dir],
    ["manifest", report.config_file],
    ["here", elsewhere === null ? null : `${elsewhere} is not the daemon's: commands here run on their own`],
    ["log", report.log_file],
  ];
  return [
    ` ${paint(looks[state], word)}  ${safeLine(report.reason)}`,
    ...rows.flatMap(([name, value]) =>
      value === null ? [] : [`   ${paint("dim", name.padEnd(8))}  ${safeLine(value)}`]
    ),
    "",
  ].join("\n");
}
