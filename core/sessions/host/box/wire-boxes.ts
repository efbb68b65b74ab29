import type { WireRecordReport } from "../../../../plugin-sdk/black-box.ts";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../../plugin-sdk/optional-fields.ts";
import { hasPrompt, type SessionRequest } from "../../../../plugin-sdk/request.ts";
import type { Limits } from "../../../ground/config/limits.ts";
import { personHomes } from "../../../ground/platform/files/homes.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { findTurnTree } from "../../../records/checkpoints/turn-tree.ts";
import { lineOf } from "../../../records/git/git-call.ts";
import { runGit } from "../../../ground/platform/processes/git-program.ts";
import { findRepository, readingEnv } from "../../../records/git/find-repository.ts";
import type { SessionPlaces } from "../../../records/wire/normal-request.ts";
import type { WireRecords } from "../../../records/wire/record-files.ts";
import type { RecordEnd } from "../../../records/wire/record-format.ts";
import {
  driftMessage,
  type OpenedRecord,
  openRecord,
  unplayable,
  WirePlayer,
} from "../../../records/wire/wire-player.ts";
import { WireRecorder } from "../../../records/wire/wire-recorder.ts";
import type { Admitted, SessionBox } from "../../session/admitted.ts";
import type { AttachmentStore } from "../attachments/attachment-store.ts";
import type { RunSessionOptions } from "../session-host.ts";
import { type PlayedSession, playedTurns, playTurns } from "./played-turns.ts";

/** A session that is about to be admitted. */
interface BoxedSession
  extends Pick<Admitted, "sessionId" | "request" | "place" | "follows" | "redactor" | "firstTurn"> {
  limits: Limits;
  /** The record that it plays; absent: it is no replay. */
  record?: OpenedRecord | undefined;
  /** Folder of this host in the state folder. */
  part: string;
}

/** Makes what records a session's calls, or answers them; null for a session of neither kind. */
export async function openBox(session: BoxedSession, records: WireRecords): Promise<SessionBox | null> {
  const { record, request } = session;
  if (record === undefined && request.record !== "wire") return null;
  const places = await placesOf(session);
  return record === undefined ? recorderBox(session, { records, places }) : playerBox(session, { record, places });
}

/** Paths that differ from one session to the next, and from one machine to another. */
async function placesOf({ sessionId, place: { workdir, workspaceDir }, part }: BoxedSession): Promise<SessionPlaces> {
  const signal = AbortSignal.timeout(lookMs);
  const top = workspaceDir ?? (await findRepository({ workdir, signal }).catch(() => null))?.top ?? workdir;
  const branch = await branchOf({ workdir, signal }).catch(() => undefined);
  const { first: home } = await personHomes();
  return {
    ...omitUndefined({ home: home ?? undefined, branch }),
    state: part,
    scratch: join(part, "scratch", sessionId),
    top,
    workdir,
  };
}

/** Name of the branch that is checked out; undefined where there is none. */
async function branchOf({ workdir, signal }: { workdir: string; signal: AbortSignal }): Promise<string | undefined> {
  const { stdout } = await runGit(["symbolic-ref", "-q", "--short", "HEAD"], {
    cwd: workdir,
    env: readingEnv(),
    signal,
  });
  return lineOf(stdout) || undefined;
}

/** Time for git to name the top of a repository. Milliseconds. */
const lookMs = 10_000;

/** Calls of one record: each is a file. */
const mostCalls = 10_000;

function recorderBox(
  { sessionId, request, follows, firstTurn, redactor, limits }: BoxedSession,
  { records, places }: { records: WireRecords; places: SessionPlaces },
): SessionBox {
  const recorder = new WireRecorder(records, {
    head: {
      wire_record: 1,
      session_id: sessionId,
      conversation_id: follows?.conversation_id ?? sessionId,
      turn: firstTurn,
      begun_at: new Date().toISOString(),
      requested: redactor?.value(askedOf(request)) ?? askedOf(request),
      places,
    },
    bounds: { call_bytes: limits.wire_call_bytes, record_bytes: limits.wire_record_bytes, calls: mostCalls },
    redactor,
  });
  return {
    isReplay: false,
    wire: () => recorder,
    end: async (facts) => ({ recorded: reportOf(await recorder.end(facts)) }),
  };
}

/** Fields of a request that say what to do, and not where. */
const asked = [
  "prompt",
  "model",
  "params",
  "system_prompt",
  "output_schema",
  "effort",
  "plan",
  "max_turns",
  "approval",
  "allowed_tools",
  "tool_approvals",
] as const;

