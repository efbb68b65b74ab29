import type { Host } from "../../sessions/host/host.ts";
import { existsError } from "../../sessions/host/record.ts";
import { quoteWord } from "../../ground/config/grant-command.ts";
import { lstat } from "../../ground/runtime/files.ts";
import { resolve, shownPath } from "../../ground/runtime/paths.ts";
import type { Invocation } from "./command.ts";
import { safeLine } from "./render/agent-text.ts";
import { formatBytes, plural } from "./render/quantities.ts";
import { asTyped } from "./render/as-typed.ts";

/** Target of a recording. */
interface RecordingTarget {
  file: string;
  force: boolean;
}

/**
 * Resolves the target of `--record` before the session costs anything; null without the flag.
 * @throws {BulkheadError} `already_exists`
 */
export async function recordingOf({ options, terminal }: Invocation): Promise<RecordingTarget | null> {
  const { record: named, force } = options;
  if (typeof named !== "string") return null;
  const file = resolve(terminal.cwd, named);
  const isThere = await lstat(file).then(() => true, () => false);
  if (isThere && force !== true) throw existsError(file);
  return { file, force: force === true };
}

/** Records a session that has ended, and prints what the recording leaves out. */
export async function record(
  host: Host,
  { session, recording, call }: { session: { id: string }; recording: RecordingTarget; call: Invocation },
): Promise<void> {
  const { file, force } = recording;
  const { events, files, bytes, left_out } = await host.record(session.id, file, { force });
  const lines = [
    `Recorded: ${safeLine(file)} (${plural(events, "event")}, ${plural(files, "file")}, ${formatBytes(bytes)}).`,
    ...left_out.map(({ path, reason }) => `  not in it: ${safeLine(path)}, ${reason}`),
    asTyped('Play it: bulkhead run replay "again" --param recording=') + quoteWord(shownPath(call.terminal.cwd, file)),
  ];
  // Standard output holds events or the agent's text, and nothing else.
  await call.terminal.stderr.write(`${lines.join("\n")}\n`);
}
