import { Type } from "@sinclair/typebox";
import { closed } from "../../../plugin-sdk/schema.ts";
import type { SessionDiffs, SessionHost } from "../../sessions/host/session-host.ts";
import { makeTool, success } from "./answers.ts";
import type { McpTool } from "./surface.ts";
import { stopReasons } from "../../../plugin-sdk/result.ts";
import { readEvents } from "./read-events.ts";
import { textOrBase64 } from "../../ground/platform/files/text-or-base64.ts";
import { sessionInput } from "./session-data.ts";

const agentsInput = Type.Object({
  refresh: Type.Optional(Type.Boolean({ description: "Ask every agent now, ignoring earlier answers." })),
}, closed);

const agentsData = Type.Object({
  agents: Type.Array(Type.Object({
    id: Type.String({ description: "What run_session takes as adapter." }),
    availability: Type.String(),
    reason: Type.String(),
    next_step: Type.Optional(Type.String()),
  }, { additionalProperties: true })),
});

/** Creates the tool that lists agents. */
export function listAgentsTool(sessions: SessionHost): McpTool {
  return makeTool({
    name: "list_agents",
    title: "List agents",
    description: "Lists every adapter, whether its agent could take a session now, and if not, why and what to do.",
    hints: { reads_only: true },
    input: agentsInput,
    data: agentsData,
    call: async (args) => success({ data: { agents: await sessions.agents(args) } }),
  });
}

const outcomes = Object.keys(stopReasons) as (keyof typeof stopReasons)[];

const listInput = Type.Object({
  state: Type.Optional(Type.Union([Type.Literal("running"), Type.Literal("ended")])),
  outcome: Type.Optional(Type.Union(outcomes.map((name) => Type.Literal(name)))),
  adapter: Type.Optional(Type.String()),
  labels: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "All of these must be on it." })),
  task_id: Type.Optional(Type.String()),
  before: Type.Optional(Type.String({ description: "Only those that began before this session." })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: "Default 50." })),
}, closed);

const listData = Type.Object({
  sessions: Type.Array(
    Type.Object({ session_id: Type.String(), state: Type.String() }, { additionalProperties: true }),
  ),
  next_before: Type.Union([Type.String(), Type.Null()], { description: "For the next page; null on the last one." }),
});

/** Creates the tool that lists sessions. */
export function listSessionsTool(sessions: SessionHost): McpTool {
  return makeTool({
    name: "list_sessions",
    title: "List sessions",
    description: "Lists sessions, the newest first, with what each waits for. A page ends where next_before goes on.",
    hints: { reads_only: true },
    input: listInput,
    data: listData,
    async call(query) {
      const page = await sessions.list(query);
      const whole = page.length === (query.limit ?? 50);
      return success({ data: { sessions: page, next_before: whole ? page.at(-1)?.session_id ?? null : null } });
    },
  });
}

const readInput = Type.Object({
  session_id: Type.String(),
  after: Type.Optional(Type.Integer({ minimum: 0, description: "Events after this seq; default 0: from the first." })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "Events at most; default 200." })),
}, closed);

const readData = Type.Object({
  session: Type.Object({ session_id: Type.String(), state: Type.String() }, { additionalProperties: true }),
  events: Type.Array(Type.Object({ seq: Type.Integer() }, { additionalProperties: true })),
  next_after: Type.Integer({ description: "The after of the next page." }),
  complete: Type.Boolean({ description: "The session has ended, and nothing comes after this page." }),
});

/** Creates the tool that reads a session's events, a page at a time. */
export function readSessionTool(sessions: SessionHost): McpTool {
  return makeTool({
    name: "read_session",
    title: "Read a session",
    description: "Reads where a session stands and its events, a page at a time. It waits for none: of a running " +
      "session it gives what there is.",
    hints: { reads_only: true },
    input: readInput,
    data: readData,
    async call({ session_id, after, limit }) {
      const page = await readEvents(sessions, session_id, { after, limit });
      const session = await sessions.get(session_id);
      return success({ data: { session, ...page } });
    },
  });
}

/** Bytes of a patch that a model is given; a longer one would fill its context. */
const mostBytes = 256 * 1024;

const diffData = Type.Object({
  session_id: Type.String(),
  artifacts: Type.Array(Type.Object({ path: Type.String() }, { additionalProperties: true })),
  patch: Type.Union([Type.String(), Type.Null()], { description: "For git apply; null where patch_reason says why." }),
  patch_reason: Type.Union([Type.Literal("too_long"), Type.Literal("not_text"), Type.Null()]),
  patch_bytes: Type.Integer(),
});

/** Creates the tool that shows what a session changed in its worktree. */
export function diffSessionTool(workspaces: SessionDiffs): McpTool {
  return makeTool({
    name: "diff_session",
    title: "Show a session's changes",
    description: "Shows what a session changed in its worktree, as a patch. The session must have been started with " +
      'workspace "worktree", and its changes must be neither applied nor discarded.',
    hints: { reads_only: true },
    input: sessionInput,
    data: diffData,
    async call({ session_id }) {
      const { artifacts, patch } = await workspaces.diff(session_id);
      const held = textOrBase64(patch);
      const patch_reason = patch.byteLength > mostBytes ? "too_long" : "text" in held ? null : "not_text";
      const shown = patch_reason === null && "text" in held ? held.text : null;
      return success({ data: { session_id, artifacts, patch: shown, patch_reason, patch_bytes: patch.byteLength } });
    },
  });
}