function askedOf(request: SessionRequest): Record<string, unknown> {
  return Object.fromEntries(asked.flatMap((name) => request[name] === undefined ? [] : [[name, request[name]]]));
}

function reportOf({ calls, bytes, incomplete }: RecordEnd): WireRecordReport {
  return { calls, bytes, ...omitUndefined({ incomplete }) };
}

function playerBox(
  { redactor, limits }: BoxedSession,
  { record, places }: { record: OpenedRecord; places: SessionPlaces },
): SessionBox {
  let stop: Parameters<SessionBox["wire"]>[0] = () => {};
  const player = new WirePlayer(record, {
    places,
    mostSent: limits.wire_call_bytes,
    redactor,
    onDrift: (drift) => stop({ code: "drift", message: driftMessage(drift), details: { ...drift } }),
  });
  return {
    isReplay: true,
    wire: (onDrift) => {
      stop = onDrift;
      return player;
    },
    end: ({ tree }) => {
      const { drift, counts } = player;
      const before = record.end.tree;
      return Promise.resolve({
        replay: {
          of: record.head.session_id,
          recorded: record.calls.length,
          ...counts,
          ...(drift === null ? {} : { drift }),
          tree: before === null || tree === null ? "unknown" : before === tree ? "same" : "different",
        },
      });
    },
  };
}

/** A request as it is started, and where a replay of it begins. */
interface PreparedStart {
  request: SessionRequest;
  terms: { record?: OpenedRecord; filesOf?: { conversation: string; turn: number } };
  /** Plays the turns of a replay that messages begin. */
  play?(live: PlayedSession): Promise<void>;
}

/**
 * Prepares a request that may be a replay: it works in a worktree with the files from before the recorded session, and no
 * network is left to it.
 * @throws {BulkheadError} `not_found` for a session that has no record, or that is not the client's; `conflict` for a record
 * that cannot be played, `unsupported` for turns that cannot be
 */
export async function prepareReplay(
  request: SessionRequest,
  { client, mayRead }: Pick<RunSessionOptions, "client" | "mayRead">,
  { records, checkpointsDir, attachments, eventsOf }: {
    records: WireRecords;
    checkpointsDir: string;
    attachments: Pick<AttachmentStore, "name">;
    /** The events of a session. */
    eventsOf(sessionId: string): AsyncIterable<Envelope>;
  },
): Promise<PreparedStart> {
  const id = request?.replay_of;
  if (typeof id !== "string") return { request, terms: {} };
  const isReadable = client === undefined || mayRead?.(id) === true;
  const folder = isReadable ? await records.find(id) : null;
  if (folder === null) throw noRecord(id);
  const record = await openRecord(folder, id);
  const { head: { conversation_id, turn, is_moved = false }, end } = record;
  const turns = end.turns > 1 || !hasPrompt(request) ? await playedTurns(eventsOf(id)) : [];
  if (typeof turns === "string") throw unplayed(id, turns);
  if (turn > 1) throw unplayed(id, "it goes on from an earlier session");
  const filesOf = { conversation: conversation_id, turn: turn - 1 };
  // A worktree would have today's files otherwise.
  if (!is_moved) {
    await findTurnTree({ ...filesOf, folder: checkpointsDir }).catch(() => {
      throw unplayable(id, "the files from before it were not kept");
    });
  }
  const { record: _kind, keep_ms: _wait, ...same } = request;
  const keep = turns.length === 0 ? {} : { keep_ms: betweenMs };
  return {
    request: { ...same, ...keep, workspace: "worktree", permissions: { ...same.permissions, net: [] } },
    terms: { record, ...(is_moved ? {} : { filesOf }) },
    ...(turns.length === 0
      ? {}
      : { play: (live: PlayedSession) => playTurns(live, { turns, events: eventsOf(live.id), attachments }) }),
  };
}

/** Time between two turns of a replay. Milliseconds. */
const betweenMs = 60_000;

function noRecord(id: string): BulkheadError {
  return new BulkheadError("not_found", `Cannot replay session "${id}": no record of its calls is kept here.`, {
    hint:
      "A session is recorded that is started with record: wire (--record-wire). Delete and retention erase the record.",
  });
}

function unplayed(id: string, why: string): BulkheadError {
  return new BulkheadError("unsupported", `Cannot replay session "${id}": ${why}.`, {
    hint: "Replay a session that begins a conversation, and whose messages came between its turns.",
  });
}
