import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { exitCodeOf } from "../exit-code.ts";
import { record, recordingOf } from "../record-session.ts";
import { runGranted } from "../run-granted.ts";
import { addSessionFlags, prepareSessions } from "../session-command.ts";
import { showAll } from "../show-all.ts";
import { showSession } from "../show-session.ts";

/** `bulkhead run [adapter] [prompt]`. */
export const defineRun: DefineCommand = (command, bind) => {
  addSessionFlags(command)
    .optionsGroup("Agent:")
    .option("--all", "run it on every available adapter at once, or on those of --agent, each in its own worktree")
    .optionsGroup("Output:")
    .option("--record <file>", "write the session to a file that the replay plugin plays back")
    .option("--force", "overwrite an existing recording")
    .addHelpText(
      "after",
      examples(
        ['bulkhead run my-agent "Fix the failing test"', "live, in this folder"],
        ['bulkhead run "Review this" --require code_review', "by the first agent that can"],
        ["git diff | bulkhead run my-agent -", "prompt from a pipe"],
        ["bulkhead run my-agent -f task.md --timeout 10m --budget-cost 2", "with limits"],
        ['bulkhead run my-agent "Fix it" --record fix.jsonl', "to be played back without the agent"],
        ['bulkhead run --all "Fix it"', "by all agents at once, and compare"],
        ['bulkhead run my-agent "Explain" --json | jq .event', "one envelope a line"],
      ),
    )
    .action(bind(run));
};

async function run(call: Invocation): Promise<number> {
  const all = call.options["all"] === true;
  // Only a host in this process can compare worktrees and write recordings; its API has neither.
  const embedded = call.embedded || all || call.options["record"] !== undefined;
  await using prepared = await prepareSessions({ ...call, embedded });
  const { sessions, host, request, how, show } = prepared;
  if (all && host !== null) return await showAll(prepared, host);
  if (host === null) return exitCodeOf(await runGranted(prepared));
  const recording = await recordingOf(call);
  const session = await sessions.start(request, how);
  const result = await showSession(session, show);
  if (recording !== null) await record(host, { session, recording, call });
  return exitCodeOf(result);
}
