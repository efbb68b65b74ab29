import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { wait } from "../../../../ground/platform/engine/wait.ts";
import type { SessionHost } from "../../../../sessions/host/session-host.ts";
import type { Invocation } from "../../command.ts";
import { findSession } from "../../find-session.ts";
import { watchInterrupts } from "../../interrupts.ts";
import { openSessions } from "../../open-sessions.ts";
import { createPaint, isPlain } from "../../render/paint.ts";
import { drawingColumns } from "../../show-session.ts";
import { WatchScreen } from "../../watch/watch-screen.ts";
import { changeKey, changeLine, watchRow } from "../../watch/watch-rows.ts";
import { type WatchedSession, WatchedSessions } from "../../watch/watched-sessions.ts";

/** How often the host is asked which sessions run. Milliseconds. */
const listEveryMs = 2000;

/** `bulkhead session watch [ids]`. */
export async function sessionWatch(call: Invocation): Promise<number> {
  const { terminal } = call;
  await using opened = await openSessions(call);
  if (opened.host !== null) {
    throw new BulkheadError("unavailable", "Cannot watch sessions: no daemon runs here.", {
      hint: "Start one: bulkhead start",
    });
  }
  const { sessions } = opened;
  const ids = call.args.filter((id) => id !== undefined);
  const named = await Promise.all(ids.map((id) => findSession(sessions, id)));
  using interrupts = watchInterrupts(terminal, { note: null });
  const over = new AbortController();
  const signal = AbortSignal.any([interrupts.signal, over.signal]);
  const onChange = (one: WatchedSession) => {
    show.changed(one);
    if (watched.haveEnded) over.abort();
  };
  const only = named.length === 0 ? null : new Set(named.map(({ session_id }) => session_id));
  const watched = new WatchedSessions(only, { sessions, signal, onChange });
  const leave = () => over.abort();
  const mayMove = terminal.stdout.isTty && terminal.stdin.isTty && !isPlain(terminal) &&
    terminal.env("TERM") !== "dumb";
  const isScreen = !call.json && mayMove;
  const show = isScreen ? new WatchScreen({ terminal, watched, sessions, leave }) : linesOf(call);
  try {
    await watched.compare(named);
    await follow(sessions, { watched, signal, over });
  } finally {
    over.abort();
    await show.close();
  }
  return 0;
}

interface Followed {
  watched: WatchedSessions;
  signal: AbortSignal;
  over: AbortController;
}

/** Follows what happens, until the person leaves or all that were named have ended. */
async function follow(sessions: SessionHost, { watched, signal, over }: Followed): Promise<void> {
  const stream = async () => {
    for await (const envelope of sessions.events({ signal })) watched.see(envelope);
  };
  let failure: unknown;
  const streaming = stream().catch((error: unknown) => {
    if (!signal.aborted) failure = error;
    over.abort();
  });
  while (!signal.aborted && !watched.haveEnded) {
    const listed = await running(sessions);
    // What has ended meanwhile is listed no longer.
    const gone = await Promise.all(watched.unlisted(listed).map((id) => sessions.get(id)));
    await watched.compare([...listed, ...gone]);
    await wait(listEveryMs, signal);
  }
  over.abort();
  await streaming;
  if (failure !== undefined) throw failure;
}

function running(sessions: SessionHost): Promise<SessionSummary[]> {
  return sessions.list({ state: "running", limit: 500 });
}

/** Shows each change as a line, where no screen can be drawn. */
function linesOf({ terminal, json }: Invocation): Pick<WatchScreen, "changed" | "close"> {
  const options = {
    paint: createPaint(terminal.colours.stdout),
    columns: terminal.stdout.columns === 0 ? 0 : drawingColumns(terminal),
  };
  const shown = new Map<string, string>();
  let written = Promise.resolve();
  return {
    changed(one) {
      const key = changeKey(one);
      if (shown.get(one.id) === key) return;
      shown.set(one.id, key);
      const line = json ? JSON.stringify(watchRow(one)) : changeLine(one, options);
      written = written.then(() => terminal.stdout.write(`${line}\n`));
    },
    close: () => written,
  };
}
