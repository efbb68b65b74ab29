import type { AgentReport } from "../../../../plugin-sdk/agent-report.ts";
import { toErrorData } from "../../../ground/errors/to-error-data.ts";
import { isRoot, platform, runtimeVersion } from "../../../ground/platform/engine/platform.ts";
import type { Plugin } from "../../../packages/manifest/plugin.ts";
import { runtimeFault } from "../../../ground/platform/engine/runtime-fault.ts";
import { runGit } from "../../../ground/platform/processes/git-program.ts";
import { demandRequired } from "../../../ground/platform/os-walls/confine.ts";
import { probeOsWalls, probeWalls, type WallReport } from "../../../ground/platform/os-walls/probe.ts";
import { clusterProblem } from "../../daemon/join-cluster.ts";
import { inspectDaemon } from "../../daemon/inspect-daemon.ts";
import { uncontainedPrograms } from "../../daemon/uncontained.ts";
import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { askDaemon } from "../ask-daemon.ts";
import { daemonPlace } from "../daemon-place.ts";
import { whyUnwritable } from "../../../ground/platform/state/state-health.ts";
import { findState, openHost } from "../open-host.ts";
import { damagedJournals, stateClockProblem } from "../../../sessions/host/state/state-journals.ts";
import { toldProblems } from "../../../sessions/host/plugin-problems.ts";
import { findAgents, type MissingAgent, missingAgents } from "../setup/find-agents.ts";
import { agentRows, enabledAgents } from "../render/agent-rows.ts";
import { asTyped } from "../render/as-typed.ts";
import { createPaint, type Paint, type Tone } from "../render/paint.ts";
import { type Cell, type Row, tableLines } from "../render/table.ts";
import { tableColumns } from "../show-session.ts";
import { hostBuild } from "../../../ground/config/version.ts";

interface DoctorReport {
  bulkhead: string;
  runtime: string;
  platform: string;
  /** git's version; null when it was not found. */
  git: string | null;
  /** Path of the host manifest; null when none was found. */
  host_manifest: string | null;
  walls: WallReport[];
  agents: AgentReport[];
  /** Agents that are on this machine and not enabled. */
  not_enabled: { id: string; program: string | null; key: string | null }[];
  /** Agents that are not on this machine, and how to install them. */
  not_installed: MissingAgent[];
  /** Reasons why sessions cannot run here; the lines below the first one of each tell what helps. */
  problems: string[];
  /** Reasons why this host is weaker than it could be. */
  warnings: string[];
}

const rootWarning =
  "The host runs as root: a program that you grant may do anything on this machine, and a way out of a " +
  "container would be root outside. Run it as a user of its own.";

/** `bulkhead doctor`. */
export const defineDoctor: DefineCommand = (command, bind) => {
  command
    .addHelpText(...examples(
      ["bulkhead doctor", "what works here, and what to do about the rest"],
      ["bulkhead doctor --json", "the same for programs"],
    ))
    .action(bind(doctor));
};

async function doctor(call: Invocation): Promise<number> {
  const report = await examine(call);
  const { terminal } = call;
  const paint = createPaint(terminal.colours.stdout);
  await tell(call, report, reportLines(report, { paint, columns: tableColumns(terminal) }).join("\n"));
  return report.problems.length === 0 ? 0 : 1;
}

async function examine(call: Invocation): Promise<DoctorReport> {
  const unwritten = await stateProblems(call);
  const [git, walls, hosted, daemon] = await Promise.all([
    gitVersion(call.terminal.cwd),
    probeWalls(),
    unwritten.length > 0 ? withoutHost(unwritten) : examineHost(call),
    daemonElsewhere(call),
  ]);
  return {
    bulkhead: hostBuild,
    runtime: runtimeVersion,
    platform,
    git,
    host_manifest: hosted.host_manifest,
    walls,
    agents: hosted.agents,
    not_enabled: hosted.not_enabled,
    not_installed: hosted.not_installed,
    problems: hosted.problems,
    warnings: [runtimeFault(), isRoot() ? rootWarning : null, daemon, ...hosted.told].filter((warning) =>
      warning !== null
    ),
  };
}

/** Says why the state folder cannot be written: here, or by the daemon that has it. */
async function stateProblems(call: Invocation): Promise<string[]> {
  try {
    const { stateDir } = await daemonPlace(call);
    const fault = await whyUnwritable(stateDir);
    if (fault !== null) return [`Cannot write the state folder: ${fault.state}.\n${fault.hint}`];
    const refusal = (await askDaemon(await inspectDaemon(stateDir)))?.refusal ?? null;
    return refusal === null || refusal.code === "host_closed" ? [] : [refusal.message];
  } catch {
    // Making a host says it better.
    return [];
  }
}

type HostedReport =
  & Pick<DoctorReport, "host_manifest" | "agents" | "not_enabled" | "not_installed" | "problems">
  & { told: string[] };

function withoutHost(problems: string[]): HostedReport {
  return { host_manifest: null, agents: [], not_enabled: [], not_installed: [], problems, told: [] };
}

