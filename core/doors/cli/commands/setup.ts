import type { SessionResult } from "../../../../plugin-sdk/result.ts";
import type { Terminal } from "../../../ground/platform/terminal/terminal.ts";
import { ownCommand, typedCommand } from "../../../ground/platform/processes/own-command.ts";
import { dirname } from "../../../ground/platform/files/paths.ts";
import { createRegistry } from "../../../packages/registry/registry.ts";
import { inspectDaemon } from "../../daemon/inspect-daemon.ts";
import { uncontainedPrograms } from "../../daemon/uncontained.ts";
import { Option } from "commander";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { createAskGrant } from "../ask-grant.ts";
import { daemonPlace } from "../daemon-place.ts";
import { exitCodeOf } from "../exit-code.ts";
import { loadManifest, openHost } from "../open-host.ts";
import { otherProject } from "../project-daemon.ts";
import { Questions } from "../questions.ts";
import { reloading, reloadNote } from "../reloading.ts";
import { safeLine } from "../render/agent-text.ts";
import { asTyped } from "../render/as-typed.ts";
import { createPaint } from "../render/paint.ts";
import { tableLines } from "../render/table.ts";
import { fitHelp, textWidth, wrapLines } from "../render/text-width.ts";
import {
  askAgents,
  type AskedAgent,
  findAgents,
  type FoundAgent,
  type MissingAgent,
  missingAgents,
} from "../setup/find-agents.ts";
import { errorTable } from "../../../ground/errors/error-table.ts";
import { chooseAgents, isReady } from "../setup/choose-agents.ts";
import { enableAgents } from "../setup/enable-agents.ts";
import { pointedHosts } from "../setup/pointed-hosts.ts";
import {
  choosePlace,
  forWords,
  knownPlace,
  makeManifest,
  otherManifest,
  type SetupPlace,
} from "../setup/setup-place.ts";
import { type SetupSheet, setupSheet, sheetLines } from "../setup/setup-sheet.ts";
import { StatusScreen } from "../screen/status-screen.ts";
import { drawingColumns, showSession } from "../show-session.ts";
import { whileWaiting } from "../while-waiting.ts";
import { start } from "./start.ts";

interface SetupReport extends Awaited<ReturnType<typeof enableAgents>> {
  /** The host manifest; null when nothing was written. */
  file: string | null;
  /** Projects that it is for; null when nothing was written. */
  for: SetupPlace["for"] | null;
  found: { id: string; availability: string; reason: string; agent_version: string | null; program: string | null }[];
  /** Agents whose program is not on this machine. */
  missing: MissingAgent[];
  enabled: string[];
  /** The first session; null when there was none. */
  hello: Pick<SessionResult, "session_id" | "outcome" | "output"> | null;
  /** Sentences on what will keep the chosen agents from starting. */
  warnings: string[];
}

/** `bulkhead setup`. */
export const defineSetup: DefineCommand = (command, bind) => {
  command
    .option(
      "--agents <ids>",
      "enable these, with commas; new ones are tried in this order, after those that the file names",
      (ids: string) => ids.split(",").filter(Boolean),
    )
    .addOption(
      new Option(
        "--for <projects>",
        "write bulkhead.yaml for all of your projects, or for this one; without a terminal: this",
      )
        .choices(Object.keys(forWords)),
    )
    .option("-y, --yes", "grant what they ask for without a question; without --agents, all that could run now")
    .option("--no-hello", "run no first session")
    .addHelpText(...examples(
      ["bulkhead setup", "find the agents of this machine, choose, and run a first session"],
      ["bulkhead setup --for all", "one setup, and one daemon, for all of your projects"],
      ["bulkhead setup --yes --agents my-agent,other-agent --json", "unattended, for this project"],
    ))
    .addHelpText("after", reloadNote)
    .action(bind(setup));
};

/** Does the work of `bulkhead setup` and returns the exit code. */
export async function setup(call: Invocation): Promise<number> {
  const { terminal, options, json } = call;
  const known = await knownPlace(call);
  const { agents, missing } = await look(call, known);
  const report = reportOf(agents, missing);
  if (agents.length === 0) return await conclude(call, report, nothingFound(missing, terminal));
  const yes = options["yes"] === true;
  const wanted = options["agents"] as string[] | undefined;
  if (!json && !yes && wanted === undefined) await terminal.stdout.write(missingText(missing, terminal));
  const chosen = await chooseAgents(agents, { terminal, wanted, yes, missing });
  if (chosen.length === 0) return await conclude(call, report, "Nothing was chosen, and nothing was written.\n");
  const place = known ?? await choosePlace(call);
  if (place === null) return await conclude(call, report, nothingWritten);
  const sheets = await Promise.all(
    chosen.map(async (agent) =>
      setupSheet({ ...agent, pointed: await pointedHosts(agent.plugin) }, place.exists ? place.file : undefined)
    ),
  );
  if (!json) await showSheets(call, { sheets, chosen });
  report.warnings = await warn(call, { chosen, place });
  if (!yes && !(await agreed(call, place))) return await conclude(call, report, nothingWritten);
  await makeManifest(place);
  // A daemon that runs with this file reloads it.
  return await reloading((there) => enable(there, { report, place, sheets, chosen }))({
    ...call,
    configFile: place.file,
  });
}

