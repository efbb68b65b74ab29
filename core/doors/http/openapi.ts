import { KindGuard, type TSchema, Type } from "@sinclair/typebox";
import { hostVersion } from "../../ground/config/version.ts";
import { type ApiRoute, json, route, type RouteAnswer } from "./route.ts";
import { problemSchema } from "./schemas.ts";

/** The route of the document that describes these routes and itself. */
export function openApiRoute(others: readonly ApiRoute[]): ApiRoute {
  const own: ApiRoute = route({
    id: "openapi",
    method: "GET",
    path: "/v1/openapi.json",
    summary: "show this document",
    scope: "any",
    answers: { 200: { summary: "an OpenAPI 3.1 document", schema: Type.Object({ openapi: Type.String() }) } },
    handle: () => json(document ??= openApi([...others, own])),
  });
  let document: object | null = null;
  return own;
}

/** The OpenAPI document of routes, from the very schemas that check what comes in. */
function openApi(routes: readonly ApiRoute[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const one of routes) (paths[one.path] ??= {})[one.method.toLowerCase()] = operation(one);
  return {
    openapi: "3.1.0",
    info: {
      title: "Bulkhead",
      version: hostVersion,
      description: "Sessions of AI agents behind walls. Errors are problem documents (RFC 9457).",
    },
    paths,
    components: {
      schemas: { Problem: plain(problemSchema) },
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
    security: [{ token: [] }],
  };
}

function operation({ id, summary, scope, path, query, heads = [], body, answers }: ApiRoute): object {
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: "path",
      required: true,
      schema: { type: "string" },
    })),
    ...queryParameters(query),
    ...heads.map(({ name, summary: description }) => ({ name, in: "header", description, schema: { type: "string" } })),
  ];
  const responses = Object.entries(answers).map(([status, answer]) => [status, described(answer)]);
  return {
    operationId: id,
    summary,
    "x-scope": scope,
    ...(scope === "public" ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : {
      requestBody: { required: true, content: { "application/json": { schema: plain(body) } } },
    }),
    responses: { ...Object.fromEntries(responses), default: problemAnswer },
  };
}

const problemAnswer = {
  description: "why it was refused",
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
};

function described({ summary, schema, types = ["application/json"] }: RouteAnswer): object {
  if (schema === undefined) return { description: summary };
  return { description: summary, content: Object.fromEntries(types.map((type) => [type, { schema: plain(schema) }])) };
}

function queryParameters(query: TSchema | undefined): object[] {
  if (query === undefined || !KindGuard.IsObject(query)) return [];
  const required = new Set(query.required ?? []);
  return Object.entries(query.properties).map(([name, schema]) => {
    return { name, in: "query", ...(required.has(name) ? { required: true } : {}), schema: plain(schema) };
  });
}

/** Through text, which leaves the schema library's symbols behind. */
function plain(schema: TSchema): unknown {
  return JSON.parse(JSON.stringify(schema));
}
