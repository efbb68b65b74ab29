import { Type } from "@sinclair/typebox";
import { closed } from "../../../../plugin-sdk/schema.ts";
import { count, maybe, named, oneOf, text } from "../../../sessions/session/schemas/named.ts";
import { FoldCounting } from "../count-folds.ts";
import { MarkCounting } from "../count-marks.ts";
import { type ApiRoute, json, ok, route } from "../route.ts";

/** Events that one call looks at: a long session takes several. */
const mostEvents = 10_000;

const query = Type.Object({
  after: Type.Optional(Type.Integer({ minimum: 0, description: "next of the call before" })),
  step: Type.Optional(
    Type.Integer({ minimum: 10, maximum: 1000, description: "numbers in a group; the same in each call. Default 50" }),
  ),
}, closed);

const group = named(
  "MarkCounts",
  Type.Object({
    first: Type.Integer({ description: "the first number of the group" }),
    said: count,
    tools: count,
    edits: count,
    failures: count,
    asked: count,
  }),
);

const agent = named(
  "AgentCount",
  Type.Object({
    agent_id: text,
    first: Type.Integer({ description: "number of its first event among those that were looked at" }),
    began: maybe(count),
    name: maybe(text),
    outcome: maybe(oneOf(["completed", "error", "stopped"] as const)),
    events: count,
    calls: count,
  }),
);

const answer = named("FarAnswer", Type.Object({ call_id: text, call: maybe(count), seq: count }));

/** The route that tells what is where in a session. */
export const markRoute: ApiRoute = route({
  id: "sessionMarks",
  at: "GET /v1/sessions/{id}/marks",
  summary: "count what was said, called, edited, asked and what failed, by groups of events; find plan and agents",
  scope: "own",
  query,
  answers: ok(
    "the groups that have any; next is null after the last",
    Type.Object({
      groups: Type.Array(group),
      failures: Type.Array(count, { description: "numbers of what failed" }),
      edits: Type.Array(count, { description: "numbers of the edits" }),
      denials: Type.Array(count, { description: "numbers of what was denied, which are among those that failed" }),
      plans: Type.Array(count, { description: "numbers of the changes of the plan" }),
      agents: Type.Array(agent, { description: "what agents of the agent did among the events looked at" }),
      inner: Type.Array(count, { description: "first numbers of groups in which only these agents did something" }),
      answers: Type.Array(answer, {
        description: "answers to calls that are neither in their group nor in the one before",
      }),
      to: Type.Integer({ description: "number of the last event that was looked at" }),
      next: maybe(count),
    }),
  ),
  async handle({ params: { id = "" }, query: { after = 0, step = 50 }, sessions, signal }) {
    const session = await sessions.open(id);
    const { last_seq: last } = await sessions.get(id);
    const size = Math.floor(mostEvents / step) * step;
    const from = Math.floor(after / step) * step;
    const to = Math.min(last, from + size);
    const counting = new MarkCounting(step);
    const folds = new FoldCounting(step);
    // An answer belongs to its call's group: look at the group before for calls, and after for answers.
    const end = Math.min(last, to + step);
    const start = Math.max(0, from - step);
    if (start < end) {
      for await (const envelope of session.events({ after: start, signal })) {
        if (envelope.seq <= end) counting.take(envelope);
        if (from < envelope.seq && envelope.seq <= to) folds.take(envelope);
        if (envelope.seq >= end) break;
      }
    }
    const { failures, edits, denials } = counting.places;
    const here = (all: readonly number[]) => all.filter((seq) => from < seq && seq <= to);
    return json({
      groups: counting.groups(from + 1, to),
      failures: here(failures),
      edits: here(edits),
      denials: here(denials),
      plans: folds.plans,
      agents: folds.agents,
      inner: folds.inner,
      answers: folds.answers,
      to,
      next: to < last ? to : null,
    });
  },
});
