import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { exitCodeOf } from "../exit-code.ts";
import { runGranted } from "../run-granted.ts";
import { addSessionFlags, prepareSessions } from "../session-command.ts";
import { showAll } from "../show-all.ts";
import { showSession } from "../show-session.ts";
import type { Host } from "../../../sessions/host/host.ts";
import { existsError } from "../../../sessions/host/state/record.ts";
import { quoteWord } from "../../../ground/config/grant-command.ts";
import { lstat } from "../../../ground/platform/files/files.ts";
import { resolve, shownPath } from "../../../ground/platform/files/paths.ts";
import { safeLine } from "../render/agent-text.ts";
import { formatBytes, plural } from "../render/quantities.ts";
import { asTyped } from "../render/as-typed.ts";

/** `bulkhead run [adapter] [prompt]`. */
export const defineRun: DefineCommand = (command, bind) => {
  addSessionFlags(command)
    .optionsGroup("Agent:")
    .option("--all", "run it on every available adapter at once, or on those that are named, each in its own worktree")
    .optionsGroup("Output:")
    .option("--record <file>", "write the session to a file that the replay plugin plays back")
    .option("--force", "overwrite an existing recording")
    .addHelpText(...examples(
      ['bulkhead run my-agent "Fix the failing test"', "live, in this folder"],
      ['bulkhead run "Review this" --require code_review', "by the first agent that can"],
      ["git diff | bulkhead run my-agent", "prompt from a pipe"],
      ["bulkhead run my-agent -f task.md --timeout 10m --budget-cost 2", "with limits"],
      ['bulkhead run my-agent "Build this page" --image sketch.png', "with an image"],
      ['bulkhead run my-agent "Fix it" --record fix.jsonl', "to be played back without the agent"],
      ['bulkhead run --all "Fix it"', "by all agents at once, and compare"],
      ['bulkhead run my-agent "Explain" --json | jq .event', "one envelope a line"],
    ))
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

interface RecordingTarget {
  file: string;
  force: boolean;
}

/**
 * Resolves the target of `--record` before the session costs anything; null without the flag.
 * @throws {BulkheadError} `already_exists`
 */
async function recordingOf({ options, terminal }: Invocation): Promise<RecordingTarget | null> {
  const { record: named, force } = options;
  if (typeof named !== "string") return null;
  const file = resolve(terminal.cwd, named);
  const isThere = await lstat(file).then(() => true, () => false);
  if (isThere && force !== true) throw existsError(file);
  return { file, force: force === true };
}

/** Records a session that has ended, and prints what the recording leaves out. */
async function record(
  host: Host,
  { session, recording, call }: { session: { id: string }; recording: RecordingTarget; call: Invocation },
): Promise<void> {
  const { file, force } = recording;
  const { events, files, bytes, left_out } = await host.record(session.id, file, { force });
  const isOn = host.registry.get("replay")?.enabled === true;
  const lines = [
    `Recorded: ${safeLine(file)} (${plural(events, "event")}, ${plural(files, "file")}, ${formatBytes(bytes)}).`,
    ...left_out.map(({ path, reason }) => `  not in it: ${safeLine(path)}, ${reason}`),
    ...(isOn ? [] : [asTyped("To play it: bulkhead plugin enable replay")]),
    asTyped(`${isOn ? "Play it" : "Then"}: bulkhead run replay "again" --param recording=`) +
    quoteWord(shownPath(call.terminal.cwd, file)),
  ];
  // Standard output holds events or the agent's text, and nothing else.
  await call.terminal.stderr.write(`${lines.join("\n")}\n`);
}
