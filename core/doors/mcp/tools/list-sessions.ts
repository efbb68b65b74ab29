import { Type } from "@sinclair/typebox";
import { stopReasons } from "../../../../plugin-sdk/result.ts";
import { closed } from "../../../../plugin-sdk/schema.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { makeTool, success } from "../answers.ts";
import type { McpTool } from "../surface.ts";

const outcomes = Object.keys(stopReasons) as (keyof typeof stopReasons)[];

const input = Type.Object({
  state: Type.Optional(Type.Union([Type.Literal("running"), Type.Literal("ended")])),
  outcome: Type.Optional(Type.Union(outcomes.map((name) => Type.Literal(name)))),
  adapter: Type.Optional(Type.String()),
  labels: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "All of these must be on it." })),
  task_id: Type.Optional(Type.String()),
  before: Type.Optional(Type.String({ description: "Only those that began before this session." })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: "Default 50." })),
}, closed);

const data = Type.Object({
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
    input,
    data,
    async call(query) {
      const page = await sessions.list(query);
      const whole = page.length === (query.limit ?? 50);
      return success({ data: { sessions: page, next_before: whole ? page.at(-1)?.session_id ?? null : null } });
    },
  });
}
