import { Type } from "@sinclair/typebox";
import { TestRuns } from "../../../ground/checks/test-commands.ts";
import { count, maybe, text } from "../../../sessions/session/schemas/named.ts";
import { type ApiRoute, json, ok, route } from "../route.ts";

/** Newest events that are looked at. */
const mostEvents = 10_000;

/** The route that tells which tests an agent ran. */
export const testsRoute: ApiRoute = route({
  id: "sessionTests",
  at: "GET /v1/sessions/{id}/tests",
  summary: "list the commands of a session that look like test runs, with their results",
  scope: "own",
  answers: ok(
    "the newest of them, from its newest events; passed is null while one runs",
    Type.Object({
      tests: Type.Array(
        Type.Object({ seq: count, command: text, passed: maybe(Type.Boolean()), counts: maybe(text) }),
      ),
      from: Type.Integer({ description: "the first event that was looked at" }),
    }),
  ),
  async handle({ params: { id = "" }, sessions, signal }) {
    const session = await sessions.open(id);
    const { last_seq: last } = await sessions.get(id);
    const after = Math.max(0, last - mostEvents);
    const found = new TestRuns();
    if (last > after) {
      for await (const envelope of session.events({ after, signal })) {
        if (envelope.seq <= last) found.take(envelope);
        if (envelope.seq >= last) break;
      }
    }
    return json({ tests: found.runs, from: after + 1 });
  },
});
