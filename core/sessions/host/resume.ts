import { attachmentsOf } from "../../../plugin-sdk/conversation.ts";
import type { Follows } from "../../../plugin-sdk/envelope.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { Budget, SessionRequest } from "../../../plugin-sdk/request.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { sessionPages } from "../../records/journal/read-page.ts";
import type { Journal } from "../../records/journal/journal.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { hasCeiling } from "../session/spend/shared-budgets.ts";
import { accepts } from "../session/enforceable.ts";
import type { AfterRestart, Resumable } from "../session/interrupted-session.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { AttachmentStore } from "./attachments/attachment-store.ts";
import type { CarriedAttachments } from "./attachments/carried-attachments.ts";
import type { LiveSession, LiveSessions } from "./live-sessions.ts";
import { leftOf } from "./run-loop.ts";
import { drawnBudget, type DrawnDeps } from "./talk/drawn-budget.ts";
import type { OwnSessions } from "./talk/recall.ts";

interface ResumeDeps extends DrawnDeps {
  journal: Pick<Journal, "findKey" | "noteKey"> & DrawnDeps["journal"];
  registry: { get(id: string): Plugin | undefined };
  sessions: Pick<LiveSessions, "start">;
  attachments: Pick<AttachmentStore, "name">;
  writeLog(record: LogRecord): void;
}

/** Most sessions that continue one agent's session: a task that kills its host is not retried forever. */
const maxTimes = 3;

/** Prompt of the resumed session: the agent knows the task, but not how its last step ended. */
const goOn = "The host that ran you was restarted while you worked, so your last step may be unfinished. " +
  "Look at what is done, and go on with the task.";

/**
 * Makes the function that goes on with sessions which a killed host left open. It starts a session of its own that
 * continues the agent's own one: the agent remembers, the host knows nothing of the earlier session but its request and what
 * is left of its budget. Deadlines start again.
 */
export function resumer(deps: ResumeDeps): (resumable: Resumable) => Promise<AfterRestart> {
  return async (left) => {
    const { journal, writeLog } = deps;
    const { session_id } = left;
    const begun = await alreadyResumed(journal, session_id);
    if (begun !== null) return begun;
    const { resumable, ...shared } = await withDrawn(left, deps);
    const reason = whyNot(resumable, deps.registry.get(resumable.adapter_id));
    if (reason !== null) {
      writeLog({ level: "warn", message: `Cannot resume a session: ${reason}.`, session_id });
      return { reason };
    }
    try {
      const session = await deps.sessions.start(requestOf(resumable), { adapter: resumable.adapter_id }, {
        begins: (id) =>
          journal.noteKey({ name: keyOf(session_id), digest: "", session_id: id }, Number.MAX_SAFE_INTEGER),
        resumed: { from: session_id, times: resumable.times + 1 },
        follows: followsOf(resumable, { why: "restart", memory: "agent", ...shared }),
      });
      writeLog({ level: "info", message: `Session ${session.id} goes on with one that was cut off.`, session_id });
      return { resumed_as: session.id, moved: await moveTo(session, { ...deps, resumable }) };
    } catch (error) {
      const { message } = toErrorData(error);
      writeLog({ level: "error", message: `Cannot resume a session: ${message}`, session_id });
      return { reason: message.replace(/\.$/, "") };
    }
  };
}

/** The key under which the journal names the session that goes on with another one. */
function keyOf(sessionId: string): string {
  return sha256Hex(`resume ${sessionId}`);
}

/**
 * Returns the session that goes on with another one, which a host that was killed over this had begun: its own turn comes by
 * itself. Null where none has begun.
 */
export async function alreadyResumed(
  journal: Pick<Journal, "findKey" | "read" | "session">,
  sessionId: string,
): Promise<AfterRestart | null> {
  const begun = await journal.findKey(keyOf(sessionId));
  if (begun === null || await journal.session(begun.session_id) === null) return null;
  return { resumed_as: begun.session_id, moved: await takenBy(journal, begun.session_id) };
}

/** Prompt of the session that goes on for one of a lost machine, before the task itself. */
const goOnElsewhere =
  "Another agent worked on this task until its machine was lost, so its last step may be unfinished. " +
  "Look at what is done, and go on. The task:\n\n";

/** Goes on with a session of a machine that was lost. */
export type ResumeLost = (
  resumable: Resumable,
  terms: {
    sessionId: string;
    /** Folder in a clone of its repository on this machine: it goes on in a worktree of that one. */
    clone?: string;
  },
) => Promise<AfterRestart>;

