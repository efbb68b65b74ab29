import type { RewindReport, RewindRequest } from "../../../../../plugin-sdk/conversation.ts";
import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import { shortId } from "../../../../ground/log/short-id.ts";
import { type Invocation, tell } from "../../command.ts";
import { findSession } from "../../find-session.ts";
import { openSessions } from "../../open-sessions.ts";
import { safeLine } from "../../render/agent-text.ts";
import { plural } from "../../render/quantities.ts";

/** `bulkhead session rewind <id>`: takes files, the talk or both back to an earlier turn. */
export async function sessionRewind(call: Invocation): Promise<number> {
  const { to, undo, files, talk, dryRun, keepTheirs, unclaimed } = call.options;
  if ((typeof to === "number") === (undo === true)) {
    throw new BulkheadError("invalid_config", "Give the turn to go back to, or --undo.", {
      hint: "--to 2 takes back what came after turn 2, --to 0 everything.",
    });
  }
  await using opened = await openSessions(call);
  const { session_id } = await findSession(opened.sessions, call.args[0] ?? "");
  const request: RewindRequest = {
    ...(typeof to === "number" ? { to } : { undo: true }),
    // Named alone, the talk goes back without the files.
    ...(talk === true ? { talk: true, files: files === true } : {}),
    dry_run: dryRun === true,
    keep_theirs: keepTheirs === true,
    unclaimed: unclaimed === true,
  };
  const report = await opened.sessions.conversations.rewind(session_id, request);
  return await tell(call, report, rewindText(report, session_id));
}

/** Tells a person what a rewind did, or would do. */
export function rewindText(report: RewindReport, sessionId: string): string {
  const { talk, to, dry_run: isDry } = report;
  const lines = talk !== undefined && report.before === "" ? [] : linesOf(report, sessionId);
  if (talk === undefined) return lines.join("\n");
  const forgotten = talk.forgets.length === 0
    ? "no turn"
    : `${talk.forgets.length === 1 ? "turn" : "turns"} ${talk.forgets.join(", ")}`;
  const from = to === 0 ? "from nothing" : `from turn ${to}`;
  const what = isDry ? `would go on ${from}, and forget ${forgotten}` : `goes on ${from}, and forgets ${forgotten}`;
  return [...lines, `The agent ${what}.`].join("\n");
}

function linesOf(report: RewindReport, sessionId: string): string[] {
  const { files, conflicts, unclaimed, left, objects_gone, dry_run: isDry, undo, to, under_way, head_moved } = report;
  const marks = { restored: "~", removed: "-", brought_back: "+" };
  const goal = undo ? "the last rewind is taken back" : to === 0 ? "as before all turns" : `as after turn ${to}`;
  const listed = (paths: readonly string[], why: string) => paths.map((path) => `  = ${safeLine(path)}  ${why}`);
  return [
    ...files.map(({ path, change }) => `  ${marks[change]} ${safeLine(path)}`),
    ...listed(conflicts, "stays: others changed it as well"),
    ...listed(unclaimed, "stays: nothing shows that the agent changed it; --unclaimed takes it back"),
    ...listed(left, "stays: it is in a repository of its own, or was ignored before"),
    ...listed(objects_gone, "cannot be taken back: its content is no longer kept"),
    ...(head_moved ? ["Commits of these turns stay where they are."] : []),
    ...(under_way === null ? [] : [`A ${under_way} of git is under way in the folder.`]),
    `${isDry ? "Would change" : "Changed"} ${plural(files.length, "file")}: ${goal}.`,
    ...(isDry || files.length === 0 ? [] : [`To take that back: bulkhead session rewind ${shortId(sessionId)} --undo`]),
  ];
}
