import type { SessionResult } from "../../../../plugin-sdk/result.ts";
import { readEarlier, repeatedRequest } from "../../../sessions/host/earlier-session.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { exitCodeOf } from "../exit-code.ts";
import { unsearched } from "../find-adapters.ts";
import { findSession } from "../find-session.ts";
import { safeLine } from "../render/agent-text.ts";
import { readPair } from "../request-flags.ts";
import { modeOf, prepareSessions } from "../session-command.ts";
import { showSession } from "../show-session.ts";

/** `bulkhead replay <session>`: plays a recorded session again, offline. */
export const defineReplay: DefineCommand = (command, bind) => {
  command
    .usage("<session> [flags]")
    .argument("<session>", "id of a session that was recorded, or its beginning")
    .option("-e, --env <name=value>", "value that the session had and that was not kept; repeat", readPair)
    .option("-q, --quiet", "print only the final output")
    .option("-v, --verbose", "also show times, what was allowed, and the end of every process")
    .option("--times", "show when each event came")
    .addHelpText(...examples(
      ['bulkhead run my-agent --record-wire --workspace worktree "Fix it"', "a session whose calls are kept"],
      ["bulkhead replay 3f2a", "the same agent on the same files, without its model"],
      ["bulkhead replay 3f2a --json | tail -n 1 | jq .event.result.replay", "calls served, drift, files"],
    ))
    .action(bind(replay));
};

async function replay(call: Invocation): Promise<number> {
  let before: Pick<SessionResult, "outcome"> | null = null;
  await using prepared = await prepareSessions(call, async ({ sessions }) => {
    const { session_id, outcome } = await findSession(sessions, call.args[0] ?? "");
    before = outcome === null ? null : { outcome };
    const earlier = await readEarlier(sessions, session_id);
    const { keep_ms: _wait, record: _kept, ...same } = repeatedRequest(earlier);
    const env = Object.fromEntries(Object.entries(call.options["env"] ?? {}));
    if (modeOf(call) === "live") {
      await tellLacking(
        call,
        Object.keys(earlier.requested.env ?? {}).filter((one) => !(one in env)),
      );
    }
    // No client answers: what the agent is told then comes from its policies.
    const request = { ...same, env, answer_timeout_ms: 0, replay_of: session_id };
    return { request, ...unsearched(earlier.adapter) };
  });
  const result = await showSession(await prepared.sessions.start(prepared.request, prepared.how), prepared.show);
  return exitCodeOfReplay(result, before);
}

/** Values of variables may be credentials, and are never kept; those of a key are not needed. */
async function tellLacking({ terminal }: Invocation, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const named = safeLine(names.join(", "));
  await terminal.stderr.write(
    `The session had values for ${named}, which were not kept. Where one counts, give it with -e.\n`,
  );
}

/** 0 for a run that went as the one before it, whether that did its work or not. */
function exitCodeOfReplay(result: SessionResult, before: Pick<SessionResult, "outcome"> | null): number {
  const { replay: played, outcome } = result;
  if (played === undefined || played.drift !== undefined) return exitCodeOf(result);
  if (played.left > 0 || played.tree === "different") return exitCodeOf({ stop_reason: "fatal" });
  return outcome === before?.outcome ? 0 : exitCodeOf(result);
}