/** Makes the function that continues sessions of a lost machine here: a new agent gets the task. */
export function lostResumer(
  deps: Omit<ResumeDeps, "journal"> & DrawnDeps & {
    carried: Pick<CarriedAttachments, "bring">;
  },
): ResumeLost {
  const { registry, sessions, carried, writeLog } = deps;
  return async (left, { sessionId, clone }) => {
    const { resumable, ...shared } = await withDrawn(left, deps);
    const { session_id, adapter_id, times } = resumable;
    // A clone that is made again loses nothing that waits for a decision.
    const request: SessionRequest = clone === undefined
      ? resumable.request
      : { ...resumable.request, workdir: clone, workspace: "inplace" };
    const reason = request.workspace === "worktree"
      ? "it worked in a worktree, which waits for a decision"
      : whyNeither({ ...resumable, request }, registry.get(adapter_id));
    if (reason !== null) return { reason };
    const { idempotency_key: _used, continue_from: _there, fork: _copy, ...kept } = request;
    try {
      await carried.bring(request.content ?? []);
      const session = await sessions.start(
        {
          ...kept,
          ...omitUndefined({ budget: budgetOf(resumable) }),
          prompt: goOnElsewhere + request.prompt,
          ...(clone === undefined ? {} : { workspace: "worktree" }),
        },
        { adapter: adapter_id, sessionId },
        {
          resumed: { from: session_id, times: times + 1 },
          follows: followsOf(resumable, { why: "machine_lost", memory: "none", ...shared }),
        },
      );
      writeLog({ level: "info", message: `Session ${session.id} goes on with one of a lost machine.`, session_id });
      return { resumed_as: session.id, moved: await moveTo(session, { ...deps, resumable }) };
    } catch (error) {
      return { reason: toErrorData(error).message.replace(/\.$/, "") };
    }
  };
}

function followsOf(
  { conversation_id, session_id, turn }: Resumable,
  how: Pick<Follows, "why" | "memory" | "budget">,
): Follows {
  return { conversation_id, session_id, turn, ...how };
}

/** Counts what others have used of the session's budget, too. */
async function withDrawn(
  left: Resumable,
  deps: DrawnDeps,
): Promise<{ resumable: Resumable } & Pick<Follows, "budget">> {
  if (!hasCeiling(left.request)) return { resumable: left };
  const { used, budget } = await drawnBudget(left, deps);
  return { resumable: { ...left, used }, budget };
}

/**
 * Gives a session the messages that waited, but for those whose images and files cannot be had; returns the ids of those that
 * it has taken, once that is durable.
 */
async function moveTo(
  { id, session: { talk } }: LiveSession,
  { resumable: { pending }, attachments, carried }: Pick<ResumeDeps, "attachments"> & {
    resumable: Resumable;
    carried?: Pick<CarriedAttachments, "bring">;
  },
): Promise<string[]> {
  const moved: string[] = [];
  for (const message of pending) {
    const parts = attachmentsOf(message.content);
    try {
      await carried?.bring(parts);
      await attachments.name(id, parts);
    } catch {
      continue;
    }
    const taken = talk.say(message);
    if (taken === "closed") break;
    await taken.written;
    moved.push(message.message_id);
  }
  return moved;
}

/** Returns the ids of the messages that a session has taken. */
async function takenBy(journal: Pick<Journal, "read">, sessionId: string): Promise<string[]> {
  const taken: string[] = [];
  for await (const page of sessionPages(journal, sessionId, { skipDamaged: true })) {
    for (const { event } of page) if (event.type === "message_accepted") taken.push(event.message_id);
  }
  return taken;
}

/** Returns why a session cannot be resumed; null when it can. */
function whyNot(resumable: Resumable, plugin: Plugin | undefined): string | null {
  const { adapter_id, agent_session_id } = resumable;
  if (agent_session_id === null) return "its agent had not said the id of its own session";
  const neither = whyNeither(resumable, plugin);
  if (neither !== null) return neither;
  if (!ownSessions(plugin).continues) {
    return `plugin "${adapter_id}" does not take continue_from`;
  }
  return agent_session_id.length > 256 ? "the id of its agent's session is too long" : null;
}

/** Returns how a plugin goes on with its agent's own sessions. */
export function ownSessions(plugin: Plugin | undefined): OwnSessions {
  const takes = (field: "continue_from" | "fork" | "continue_at") =>
    plugin !== undefined && accepts(plugin.manifest, field);
  return { continues: takes("continue_from"), copies: takes("fork"), copiesAt: takes("continue_at") };
}

/** Returns why a session can go on neither on its own machine nor on another one. */
function whyNeither({ request, adapter_id, times, used }: Resumable, plugin: Plugin | undefined): string | null {
  if (plugin?.enabled !== true) return `plugin "${adapter_id}" is not enabled any more`;
  if (Object.keys(request.env ?? {}).length > 0) return "the values of its env were not kept";
  const { cost = 1, tokens = 1 } = budgetOf({ request, used }) ?? {};
  if (cost <= 0 || tokens < 1) return "its budget is spent";
  return times >= maxTimes ? `it was resumed ${times} times already` : null;
}

/** Returns what is left of a session's budget. */
function budgetOf({ request: { budget }, used }: Pick<Resumable, "request" | "used">): Budget | undefined {
  return budget && leftOf(budget, used);
}

function requestOf({ request, used, agent_session_id }: Resumable): SessionRequest {
  // The agent has read the context files; the key stands for the session that was cut off.
  const { context_files: _read, idempotency_key: _used, fork: _made, ...kept } = request;
  const budget = omitUndefined({ budget: budgetOf({ request, used }) });
  return {
    ...kept,
    ...budget,
    prompt: goOn,
    ...(agent_session_id === null ? {} : { continue_from: agent_session_id }),
  };
}
