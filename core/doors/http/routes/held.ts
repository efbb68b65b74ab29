import { Type } from "@sinclair/typebox";
import type { HeldDecision, SessionHeld, SettledHeld } from "../../../../plugin-sdk/held.ts";
import { closed, exactly } from "../../../../plugin-sdk/schema.ts";
import { type ApiRoute, json, ok, route } from "../route.ts";
import { named, oneOf, text } from "../../../sessions/session/schemas/named.ts";
import { heldSchema } from "../../../sessions/session/schemas/results.ts";

const held = Type.Array(heldSchema);

const sessionHeld = named(
  "SessionHeld",
  exactly<SessionHeld>()(Type.Object({
    session_id: text,
    place: oneOf(["inplace", "worktree"] as const),
    folder: text,
    at: text,
    held,
  })),
);

const decision = exactly<HeldDecision>()(Type.Object({
  action: oneOf(["apply", "drop"] as const),
  paths: Type.Optional(Type.Array(text, { maxItems: 10_000, description: "default: all" })),
}, closed));

const settled = named(
  "SettledHeld",
  exactly<SettledHeld>()(Type.Object({ session_id: text, settled: Type.Array(text), held })),
);

/** Routes for changes that can run programs, and wait for a person's word. */
export const heldRoutes: readonly ApiRoute[] = [
  route({
    id: "listHeld",
    at: "GET /v1/held",
    summary: "list the changes of sessions that can run programs, and wait for a person's word",
    scope: "own",
    answers: ok("the oldest first", Type.Object({ sessions: Type.Array(sessionHeld) })),
    handle: async ({ workspaces }) => json({ sessions: await workspaces.held() }),
  }),
  route({
    id: "settleHeld",
    at: "POST /v1/sessions/{id}/held",
    summary: "apply or drop held changes of a session: all, or those of some paths",
    scope: "run",
    body: decision,
    answers: ok("what was settled, and what still waits", settled),
    handle: async ({ params, body, workspaces }) => json(await workspaces.settleHeld(params["id"] ?? "", body)),
  }),
];
