import type { Artifact } from "../../../plugin-sdk/result.ts";
import { textOrBase64 } from "../../runtime/text-or-base64.ts";
import type { Invocation } from "../command.ts";
import { findWorkspace } from "../find-workspace.ts";
import { openSessions } from "../open-sessions.ts";
import { safeLine, safeText } from "../render/agent-text.ts";

/** `bulkhead session diff <id>`. */
export async function sessionDiff(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { terminal, json, args, options } = call;
  const { session_id } = await findWorkspace(opened.workspaces, args[0] ?? "");
  const { patch, artifacts } = await opened.workspaces.diff(session_id);
  const isStat = options["stat"] === true;
  if (json) {
    const held = textOrBase64(patch);
    const shown = isStat ? {} : "text" in held ? { patch: held.text } : { patch_base64: held.base64 };
    await terminal.stdout.write(`${JSON.stringify({ session_id, artifacts, ...shown })}\n`);
  } else if (isStat) {
    await terminal.stdout.write(artifacts.map((artifact) => `${artifactLine(artifact)}\n`).join(""));
  } else {
    // A file gets every byte; a terminal nothing that it would obey.
    await terminal.stdout.write(terminal.stdout.isTty ? safeText(new TextDecoder().decode(patch)) : patch);
  }
  return 0;
}

/** A changed path in one line. */
export function artifactLine({ change, path, from }: Artifact): string {
  return `${safeLine(change).padEnd(9)} ${from === undefined ? "" : `${safeLine(from)} → `}${safeLine(path)}`;
}
