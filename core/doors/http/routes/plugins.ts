import { Type } from "@sinclair/typebox";
import { closed, exactly } from "../../../../plugin-sdk/schema.ts";
import { grantable } from "../../../packages/manifest/grantable.ts";
import type { PluginProblem } from "../../../../plugin-sdk/plugin-report.ts";
import type { PluginGrants } from "../plugin-facts.ts";
import { named, oneOf, text } from "../../../sessions/session/schemas/named.ts";
import { errorSchema, permissionsSchema } from "../../../sessions/session/schemas/results.ts";
import { type ApiRoute, type ApiRouteDeps, type Call, json, ok, route } from "../route.ts";

const plugin = named(
  "Plugin",
  Type.Object({
    id: text,
    instance_of: Type.Union([text, Type.Null()], { description: "the plugin whose package it shares" }),
    name: text,
    version: text,
    description: text,
    adapter_type: text,
    folder: text,
    origin: text,
    enabled: Type.Boolean(),
    blocked: Type.Union([text, Type.Null()], { description: "the line of the host manifest that blocks it" }),
    trusted: Type.Boolean(),
    isolation: text,
    edited: Type.Boolean({ description: "its files have changed since the host loaded them; a reload takes them" }),
    env_missing: Type.Array(text, { description: "variables that it reads and the host's environment does not have" }),
  }),
);
const problem = named(
  "PluginProblem",
  exactly<PluginProblem>()(Type.Object({
    id: text,
    folder: text,
    enabled: Type.Literal(false),
    unavailable: Type.Boolean({ description: "the host manifest enables it" }),
    error: errorSchema,
  })),
);
const grants = named(
  "Grants",
  exactly<PluginGrants>()(Type.Object({ plugin_id: text, grant: permissionsSchema, deny: permissionsSchema })),
);

const grantTarget = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: "as it is granted: git, workdir, host:port, a name",
});
const grantBody = Type.Object({
  permission: oneOf(grantable),
  target: grantTarget,
  under: Type.Optional({ ...oneOf(["grant", "deny"] as const), description: "deny: it is never asked about again" }),
}, closed);

const replacementBody = Type.Object({
  permission: oneOf(grantable),
  target: grantTarget,
  instead: Type.Union([grantTarget, Type.Null()], { description: "what is granted in its place; null: nothing" }),
}, closed);

/** Routes for plugins, their permissions and their grants. */
export const pluginRoutes: readonly ApiRoute[] = [
  route({
    id: "listPlugins",
    at: "GET /v1/plugins",
    summary: "list plugins",
    scope: "read",
    answers: ok(
      "every plugin, and those that cannot be used",
      Type.Object({ plugins: Type.Array(plugin), problems: Type.Array(problem) }),
    ),
    handle: async (_, { facts }) =>
      json({ plugins: await facts.plugins.list(), problems: await facts.plugins.problems() }),
  }),
  route({
    id: "explainPlugin",
    at: "GET /v1/plugins/{id}",
    summary: "show what a plugin asks for and what came of it",
    scope: "read",
    answers: ok("the plugin with its permissions", plugin),
    handle: async ({ params }, { facts }) => json(await facts.plugins.explain(params["id"] ?? "")),
  }),
  route({
    id: "getGrants",
    at: "GET /v1/plugins/{id}/grants",
    summary: "show what the operator granted a plugin",
    scope: "admin",
    answers: ok("its grants, as written", grants),
    handle: ({ params }, { facts }) => json(facts.plugins.grants(params["id"] ?? "")),
  }),
  route({
    id: "setGrants",
    at: "PUT /v1/plugins/{id}/grants",
    summary: "replace a plugin's grants",
    scope: "admin",
    body: permissionsSchema,
    answers: ok("its grants now", grants),
    handle: ({ params, body }, { facts }) => changed(facts, { params, change: (id) => facts.setGrants(id, body) }),
  }),
  route({
    id: "addGrant",
    at: "POST /v1/plugins/{id}/grants",
    summary: "grant a plugin one thing more, or deny it",
    scope: "admin",
    body: grantBody,
    answers: ok("its grants now", grants),
    handle: ({ params, body }, { facts }) =>
      changed(facts, { params, change: (pluginId) => facts.addGrant({ pluginId, ...body }) }),
  }),
  route({
    id: "replaceGrant",
    at: "POST /v1/plugins/{id}/grants/replace",
    summary: "replace one grant of a plugin by another, or take back a grant or a denial",
    scope: "admin",
    body: replacementBody,
    answers: ok("its grants now", grants),
    handle: ({ params, body }, { facts }) =>
      changed(facts, { params, change: (pluginId) => facts.replaceGrant({ pluginId, ...body }) }),
  }),
  route({
    id: "clearGrants",
    at: "DELETE /v1/plugins/{id}/grants",
    summary: "take back all that a plugin was granted",
    scope: "admin",
    answers: { 204: { summary: "it has no grant" } },
    async handle({ params }, { facts }) {
      const id = params["id"] ?? "";
      facts.plugins.grants(id);
      await facts.setGrants(id, null);
      return new Response(null, { status: 204 });
    },
  }),
];

/** Changes what a plugin is granted and answers with it. @throws {BulkheadError} `not_found` before any change */
async function changed(
  { plugins }: Pick<ApiRouteDeps["facts"], "plugins">,
  { params, change }: Pick<Call, "params"> & { change(pluginId: string): Promise<void> },
): Promise<Response> {
  const id = params["id"] ?? "";
  plugins.grants(id);
  await change(id);
  return json(plugins.grants(id));
}
