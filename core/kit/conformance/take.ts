import { writeFiles } from "../../ground/platform/files/write-new-file.ts";
import type { NewMessage } from "../../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { SessionHandle } from "../../sessions/host/session-host.ts";
import { readdir, readFile, rm } from "../../ground/platform/files/files.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import type { ScriptedSession } from "./script.ts";
import type { Take, ToolMode } from "./seen.ts";
import { kitMark } from "./watched-source.ts";

interface TakeOrder {
  adapter: string;
  /** A new folder for each session. */
  workdir: string;
  session: ScriptedSession;
  mode: ToolMode;
  request: Partial<SessionRequest>;
  /** Its first event, or a moment of silence, is the time for those that interrupt the turn. */
  messages?: ScriptedSession["messages"];
  /** Stops it after its first event, or when it has said nothing for a moment. */
  interrupt?: boolean;
}

/** How long an adapter may be silent before it is interrupted all the same, in milliseconds. */
const silenceMs = 700;

/** How long a session with messages waits for more, in milliseconds: they all come before. */
const keptMs = 100;

/** Runs one session and keeps all of it. */
export async function runTake(host: Host, order: TakeOrder): Promise<Take> {
  const { adapter, workdir, session: scripted, mode, request, messages = [] } = order;
  await rm(workdir, { recursive: true, force: true });
  await writeFiles(workdir, scripted.files ?? {});
  const before = await filesOf(workdir);
  const take = emptyTake(scripted.name, mode);
  try {
    const session = await host.runSession(
      {
        workdir,
        prompt: scripted.prompt,
        ...omitUndefined({ params: scripted.params, output_schema: scripted.output_schema }),
        retry: "never",
        answer_timeout_ms: 0,
        approval: "all",
        best_effort: true,
        ...(messages.length > 0 ? { keep_ms: keptMs } : {}),
        ...request,
      },
      { adapter, artifacts: "none" },
    );
    const given = messages.map(({ text, delivery = "queue" }, at) => {
      return { message_id: `message-${at + 1}`, content: [{ type: "text" as const, text }], delivery };
    });
    const say = (message: NewMessage) => host.sessions.conversations.say(session.id, message);
    for (const message of given) if (message.delivery !== "interrupt") await say(message);
    const stop = given.find(({ delivery }) => delivery === "interrupt");
    await follow(
      session,
      take,
      stop === undefined ? order.interrupt ? () => session.interrupt() : null : () => say(stop),
    );
  } catch (error) {
    take.refused = toErrorData(error);
  }
  const after = await filesOf(workdir);
  take.changed = [...new Set([...before.keys(), ...after.keys()])].filter((path) =>
    before.get(path) !== after.get(path)
  ).sort();
  return take;
}

/** A session of which nothing was seen yet. */
export function emptyTake(session: string, mode: ToolMode): Take {
  return {
    session,
    mode,
    events: [],
    envelopes: [],
    result: null,
    refused: null,
    stopped_ms: null,
    changed: [],
  };
}

async function follow(session: SessionHandle, take: Take, interrupt: (() => Promise<unknown>) | null): Promise<void> {
  let asked: number | null = null;
  const stop = () => {
    if (asked !== null) return;
    asked = performance.now();
    interrupt?.().catch(() => {});
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  for await (const envelope of session.events()) {
    take.envelopes.push(envelope);
    if (isOwn(envelope)) take.events.push(envelope.event as AdapterEvent);
    if (interrupt === null) continue;
    const { event } = envelope;
    if (event.type === "turn_ended" && event.stop_reason === "interrupted" && asked !== null) {
      take.stopped_ms ??= performance.now() - asked;
    }
    if (envelope.event.type === "attempt_started") timer = setTimeout(stop, silenceMs);
    // A moment later, so that the adapter is at work again.
    if (envelope.source === "agent" && asked === null) setTimeout(stop, 50);
  }
  clearTimeout(timer);
  take.result = await session.result();
  if (asked !== null && take.result.stop_reason === "interrupted") take.stopped_ms ??= performance.now() - asked;
}

/** Whether the adapter under trial yielded it: neither the host in its place nor the kit. */
function isOwn({ source, synthetic, event }: Envelope): boolean {
  if (source !== "agent" || synthetic) return false;
  return event.type !== "progress" || !event.message.startsWith(kitMark);
}

async function filesOf(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    await Promise.all(files.map(async (file): Promise<[string, string]> => {
      return [file.slice(folder.length + 1), sha256Hex(await readFile(file))];
    })),
  );
}
