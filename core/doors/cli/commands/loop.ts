import { type LoopReport, runLoop } from "../../../sessions/host/run-loop.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { exitCodeOf } from "../exit-code.ts";
import { safeLine } from "../render/agent-text.ts";
import { createPaint } from "../render/paint.ts";
import { formatCost } from "../../../../plugin-sdk/currency.ts";
import { formatCount, plural } from "../render/quantities.ts";
import { askForGrants } from "../run-granted.ts";
import { addSessionFlags, prepareSessions, type SessionCommand } from "../session-command.ts";
import { showSession } from "../show-session.ts";

/** Exit code of a loop that reached its maximum: a limit. */
const maximumReached = 9;

/** `bulkhead loop [adapter] [prompt]`. */
export const defineLoop: DefineCommand = (command, bind) => {
  addSessionFlags(command)
    .addHelpText(...examples(
      ["bulkhead loop my-agent -f task.md --max-iterations 10", "fresh sessions until the agent is done"],
      ['bulkhead loop my-agent "Port the tests" --budget-cost 5', "the budget is for all sessions together"],
    ))
    .action(bind(loop));
};

async function loop(call: Invocation): Promise<number> {
  await using prepared = await prepareSessions(call);
  const { request, how } = prepared;
  const grants = askForGrants(prepared);
  const sessions = runLoop({ runSession: (one, options) => prepared.sessions.start(one, options) }, request, how);
  let exitCode = 0;
  let step = await sessions.next();
  for (let iteration = request.iteration ?? 1; !step.done;) {
    await announce(iteration, prepared);
    const result = await showSession(step.value, grants.show);
    exitCode = exitCodeOf(result);
    const again = await grants.givenAfter(result);
    if (!again) iteration++;
    step = await sessions.next(again);
  }
  await conclude(step.value, prepared);
  if (step.value.complete) return 0;
  return exitCode === 0 ? maximumReached : exitCode;
}

async function announce(iteration: number, { show, request }: SessionCommand): Promise<void> {
  if (show.mode !== "live") return;
  const paint = createPaint(show.terminal.colours.stdout);
  const of = request.max_iterations === undefined ? "" : ` of ${request.max_iterations}`;
  await show.terminal.stdout.write(`\n${paint("bold", `Iteration ${iteration}${of}`)}\n`);
}

async function conclude(report: LoopReport, { show }: SessionCommand): Promise<void> {
  const { mode, terminal } = show;
  if (mode === "json") return void await terminal.stdout.write(`${JSON.stringify({ loop: report })}\n`);
  if (mode === "quiet") return;
  const paint = createPaint(terminal.colours.stdout);
  const facts = [
    plural(report.iterations, "iteration"),
    safeLine(report.stop_reason),
    ...(report.tokens === null ? [] : [`${formatCount(report.tokens)} tokens`]),
    ...(report.iterations === 0 ? [] : [costOf(report)]),
  ];
  const line = report.complete ? paint("green", "✓ the agent says it is done") : paint("yellow", "… not done");
  await terminal.stdout.write(`\n${line} ${paint("dim", `· ${facts.join(" · ")}`)}\n`);
}

/** A sum that leaves sessions out says so. */
function costOf({ cost, currency, cost_unknown }: LoopReport): string {
  const sum = formatCost(cost, currency);
  if (cost === null) return `cost ${sum}`;
  return cost_unknown === 0 ? sum : `at least ${sum}, ${plural(cost_unknown, "session")} of unknown cost`;
}
