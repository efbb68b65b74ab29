import { type TSchema, Type } from "@sinclair/typebox";
import type { SessionHeld, SettledHeld } from "../../../plugin-sdk/held.ts";
import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import type { AppliedWorkspace, WorktreeDiff } from "../../../plugin-sdk/workspace.ts";
import { exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import { lazyCheck, parseChecked } from "../../ground/checks/lazy-check.ts";
import { heldSchema } from "../../records/gate/held-schema.ts";
import { artifactSchema } from "../../records/git/artifact-schema.ts";
import { workspaceSchema } from "../../records/workspace/workspace-record.ts";
import {
  conversationSchema,
  messageSchema,
  rewindSchema,
  saidSchema,
  turnDiffSchema,
} from "../../sessions/session/schemas/conversations.ts";
import { listedFactsSchema } from "../../sessions/session/schemas/listed-facts.ts";
import { wantedSchema, type WantedSession } from "./admissions.ts";
import type { CallName, MachineCalls } from "./machine.ts";

// Fields that a newer version adds are let through: machines are upgraded one at a time.

/** Most entries of a list that another machine gives. */
const mostEntries = 10_000;

const id = Type.String({ minLength: 1, maxLength: 256 });
const text = Type.String({ maxLength: 65_536 });
const artifacts = Type.Array(artifactSchema, { maxItems: mostEntries });
const count = Type.Integer({ minimum: 0 });
const nothing = Type.Null();
const held = Type.Array(heldSchema, { maxItems: mostEntries });

const waitingRequest = exactly<WaitingRequest>()(Type.Object({
  request_id: id,
  type: Type.Union([Type.Literal("permission_request"), Type.Literal("question")]),
  text,
  choices: Type.Array(text, { maxItems: mostEntries }),
  asked_at: Type.Optional(text),
  answer_by: Type.Optional(text),
  answer_cut_from_ms: Type.Optional(count),
  cut: Type.Optional(Type.Literal(true)),
}));

const applied = exactly<AppliedWorkspace>()(Type.Object({
  session_id: id,
  artifacts,
  artifacts_omitted: Type.Optional(count),
  held,
  kept_commit: Type.Union([Type.String({ pattern: "^([0-9a-f]{40}|[0-9a-f]{64})$" }), Type.Null()]),
}));

const sessionHeld = exactly<SessionHeld>()(Type.Object({
  session_id: id,
  place: Type.Union([Type.Literal("inplace"), Type.Literal("worktree")]),
  folder: text,
  at: text,
  held,
}));

const settledHeld = exactly<SettledHeld>()(Type.Object({
  session_id: id,
  settled: Type.Array(text, { maxItems: mostEntries }),
  held,
}));

const schemas: { readonly [N in CallName]: SchemaOf<MachineCalls[N]["answer"]> } = {
  interrupt: nothing,
  answer: Type.Boolean(),
  delete: nothing,
  waiting: exactly<MachineCalls["waiting"]["answer"]>()(
    Type.Record(id, Type.Array(waitingRequest, { maxItems: mostEntries })),
  ),
  facts: exactly<MachineCalls["facts"]["answer"]>()(Type.Record(id, listedFactsSchema)),
  spare: count,
  worktrees: Type.Array(workspaceSchema, { maxItems: mostEntries }),
  diff: nothing,
  apply: applied,
  held: Type.Array(sessionHeld, { maxItems: mostEntries }),
  settle_held: settledHeld,
  discard: nothing,
  say: saidSchema,
  messages: Type.Array(messageSchema, { maxItems: mostEntries }),
  change_message: messageSchema,
  stop_turn: nothing,
  rewind: orWanted(rewindSchema),
  fork: orWanted(exactly<{ session_id: string }>()(Type.Object({ session_id: id }))),
  turn_diff: turnDiffSchema,
  conversation: conversationSchema,
};

function orWanted<T>(schema: SchemaOf<T>): SchemaOf<T | WantedSession> {
  return Type.Unsafe<T | WantedSession>(Type.Union([schema, wantedSchema]));
}

const checks = new Map(Object.entries<TSchema>(schemas).map(([name, schema]) => [name, lazyCheck(schema)]));

/** Whether another machine's answer is one to the question. */
export function isAnswer<N extends CallName>(name: N, answer: unknown): answer is MachineCalls[N]["answer"] {
  return checks.get(name)!().Check(answer);
}

/** The list that stands before the patch of a kept diff. */
type KeptDiffHead = Omit<WorktreeDiff, "patch">;

const diffHead = lazyCheck(
  exactly<KeptDiffHead>()(Type.Object({
    artifacts,
    artifacts_omitted: Type.Optional(count),
    held,
  })),
);

/** Parses what another machine wrote before a patch; null for anything else. */
export function parseDiffHead(said: string): KeptDiffHead | null {
  return parseChecked(said, diffHead);
}
