import { Type } from "@sinclair/typebox";
import { exactly } from "../../../../plugin-sdk/schema.ts";
import type { ReloadChanges } from "../door-options.ts";
import { type ApiRoute, json, route } from "../route.ts";

const names = Type.Array(Type.String());

/** The route that reloads the host manifest. */
export const reloadRoute: ApiRoute = route({
  id: "reload",
  method: "POST",
  path: "/v1/reload",
  summary: "put the host manifest that is there now into force, for the sessions to come",
  scope: "admin",
  answers: {
    200: {
      summary: "what changed; with errors in it the old one stays in force",
      schema: exactly<ReloadChanges>()(Type.Object({
        added: names,
        removed: names,
        changed: names,
        unavailable: names,
        restart_needed: names,
      })),
    },
  },
  handle: async (_, { facts }) => json(await facts.reload()),
});
