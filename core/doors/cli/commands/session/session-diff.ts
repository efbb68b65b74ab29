import type { Artifact } from "../../../../../plugin-sdk/result.ts";
import { textOrBase64 } from "../../../../ground/platform/files/text-or-base64.ts";
import type { Invocation } from "../../command.ts";
import { findWorkspace } from "../../find-session.ts";
import { openSessions } from "../../open-sessions.ts";
import { safeLine, safeText } from "../../render/agent-text.ts";
import { heldLines } from "../../render/held-lines.ts";
import { createPaint, type Paint } from "../../render/paint.ts";
import { formatCount } from "../../render/quantities.ts";
import { drawingColumns } from "../../show-session.ts";

/** `bulkhead session diff <id>`. */
export async function sessionDiff(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { terminal, json, args, options } = call;
  const { session_id } = await findWorkspace(opened.workspaces, args[0] ?? "");
  const { patch, ...list } = await opened.workspaces.diff(session_id);
  const { artifacts, artifacts_omitted, held } = list;
  const named = heldLines(held, { paint: createPaint(terminal.colours.stderr), columns: drawingColumns(terminal) });
  const isStat = options["stat"] === true;
  if (json) {
    const text = textOrBase64(patch);
    const shown = isStat ? {} : "text" in text ? { patch: text.text } : { patch_base64: text.base64 };
    await terminal.stdout.write(`${JSON.stringify({ session_id, ...list, ...shown })}\n`);
  } else if (isStat) {
    const lines = [...artifactLines(artifacts, artifacts_omitted), ...named];
    await terminal.stdout.write(lines.map((line) => `${line}\n`).join(""));
  } else {
    // A file gets every byte; a terminal must get none that it would obey.
    const paint = createPaint(terminal.colours.stdout);
    await terminal.stdout.write(terminal.stdout.isTty ? paintedPatch(new TextDecoder().decode(patch), paint) : patch);
    // The patch goes to a file or to git, so the warning goes to standard error.
    await terminal.stderr.write(named.map((line) => `${line}\n`).join(""));
  }
  return 0;
}

/** A patch in the colours of git. */
function paintedPatch(patch: string, paint: Paint): string {
  return safeText(patch).split("\n").map((line) =>
    /^(?:diff |index |--- |\+\+\+ |new file |deleted file |similarity |rename |old mode |new mode )/.test(line)
      ? paint("bold", line)
      : line.startsWith("@@")
      ? paint("cyan", line)
      : line.startsWith("+")
      ? paint("green", line)
      : line.startsWith("-")
      ? paint("red", line)
      : line
  ).join("\n");
}

/** Formats changed paths, a line each, and how many the list leaves out. */
export function artifactLines(artifacts: readonly Artifact[], omitted = 0): string[] {
  return [...artifacts.map(artifactLine), ...(omitted > 0 ? [`and ${formatCount(omitted)} more`] : [])];
}

function artifactLine({ change, path, from }: Artifact): string {
  const was = from === undefined ? "" : ` (was ${safeLine(from)})`;
  return `${safeLine(change).padEnd(9)} ${safeLine(path)}${was}`;
}
