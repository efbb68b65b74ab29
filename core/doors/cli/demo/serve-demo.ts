import type { RemoteHost } from "../../client/connect-host.ts";
import type { Daemon } from "../../daemon/daemon.ts";
import type { Invocation } from "../command.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { typedCommand } from "../../../ground/platform/processes/own-command.ts";
import { connectDaemon, ours, remoteSessions } from "../remote-sessions.ts";
import type { DaemonSignals } from "../daemon-signals.ts";
import { createPaint } from "../render/paint.ts";
import { untilToldToEnd } from "../until-told-to-end.ts";
import { type DemoPlace, makeDemoPlace } from "./demo-repository.ts";
import { playDemo } from "./play-demo.ts";

/** The terminal that the demo and the daemon's log share. */
export interface DemoScreen {
  /** The log waits, so that its lines do not run through the demo's. */
  isBusy: boolean;
}

/** All that the demo needs of a daemon and of this machine. */
interface DemoStage {
  remote: RemoteHost;
  sessions: SessionHost;
  /** Null where the demo is skipped, since the state folder has sessions. */
  place: DemoPlace | null;
}

/**
 * Prepares the demo, before the daemon says that it is up. With `--once` it always runs.
 * @throws {BulkheadError} `git_missing`, `io_error`; the daemon has ended then
 */
export async function prepareDemo(daemon: Daemon, { options }: Pick<Invocation, "options">): Promise<DemoStage> {
  try {
    const remote = await connectDaemon(daemon.record);
    const sessions = remoteSessions(remote);
    const runs = options["once"] === true || (await sessions.list({ limit: 1 })).length === 0;
    return { remote, sessions, place: runs ? await makeDemoPlace() : null };
  } catch (error) {
    await daemon.stop();
    throw error;
  }
}

/**
 * Runs the demo through the daemon's API, prints how to use the daemon, and keeps it up. With `--once` the daemon ends with
 * the demo.
 * @returns the exit code: with `--once` 1 when a check failed
 */
export async function serveDemo(
  daemon: Daemon,
  call: Invocation,
  { stage, screen, signals }: { stage: DemoStage; screen: DemoScreen; signals: DaemonSignals },
): Promise<number> {
  const once = call.options["once"] === true;
  const over = new AbortController();
  let failure: unknown;
  let held = true;
  const stopped = untilToldToEnd(daemon, call, { signals, signal: over.signal, interrupts: over });
  try {
    const played = await play(stage, call, over.signal);
    held = played ?? true;
    if (!once && !call.json && !over.signal.aborted) {
      await call.terminal.stdout.write(demoUsage(call, { isAgain: played === null }));
    }
  } catch (error) {
    if (!over.signal.aborted) failure = error;
  } finally {
    screen.isBusy = false;
  }
  if (once || failure !== undefined) over.abort();
  await stopped;
  if (failure !== undefined) throw failure;
  return held ? 0 : once ? 1 : 0;
}

/** Whether all checks of the demo hold; null when it was skipped. */
async function play(
  { remote, sessions, place: made }: DemoStage,
  { terminal, json }: Invocation,
  signal: AbortSignal,
): Promise<boolean | null> {
  await using place = made;
  if (place === null) return null;
  signal.throwIfAborted();
  const pluginFolder = async (id: string) => (await ours(remote.plugins())).find((plugin) => plugin.id === id)?.folder;
  return await playDemo({ sessions, pluginFolder }, { terminal, json, place, signal, hasBanner: true });
}

/** Suggests what to do while the daemon is up, by commands that leave the working directory as it is. */
export function demoUsage({ terminal }: Pick<Invocation, "terminal">, { isAgain }: { isAgain: boolean }): string {
  const paint = createPaint(terminal.colours.stdout);
  const bulkhead = typedCommand(terminal.cwd);
  const rows = [
    ...(isAgain ? [[`${bulkhead} demo`, "the demo again"] as const] : []),
    [`${bulkhead} session list`, "what ran; then session show, and session events -f"],
    [`${bulkhead} agents`, "the agents on this machine, and what each still needs"],
    [`${bulkhead} run replay "Play it again" --workspace worktree`, "a session in the daemon, shown here"],
    [`${bulkhead} init`, "your own bulkhead.yaml, for agents of your own"],
  ] as const;
  const width = Math.max(...rows.map(([command]) => command.length));
  return [
    ` The daemon ${isAgain ? "is up" : "goes on"}. From another terminal:`,
    "",
    ...rows.map(([command, why]) => `   ${command.padEnd(width)}  ${paint("dim", why)}`),
    "",
    " Ctrl-C stops it.",
    "",
  ].join("\n");
}