const nothingWritten = "Nothing was written.\n";

interface Agreed {
  report: SetupReport;
  place: SetupPlace;
  sheets: readonly SetupSheet[];
  chosen: readonly AskedAgent[];
}

/** Writes what was agreed to, and shows that it works. */
async function enable(call: Invocation, { report, place, sheets, chosen }: Agreed): Promise<number> {
  const { terminal, options, json } = call;
  const { file } = place;
  Object.assign(report, await enableAgents(call, { file, sheets }), {
    file,
    for: place.for,
    enabled: sheets.map(({ id }) => id),
  });
  if (!json) await terminal.stdout.write(wrapLines(writtenText(report, place), terminal.stdout.columns));
  const first = chosen.find(isReady);
  const result = options["hello"] === false || first === undefined ? null : await hello(call, first.plugin.id);
  report.hello = result && { session_id: result.session_id, outcome: result.outcome, output: result.output };
  await conclude(call, report, nextSteps(report, { ready: first, columns: terminal.stdout.columns }));
  const isStuck = chosen.every(({ report: { availability } }) => availability === "unrunnable");
  const code = result !== null ? exitCodeOf(result) : isStuck ? errorTable.unavailable.exit_code : 0;
  if (code === 0 && !json && options["yes"] !== true && Questions.possible(terminal)) await offerDaemon(call);
  return code;
}

function writtenText({ order }: SetupReport, { file, for: projects }: SetupPlace): string {
  const tried = order.length < 2 ? "" : `Sessions that name no agent try ${order.join(", then ")}.\n`;
  return `\nWrote ${safeLine(file)}, ${forWords[projects]}.\n${tried}`;
}

/** Says what will keep the chosen agents from starting, or this file from counting. */
async function warn(
  call: Invocation,
  { chosen, place }: Pick<Agreed, "chosen" | "place">,
): Promise<SetupReport["warnings"]> {
  const { terminal, json } = call;
  const uncontained = await uncontainedPrograms(chosen.map(({ plugin }) => plugin));
  const warnings = [uncontained, await otherManifest(call, place)].filter((text) => text !== null);
  const paint = createPaint(terminal.colours.stdout);
  for (const text of json ? [] : warnings) {
    const wrapped = wrapLines(text, Math.max(0, terminal.stdout.columns - 2));
    await terminal.stdout.write(`\n${paint("yellow", `! ${wrapped.replaceAll("\n", "\n  ")}`)}\n`);
  }
  return warnings;
}

async function look(
  call: Invocation,
  known: SetupPlace | null,
): Promise<{ agents: AskedAgent[]; missing: MissingAgent[] }> {
  const { terminal } = call;
  const { found, missing } = await installedAgents(call, known);
  if (found.length === 0) return { agents: [], missing };
  const names = found.map(({ plugin }) => plugin.id).join(", ");
  const agents = await whileWaiting(`Asking ${names} …`, { terminal, work: askAgents(call, found) });
  return { agents, missing };
}

async function installedAgents(
  call: Invocation,
  known: SetupPlace | null,
): Promise<{ found: FoundAgent[]; missing: MissingAgent[] }> {
  const { cwd } = call.terminal;
  const manifest = known?.exists ? await loadManifest({ ...call, configFile: known.file }) : undefined;
  const root = manifest?.file === undefined ? cwd : dirname(manifest.file);
  const plugins = (await createRegistry({ manifest, root })).list();
  const [found, missing] = await Promise.all([findAgents(plugins, { cwd }), missingAgents(plugins, { cwd })]);
  return { found, missing };
}

/** Says how to get the agents that are not on this machine. */
function missingText(missing: readonly MissingAgent[], terminal: Terminal): string {
  if (missing.length === 0) return "";
  const paint = createPaint(terminal.colours.stdout);
  const rows = missing.map(({ id, install }) => [id, { text: install, tone: "dim" } as const]);
  const { columns } = terminal.stdout;
  const wide = tableLines(rows, { paint: createPaint(false), columns: Infinity, indent: 2 });
  // People copy the command that gets one, so it stays whole: below its name where a line is too short for both.
  const isNarrow = columns > 0 && wide.some((line) => textWidth(line) > columns);
  const lines = isNarrow
    ? missing.flatMap(({ id, install }) => [`  ${safeLine(id)}`, `    ${paint("dim", safeLine(install))}`])
    : tableLines(rows, { paint, columns: Infinity, indent: 2 });
  return `${paint("dim", "Not on this machine:")}\n${lines.join("\n")}\n\n`;
}

