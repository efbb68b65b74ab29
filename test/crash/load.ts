import type { RemoteHost, RemoteSession } from "../../core/doors/client/mod.ts";
import type { Lane } from "./lane.ts";

/** What clients were shown before their daemon was killed: of each session its events, as JSON. */
export type Shown = Map<string, string[]>;

/**
 * Starts sessions and reads their events, each session's own stream and all of them merged, until the daemon is gone.
 * Resolves when all sessions have begun to talk; `over` when every stream has broken off.
 */
export async function putUnderLoad(
  remote: RemoteHost,
  lane: Lane,
  { shown, adapters }: { shown: Shown; adapters: readonly string[] },
): Promise<{ sessions: RemoteSession[]; over: Promise<void> }> {
  const sessions: RemoteSession[] = [];
  const reading: Promise<void>[] = [read(remote.events(), shown)];
  for (const adapter of adapters) {
    const request = { workdir: lane.workdir, prompt: "go", retry: "never" as const };
    const session = await remote.start(request, { adapter, artifacts: "none" });
    sessions.push(session);
    reading.push(read(session.events(), shown));
  }
  return { sessions, over: Promise.all(reading).then(() => undefined) };
}

async function read(events: ReturnType<RemoteHost["events"]>, shown: Shown): Promise<void> {
  try {
    for await (const envelope of events) {
      const texts = shown.get(envelope.session_id) ?? [];
      shown.set(envelope.session_id, texts);
      texts.push(JSON.stringify(envelope));
    }
  } catch {
    // The daemon was killed.
  }
}