/** Making a host reads the manifest and opens the journal, so a state folder that cannot be written shows here. */
async function examineHost(call: Invocation): Promise<HostedReport> {
  try {
    await using opened = await openHost(call);
    const { host, manifest } = opened;
    const plugins = host.registry.list().filter((plugin) => plugin.enabled);
    const agents = enabledAgents(await host.agents());
    const cluster = await clusterProblem(manifest);
    const problems = [
      ...await missingWalls(plugins),
      ...toldProblems(host.registry.problems()).map(sentencesOf),
      ...(cluster === null ? [] : [cluster]),
    ];
    const { cwd } = call.terminal;
    const found = await findAgents(host.registry.list(), { cwd });
    const not_installed = await missingAgents(host.registry.list(), { cwd });
    const not_enabled = found.filter(({ plugin }) => !plugin.enabled)
      .map(({ plugin: { id }, program, key }) => ({ id, program, key }));
    const { stateDir } = await findState(call);
    const clock = await stateClockProblem(stateDir);
    const told = [...await damagedJournals(stateDir), ...(clock === null ? [] : [clock])];
    return { host_manifest: manifest?.file ?? null, agents, not_enabled, not_installed, problems, told };
  } catch (error) {
    return withoutHost([sentencesOf(error)]);
  }
}

/** A daemon that no command here can reach; null where there is none. */
async function daemonElsewhere(call: Invocation): Promise<string | null> {
  const view = await daemonPlace(call).then(({ stateDir }) => inspectDaemon(stateDir)).catch(() => null);
  return view?.state === "elsewhere" ? `${view.reason} Commands here run on their own; stop it there.` : null;
}

function sentencesOf(error: unknown): string {
  const { message, hint } = toErrorData(error);
  return hint === undefined ? message : `${message}\n${hint}`;
}

/** One sentence for each way in which this machine lacks a wall that the operator requires. */
async function missingWalls(plugins: readonly Plugin[]): Promise<string[]> {
  const found = await probeOsWalls();
  const problems = plugins.filter(({ isolation }) => isolation === "process").flatMap(({ id, os_walls }) => {
    try {
      demandRequired(os_walls, found);
      return [];
    } catch (error) {
      const { message, hint } = toErrorData(error);
      return [`Plugin "${id}" cannot start. ${message}${hint === undefined ? "" : `\n${hint}`}`];
    }
  });
  const uncontained = await uncontainedPrograms(plugins);
  if (uncontained !== null) problems.push(uncontained);
  return [...new Set(problems)];
}

async function gitVersion(cwd: string): Promise<string | null> {
  try {
    const { exit_code, stdout } = await runGit(["--version"], { cwd, env: {} });
    return exit_code === 0 ? new TextDecoder().decode(stdout).trim().replace(/^git version /, "") : null;
  } catch {
    return null;
  }
}

function reportLines(report: DoctorReport, { paint, columns }: { paint: Paint; columns: number }): string[] {
  const table = (rows: readonly Row[]): string[] => tableLines(rows, { paint, columns, indent: 2, wraps: true });
  const git: Cell = report.git === null
    ? { text: "not found: sessions run, but what they changed is not known", tone: "yellow" }
    : report.git;
  const none: Row = { cells: [{ text: "none is enabled", tone: "dim" }], remedy: "bulkhead setup" };
  const agents = report.agents.length === 0 ? [none] : agentRows(report.agents);
  return [
    paint("bold", "Here"),
    ...table([
      ["bulkhead", report.bulkhead],
      ["runtime", `${report.runtime} on ${report.platform}`],
      ["git", git],
      ["manifest", report.host_manifest ?? { text: "no bulkhead.yaml here or above", tone: "dim" }],
    ]),
    "",
    paint("bold", "Walls"),
    ...table(report.walls.map(wallRow)),
    "",
    paint("bold", "Agents"),
    ...table(agents),
    ...table(report.not_enabled.map(notEnabledRow)),
    ...table(report.not_installed.map(({ id, install }) => [
      { text: id, tone: "dim" },
      { text: "not installed", tone: "dim" },
      { text: install, tone: "dim" },
    ])),
    ...(report.warnings.length === 0 ? [] : ["", paint("bold", "Warnings")]),
    ...table(report.warnings.map((warning) => marked("!", warning, "yellow"))),
    ...(report.problems.length === 0 ? [] : ["", paint("bold", "Problems")]),
    ...table(report.problems.map((problem) => problemRow(problem, report.walls))),
  ];
}

function marked(mark: string, text: string, tone: Tone): Cell[] {
  return [{ text: mark, tone }, { text: asTyped(text), tone }];
}

/** Lines that help stand below the problem, unless they stand below a wall already. */
function problemRow(problem: string, walls: readonly WallReport[]): Row {
  const [what = "", ...lines] = problem.split("\n");
  const shown = new Set(walls.flatMap(({ remedy = "" }) => remedy.split("\n")));
  return { cells: marked("✘", what, "red"), remedy: lines.filter((line) => !shown.has(line)).join("\n") };
}

function notEnabledRow({ id, program, key }: DoctorReport["not_enabled"][number]): Row {
  const found = `found: ${program ?? `$${key}`}`;
  return {
    cells: [id, { text: "not enabled", tone: "dim" }, { text: found, tone: "dim" }],
    remedy: `bulkhead setup --agents ${id}`,
  };
}

function wallRow({ name, state, detail, remedy }: WallReport): Row {
  const looks: { readonly [S in WallReport["state"]]: [string, Tone] } = {
    active: ["✔ active", "green"],
    missing: ["- missing", "dim"],
    refused: ["✘ refused", "yellow"],
  };
  const [text, tone] = looks[state];
  return { cells: [name, { text, tone }, { text: detail, tone: "dim" }], remedy };
}