async function showSheets(
  { terminal }: Invocation,
  { sheets, chosen }: { sheets: readonly SetupSheet[]; chosen: readonly AskedAgent[] },
): Promise<void> {
  const paint = createPaint(terminal.colours.stdout);
  const columns = drawingColumns(terminal);
  const lines = sheets.flatMap((sheet, index) => ["", ...sheetLines(sheet, chosen[index]!, { paint, columns })]);
  await terminal.stdout.write(`${lines.join("\n")}\n`);
}

async function agreed({ terminal }: Invocation, place: SetupPlace): Promise<boolean> {
  const question = `Enable them and grant all of this, ${forWords[place.for]}?`;
  return await new Questions(terminal).choose(question, {
    choices: [{ word: "yes", value: true }, { word: "no", value: false }],
  }) === true;
}

/** Runs a first session that may use no tool; a person at the terminal is asked for what it still lacks. */
async function hello(call: Invocation, adapter: string): Promise<SessionResult> {
  const { json } = call;
  const screen = json ? undefined : StatusScreen.of(call.terminal);
  const { terminal } = screen ?? call;
  const questions = json || call.options["yes"] === true || !Questions.possible(terminal)
    ? undefined
    : new Questions(terminal);
  const askGrant = questions && ((manifestFile: string | undefined) => createAskGrant(questions, { manifestFile }));
  await using opened = await openHost(call, { warm: true, askGrant });
  const session = await opened.host.runSession(
    {
      workdir: terminal.cwd,
      prompt: "Say hello in one short sentence.",
      approval: "deny",
      answer_timeout_ms: 0,
      best_effort: true,
    },
    { adapter, artifacts: "none" },
  );
  if (json) return await session.result();
  try {
    return await showSession(session, {
      terminal,
      adapter,
      status: screen && { screen },
      mode: "live",
      verbose: false,
      questions,
    });
  } finally {
    await questions?.close();
  }
}

/** Offers to start a daemon where none runs; one of another project cannot serve this one. */
async function offerDaemon(call: Invocation): Promise<void> {
  const daemon = await daemonPlace(call);
  const { state, record } = await inspectDaemon(daemon.stateDir);
  const other = record && otherProject(record, daemon);
  if (state === "running") {
    if (other === null) return;
    const file = safeLine(other);
    return await call.terminal.stderr.write(
      `\nThe daemon that runs serves another project:\n  ${file}\n${asTyped("More: bulkhead help daemon\n")}`,
    );
  }
  const answer = await new Questions(call.terminal).choose("Start the daemon now? Then sessions outlive a terminal.", {
    choices: [{ word: "yes", value: true }, { word: "no", value: false }],
  });
  if (answer === true) await start(call);
}

async function conclude({ terminal, json }: Invocation, report: SetupReport, text: string): Promise<number> {
  await terminal.stdout.write(json ? `${JSON.stringify(report)}\n` : text);
  return 0;
}

/** The report of a setup that has changed nothing yet. */
function reportOf(agents: readonly AskedAgent[], missing: MissingAgent[]): SetupReport {
  const found = agents.map(foundRow);
  return { file: null, for: null, found, missing, enabled: [], pinned: [], order: [], hello: null, warnings: [] };
}

function foundRow({ plugin, program, report }: AskedAgent): SetupReport["found"][number] {
  const { availability, reason, agent_version = null } = report;
  return { id: plugin.id, availability, reason, agent_version, program };
}

function nextSteps(
  { file }: SetupReport,
  { ready, columns }: { ready: AskedAgent | undefined; columns: number },
): string {
  const next = `
Next:
  ${
    ready === undefined
      ? "bulkhead agents                     why none of them can run yet, and what to do"
      : `bulkhead run ${ready.plugin.id} "Explain this project"`
  }
  bulkhead start                      a daemon: sessions outlive the terminal
  source <(bulkhead completion bash)  or zsh, fish`;
  return `${columns === 0 ? asTyped(next) : fitHelp(asTyped(next), columns)}
For editors and other MCP clients:
  ${safeLine(JSON.stringify({ mcpServers: { bulkhead: mcpServer(file ?? "") } }))}
`;
}

/** How a program starts the MCP server from any folder: an editor's PATH need not have what this was started with. */
function mcpServer(manifestFile: string): { command: string; args: string[] } {
  const [command = "", ...args] = typedCommand() === "bulkhead" ? ["bulkhead"] : ownCommand();
  return { command, args: [...args, "mcp", "--config", manifestFile] };
}

function nothingFound(missing: readonly MissingAgent[], terminal: Terminal): string {
  const found = "No agent was found: no program of a bundled plugin is on the PATH, and no key in the environment.";
  const { columns } = terminal.stdout;
  const next = '"bulkhead plugin list" shows what Bulkhead can drive, "bulkhead demo" what it does without any agent.';
  return `${wrapLines(`${found}\n${asTyped(next)}`, columns)}\n${
    missing.length === 0 ? "" : `\n${missingText(missing, terminal).trimEnd()}\n`
  }`;
}
