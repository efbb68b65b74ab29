import { InvalidArgumentError, Option } from "commander";
import type { AttackCase, AttackReport } from "../../../kit/attack/attack-case.ts";
import { attackManifest, type AttacksReport, runAttacks } from "../../../kit/attack/run-attacks.ts";
import { attackCases } from "../../../../test/hostile/cases/all.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { attackAgent, choice } from "../attack-agent.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { watchInterrupts } from "../interrupts.ts";
import { safeText } from "../render/agent-text.ts";
import { createPaint, type Paint } from "../render/paint.ts";

/** `bulkhead attack [ids]`. */
export const defineAttack: DefineCommand = (command, bind) => {
  command
    .argument("[ids]", "rows of the corpus, with commas, such as A1,B2 or a group such as A; default: all")
    .option("--list", "list the attacks and run none")
    .option("--agent", "try ways out of an agent's walls instead of an adapter's")
    .addOption(
      new Option("--isolation <how>", "what contains each attacker; a thread is given only attacks that it can stop")
        .choices(["process", "thread"]).default("process"),
    )
    .addOption(new Option("--parallel <count>", "attacks under way at once").default(2).argParser(readParallel))
    .addHelpText(...examples(
      ["bulkhead attack", "attack this machine's walls with every case; takes minutes"],
      ["bulkhead attack B --json", "only those that go for memory, a report a line"],
      ["bulkhead attack --agent", "try three hundred ways out of an agent's walls; takes minutes"],
    ))
    .action(bind(attack));
};

async function attack(call: Invocation): Promise<number> {
  const { terminal, json, args, options, createHost } = call;
  if (options["agent"] === true) return await attackAgent(call);
  const paint = createPaint(terminal.colours.stdout);
  const cases = chosen(args[0]);
  const write = (text: string) => terminal.stdout.write(text);
  if (options["list"] === true) {
    for (const one of cases) await write(json ? `${JSON.stringify(entryOf(one))}\n` : listLine(one));
    return 0;
  }
  using interrupts = watchInterrupts(terminal);
  // Use a separate host: an attack that gets through must not find the operator's plugins and state.
  const host = await createHost({ manifest: attackManifest, root: terminal.cwd, stateDir: null, bundledDir: null });
  try {
    const report = await runAttacks(host, cases, {
      isolation: options["isolation"] === "thread" ? "thread" : "process",
      parallel: options["parallel"] as number,
      signal: interrupts.signal,
      onReport: (one) => void write(json ? `${JSON.stringify(one)}\n` : reportLine(one, paint)),
    });
    await write(json ? `${JSON.stringify({ summary: summaryOf(report) })}\n` : summaryText(report, paint));
    return held(report) ? 0 : 1;
  } finally {
    await host.close();
  }
}

function chosen(wanted: string | undefined): readonly AttackCase[] {
  const cases = attackCases.filter(choice(wanted));
  if (cases.length > 0) return cases;
  throw new BulkheadError("not_found", `No attack is called "${wanted}".`, {
    hint: 'See them with "bulkhead attack --list".',
  });
}

function readParallel(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 64) return count;
  throw new InvalidArgumentError("It must be a whole number from 1 to 64.");
}

function entryOf({ id, name, attack }: AttackCase): Record<string, string> {
  return { id, name, attack };
}

function listLine({ id, name, attack }: AttackCase): string {
  return `${id.padEnd(4)} ${name.padEnd(28)} ${attack}\n`;
}

function reportLine(
  { id, name, passed, outcome, problem, first_problem, duration_ms }: AttackReport,
  paint: Paint,
): string {
  const skipped = outcome.startsWith("skipped");
  const mark = skipped ? paint("yellow", "SKIP") : passed ? paint("green", "HELD") : paint("red", "FELL");
  const line = ` ${mark}  ${id.padEnd(4)} ${name.padEnd(28)} ${outcome} ${paint("dim", `${duration_ms} ms`)}\n`;
  if (problem === undefined && first_problem !== undefined) {
    return `${line}       ${
      paint("dim", `held alone; beside others: ${safeText(first_problem).replaceAll("\n", " ")}`)
    }\n`;
  }
  return problem === undefined ? line : `${line}       ${safeText(problem).replaceAll("\n", " ")}\n`;
}

function held({ attacks, canary }: AttacksReport): boolean {
  return attacks.every(({ passed }) => passed) && canary.lost + canary.duplicated + canary.disordered === 0;
}

function summaryOf(report: AttacksReport): Record<string, unknown> {
  const { attacks, canary, rss_growth_bytes } = report;
  const skipped = attacks.filter(({ outcome }) => outcome.startsWith("skipped")).length;
  const fell = attacks.filter(({ passed }) => !passed).length;
  return { held: attacks.length - skipped - fell, fell, skipped, canary, rss_growth_bytes };
}

function summaryText(report: AttacksReport, paint: Paint): string {
  const { held: stood, fell, skipped } = summaryOf(report);
  const { canary, rss_growth_bytes } = report;
  const verdict = held(report) ? paint("green", "✔ The walls held") : paint("red", "✘ A wall fell");
  return `\n ${verdict}: ${stood} held, ${fell} fell, ${skipped} skipped. Beside them a session of ${canary.events} events lost ` +
    `${canary.lost}, doubled ${canary.duplicated}; p99 ${canary.latency_p99_ms} ms. The host grew by ` +
    `${Math.round(rss_growth_bytes / 1024 / 1024)} MB.\n`;
}
