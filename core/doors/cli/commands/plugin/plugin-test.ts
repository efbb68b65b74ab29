import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import type { PluginRecording } from "../../../../kit/conformance/record-plugin.ts";
import { resolve } from "../../../../ground/platform/files/paths.ts";
import { type Invocation, tell } from "../../command.ts";
import { safeLine } from "../../render/agent-text.ts";
import { conformanceLines } from "../../render/conformance-lines.ts";
import { createPaint } from "../../render/paint.ts";
import { wrapLines } from "../../render/text-width.ts";
import { whileWaiting } from "../../while-waiting.ts";

/** `bulkhead plugin test [folder]`, and with `--record` a session of the real programs first. */
export async function pluginTest(call: Invocation): Promise<number> {
  const { terminal, args, options } = call;
  const folder = resolve(terminal.cwd, args[0] ?? ".");
  const recorded = await record(call, folder);
  const { testPlugin } = await import("../../../../kit/conformance/test-plugin.ts");
  const named = options["wire"] as string | undefined;
  const wire = named === undefined ? {} : { wire: resolve(terminal.cwd, named) };
  const report = await whileWaiting("Trying every rule …", { terminal, work: testPlugin(folder, wire) });
  const paint = createPaint(terminal.colours.stdout);
  const { columns } = terminal.stdout;
  const lines = conformanceLines(report, { paint, columns, all: options["all"] === true });
  const shown = recorded === null ? report : { ...report, recorded };
  await tell(call, shown, lines.join("\n"));
  return report.passed ? 0 : 1;
}

/** Records the session that `--record` names; null without it. */
async function record({ terminal, options, json }: Invocation, folder: string): Promise<PluginRecording | null> {
  const { record: session, prompt } = options as { record?: string; prompt?: string };
  if (session === undefined) {
    if (prompt === undefined) return null;
    throw new BulkheadError("invalid_config", "--prompt is the prompt of a session to record.", {
      hint: "Name the session: --record <session>",
    });
  }
  const { recordPlugin } = await import("../../../../kit/conformance/record-plugin.ts");
  const work = recordPlugin(folder, { session, prompt });
  const recorded = await whileWaiting(`Recording a session of ${safeLine(folder)} …`, { terminal, work });
  const { outcome, files, notes } = recorded;
  const lines = [
    `Recorded the session ${JSON.stringify(safeLine(session))}, ${outcome}: ${files.map(safeLine).join(", ")}`,
    ...notes.map((note) => `  ${safeLine(note)}`),
    "Read the recordings before you publish them: they hold what the programs printed on this machine.",
  ];
  if (!json) await terminal.stdout.write(`${wrapLines(lines.join("\n"), terminal.stdout.columns)}\n`);
  return recorded;
}
