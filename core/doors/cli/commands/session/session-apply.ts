import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import { type Invocation, tell } from "../../command.ts";
import { findWorkspace } from "../../find-session.ts";
import { openSessions } from "../../open-sessions.ts";
import { safeLine } from "../../render/agent-text.ts";
import { artifactLines } from "./session-diff.ts";
import { settleHeld } from "./session-held.ts";

/** `bulkhead session apply <id>`. */
export async function sessionApply(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { terminal, json, args, options } = call;
  const allowLinks = options["allowLinks"] === true;
  const withHeld = Array.isArray(options["withHeld"]) ? options["withHeld"].map(String) : [];
  const { session_id, repository, folder } = await findWorkspace(opened.workspaces, args[0] ?? "");
  const applied = await opened.workspaces.apply(session_id, { allowLinks, withHeld }).catch(async (error: unknown) => {
    if (!json) await terminal.stderr.write(conflictLines(error));
    throw withWorktree(error, folder);
  });
  const { artifacts, artifacts_omitted, held, kept_commit } = applied;
  const lines = [
    ...artifactLines(artifacts, artifacts_omitted),
    artifacts.length === 0 ? "Nothing was changed." : `Applied to ${safeLine(repository)}.`,
    ...(kept_commit === null ? [] : [`Its commits are kept: git log refs/bulkhead/${session_id}`]),
  ];
  await tell(call, applied, lines.join("\n"));
  if (held.length > 0 && !json) await settleHeld(call, { workspaces: opened.workspaces, session_id, held });
  return 0;
}

/** Says in the hint of a conflict where the worktree is. */
function withWorktree(error: unknown, folder: string): unknown {
  if (!(error instanceof BulkheadError) || !Array.isArray(error.details?.["paths"])) return error;
  return new BulkheadError(error.code, error.message, {
    hint: `${error.hint ?? ""} The worktree: ${folder}`.trim(),
    details: { ...error.details, worktree: folder },
    cause: error,
  });
}

/** Lists the paths with conflicts; the error itself is reported after them. */
function conflictLines(error: unknown): string {
  const paths = error instanceof BulkheadError && error.code === "conflict" ? error.details?.["paths"] : [];
  return Array.isArray(paths) ? paths.map((path) => `conflict  ${safeLine(String(path))}\n`).join("") : "";
}
