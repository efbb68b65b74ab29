import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { closed } from "../../../../plugin-sdk/schema.ts";
import { type EarlierSession, readEarlier, repeatedRequest } from "../../../sessions/host/earlier-session.ts";
import { type ApiRoute, json, route } from "../route.ts";
import { sessionSummarySchema } from "../schemas/sessions.ts";

const continueBody = Type.Object({
  prompt: Type.String({ minLength: 1, maxLength: 16 * 1024 * 1024 }),
}, closed);

const rerunBody = Type.Object({
  adapter: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: "default: those of the session" })),
}, closed);

const answers = { 201: { summary: "the new session has started", schema: sessionSummarySchema } };

/** Routes that go on from an earlier session, as `session continue` and `session rerun` do. */
export const againRoutes: readonly ApiRoute[] = [
  route({
    id: "continueSession",
    at: "POST /v1/sessions/{id}/continue",
    summary: "say something more to the agent of a session: a message to its conversation",
    scope: "run",
    body: continueBody,
    answers: { 201: { summary: "the session that has it, as a rule a new one", schema: sessionSummarySchema } },
    async handle({ params, body: { prompt }, sessions }) {
      const message = { content: [{ type: "text" as const, text: prompt }] };
      const { session_id } = await sessions.conversations.say(params["id"] ?? "", message);
      return json(await sessions.get(session_id), { status: 201 });
    },
  }),
  route({
    id: "rerunSession",
    at: "POST /v1/sessions/{id}/rerun",
    summary: "run a session again, from its beginning",
    scope: "run",
    body: rerunBody,
    answers,
    async handle({ params, body: { adapter }, sessions }) {
      const earlier = withoutEnv(await readEarlier(sessions, params["id"] ?? ""));
      const { session } = await sessions.admit(repeatedRequest(earlier), { adapter: adapter ?? earlier.candidates });
      return json(await sessions.get(session.id), { status: 201 });
    },
  }),
];

/** @throws {BulkheadError} `unsupported` for a session with `env`: its values may be credentials, and are not kept */
function withoutEnv(earlier: EarlierSession): EarlierSession {
  const names = Object.keys(earlier.requested.env ?? {});
  if (names.length === 0) return earlier;
  throw new BulkheadError("unsupported", `Cannot start session "${earlier.session_id}" again: its env was not kept.`, {
    hint: `Start a new session, and give the values of ${names.join(", ")} again.`,
  });
}
