import { Option } from "commander";
import { defaultLimits } from "../../config/limits.ts";
import type { Session } from "../../host/host.ts";
import { createAskGrant } from "../ask-grant.ts";
import { chooseAdapter } from "../choose-adapter.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { exitCodeOf } from "../exit-code.ts";
import { watchInterrupts } from "../interrupts.ts";
import { openHost } from "../open-host.ts";
import { readPrompt } from "../prompt.ts";
import { Questions } from "../questions.ts";
import { requestFlags } from "../request-flags.ts";
import { buildRequest } from "../session-request.ts";
import { showSession } from "../show-session.ts";

/** `bulkhead run [adapter] [prompt]`. */
export const defineRun: DefineCommand = (command, bind) => {
  command
    .usage("[adapter] <prompt> [flags]")
    .argument("[adapter]", "id of an enabled adapter; default: routing.agent, or the only one")
    .argument("[prompt]", 'the prompt; "-" reads standard input');
  for (const flag of requestFlags) {
    const option = new Option(flag.flags, flag.description);
    if (flag.read !== undefined) option.argParser(flag.read);
    if (flag.choices !== undefined) option.choices(flag.choices);
    command.addOption(option);
  }
  command
    .option("-f, --prompt-file <file>", 'read the prompt from a file; "-" is standard input')
    .option("-q, --quiet", "print only the final output")
    .option("-v, --verbose", "also show what was allowed, and the end of every process")
    .addHelpText(
      "after",
      examples(
        ['bulkhead run my-agent "Fix the failing test"', "live, in this folder"],
        ["git diff | bulkhead run my-agent -", "prompt from a pipe"],
        ["bulkhead run my-agent -f task.md --timeout 10m --budget-cost 2", "with limits"],
        ['bulkhead run my-agent "Explain" --json | jq .event', "one envelope a line"],
      ),
    )
    .action(bind(run));
};

async function run(call: Invocation): Promise<number> {
  const { terminal, options, json } = call;
  const questions = new Questions(terminal);
  const attended = Questions.possible(terminal) && !json;
  using interrupts = watchInterrupts(terminal);
  await using opened = await openHost(
    call,
    attended
      ? { askGrant: (manifestFile) => createAskGrant(questions, { manifestFile, signal: interrupts.signal }) }
      : {},
  );
  const { host, manifest } = opened;
  const plugins = host.registry.list();
  const { adapter: given, prompt } = await readPrompt({
    args: call.args,
    prompt: text(options["prompt"]),
    promptFile: text(options["promptFile"]),
    isAdapter: (word) => plugins.some((plugin) => plugin.id === word),
    maxBytes: manifest?.limits.prompt_bytes ?? defaultLimits.prompt_bytes,
  }, terminal);
  const adapter = chooseAdapter({ given, plugins, routing: manifest?.routing });
  const config = host.registry.get(adapter)?.manifest.config;
  const request = buildRequest({ options, prompt, cwd: terminal.cwd, config });
  const session: Session = await host.runSession(request, { adapter, signal: interrupts.signal });
  const result = await showSession(session, {
    terminal,
    adapter,
    ...(attended ? { questions } : {}),
    mode: json ? "json" : options["quiet"] === true ? "quiet" : "live",
    verbose: options["verbose"] === true,
  });
  return exitCodeOf(result);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
