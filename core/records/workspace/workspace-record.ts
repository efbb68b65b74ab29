import { Type } from "@sinclair/typebox";
import { heldSchema } from "../gate/held-schema.ts";
import { closed, exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import type { HeldChange } from "../../../plugin-sdk/held.ts";
import type { Workspace, WorkspaceConflict } from "../../../plugin-sdk/workspace.ts";

/** Record of one session's worktree. */
export interface WorkspaceRecord extends Omit<Workspace, "running" | "conflict" | "held"> {
  /** Absent until an apply left some. */
  held?: HeldChange[];
  /** Absent until an apply met a conflict. */
  conflict?: WorkspaceConflict | null;
  /** It began with the files of a turn: it stays, also while nothing in it has changed. */
  of_turn?: true;
  /** Git folder with the source's uncommitted content; empty while it is being made. */
  store: string;
  /** Trees of the source before and after a write that was not finished. */
  unfinished: { ours: string; merged: string } | null;
  /** The process in which the session runs; null when it has ended. */
  holder: Holder | null;
}

/** A process. Its pid may be reused; together with its start it stays unique. */
export interface Holder {
  pid: number;
  /** Null where it cannot be read. */
  start: string | null;
  /** System in which the pid is valid, see `systemId()`. Absent: an older version wrote it. */
  system?: string | null;
  /** Lock that this process holds as long as it runs; absolute path. */
  lock?: string;
}

const path = Type.String({ minLength: 1, maxLength: 16_384 });
const objectId = Type.String({ pattern: "^([0-9a-f]{40}|[0-9a-f]{64})?$" });
const time = Type.String({ maxLength: 64 });
const sessionId = Type.String({ minLength: 1, maxLength: 64 });

/** Checks a {@link Holder} as it was written to a file. */
export const holderSchema: SchemaOf<Holder> = exactly<Holder>()(
  Type.Object({
    pid: Type.Integer({ minimum: 1 }),
    start: Type.Union([Type.String(), Type.Null()]),
    system: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    lock: Type.Optional(path),
  }, closed),
);

const workspaceConflictSchema: SchemaOf<WorkspaceConflict> = exactly<WorkspaceConflict>()(
  Type.Object({
    at: time,
    message: Type.String(),
    hint: Type.Union([Type.String(), Type.Null()]),
    paths: Type.Array(Type.String(), { maxItems: 1000 }),
  }, closed),
);

/** Fields that clients see as well. */
const shown = {
  session_id: sessionId,
  later_sessions: Type.Optional(Type.Array(sessionId)),
  state: Type.Union([
    Type.Literal("opening"),
    Type.Literal("open"),
    Type.Literal("applying"),
    Type.Literal("applied"),
    Type.Literal("discarded"),
  ]),
  workdir: path,
  repository: path,
  folder: path,
  base_commit: objectId,
  base_tree: objectId,
  created_at: time,
  ended_at: Type.Union([time, Type.Null()]),
  kept_commit: Type.Union([objectId, Type.Null()]),
};

/** Checks a {@link Workspace} of another machine. */
export const workspaceSchema: SchemaOf<Workspace> = exactly<Workspace>()(
  Type.Object(
    {
      ...shown,
      conflict: Type.Union([workspaceConflictSchema, Type.Null()]),
      held: Type.Array(heldSchema),
      running: Type.Boolean(),
    },
    closed,
  ),
);

/** Checks a {@link WorkspaceRecord} as it was written to its file. */
export const workspaceRecordSchema: SchemaOf<WorkspaceRecord> = exactly<WorkspaceRecord>()(
  Type.Object({
    ...shown,
    of_turn: Type.Optional(Type.Literal(true)),
    store: Type.String({ maxLength: 16_384 }),
    held: Type.Optional(Type.Array(heldSchema)),
    conflict: Type.Optional(Type.Union([workspaceConflictSchema, Type.Null()])),
    unfinished: Type.Union([Type.Object({ ours: objectId, merged: objectId }, closed), Type.Null()]),
    holder: Type.Union([holderSchema, Type.Null()]),
  }, closed),
);
