import { KindGuard, type TSchema, Type } from "@sinclair/typebox";
import { hostVersion } from "../../ground/config/version.ts";
import { type ApiRoute, json, ok, route, type RouteAnswer } from "./route.ts";
import { nameOf } from "../../sessions/session/schemas/named.ts";
import { problemSchema } from "./schemas/sessions.ts";

/** The route of the document that describes these routes and itself. */
export function openApiRoute(others: readonly ApiRoute[]): ApiRoute {
  const own: ApiRoute = route({
    id: "openapi",
    at: "GET /v1/openapi.json",
    summary: "show this document",
    scope: "any",
    answers: ok("an OpenAPI 3.1 document", Type.Object({ openapi: Type.String() })),
    handle: () => json(document ??= openApi([...others, own])),
  });
  let document: object | null = null;
  return own;
}

/** The OpenAPI document of routes, from the very schemas that check what comes in. */
function openApi(routes: readonly ApiRoute[]): object {
  const components = new Components();
  const paths: Record<string, Record<string, object>> = {};
  for (const one of routes) (paths[one.path] ??= {})[one.method.toLowerCase()] = operation(one, components);
  return {
    openapi: "3.1.0",
    info: {
      title: "Bulkhead",
      version: hostVersion,
      description: "Sessions of AI agents behind walls. Errors are problem documents (RFC 9457).",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: [...new Set(routes.map(({ path }) => tagOf(path)))].map((name) => ({ name, description: tags[name] })),
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
    security: [{ token: [] }],
  };
}

/** Schemas that have a name, each once. */
class Components {
  readonly schemas: Record<string, object> = {};

  /** Returns a schema as plain JSON, with references to those inside it that have a name, itself included. */
  refer(schema: object): object {
    const name = nameOf(schema);
    if (name === undefined) return this.#plain(schema);
    if (!Object.hasOwn(this.schemas, name)) {
      // Its place comes before those of the schemas inside it.
      this.schemas[name] = {};
      this.schemas[name] = this.#plain(schema);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Leaves the schema library's symbols behind. */
  #plain(schema: object): object {
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.#value(value)]));
  }

  #value(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#value(item));
    return typeof value === "object" && value !== null ? this.refer(value) : value;
  }
}

/** Descriptions of the tags. */
const tags: Readonly<Record<string, string>> = {
  agents: "The agents that can take a session.",
  attachments: "Images and files for requests and messages.",
  calls: "Calls of plugins and agents to the broker.",
  cluster: "The machines that serve together.",
  comparisons: "One request on several agents at once.",
  console: "Ways into the page for people.",
  budgets: "Budgets that sessions share.",
  conversations: "Talk with an agent over several turns.",
  denials: "Uses that were denied, and the grants that would allow them.",
  events: "The events of all sessions.",
  folder: "Folders to work in.",
  held: "Changes that can run programs and wait for a person.",
  host: "The host's health and figures.",
  moment: "The host as it was at an earlier time.",
  openapi: "This document.",
  plugins: "Installed plugins and their grants.",
  proof: "The server's proof that it knows a token.",
  reload: "The host manifest in force.",
  search: "The text of all sessions.",
  sessions: "Sessions of agents: start, follow, answer and stop them.",
  spend: "The cost of sessions.",
  verify: "The journal's chain of hashes.",
  waiting: "Everything that waits for a person.",
  walls: "The walls of this machine and the programs behind them.",
  workspaces: "Worktrees of sessions.",
};

/** The tokens that each scope lets in. */
const letsIn: Readonly<Record<ApiRoute["scope"], string>> = {
  public: "It needs no token.",
  any: "Any token may call it.",
  own: "A token with the scope `read` sees all; one with `run` sees what belongs to its own sessions.",
  read: "It needs a token with the scope `read`.",
  run: "It needs a token with the scope `run`, and concerns that token's own sessions; `admin` concerns all.",
  admin: "It needs a token with the scope `admin`.",
};

/** All that the table of routes says of one, in sentences. */
function descriptionOf({ summary, scope, heads = [], answers }: ApiRoute): string {
  const results = Object.entries(answers).map(([status, answer]) => `${status}: ${answer.summary}.`);
  const headers = heads.map((head) => `Header ${head.name}: ${head.summary}.`);
  return [`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`, letsIn[scope], ...headers, ...results].join(" ");
}

/** The thing that a path is about; those outside of `/v1/` are about the host. */
function tagOf(path: string): string {
  return /^\/v1\/([a-z]+)/.exec(path)?.[1] ?? "host";
}

function operation(one: ApiRoute, components: Components): object {
  const { id, summary, scope, path, query, heads = [], body, maxBytes, answers } = one;
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: "path",
      required: true,
      schema: { type: "string" },
    })),
    ...queryParameters(query, components),
    ...heads.map(({ name, summary: description }) => ({ name, in: "header", description, schema: { type: "string" } })),
  ];
  const responses = Object.entries(answers).map(([status, answer]) => [status, described(answer, components)]);
  return {
    operationId: id,
    summary,
    description: descriptionOf(one),
    tags: [tagOf(path)],
    "x-scope": scope,
    security: scope === "public" ? [] : undefined,
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: body === undefined ? maxBytes && anyBody : jsonBody(body, components),
    responses: {
      ...Object.fromEntries(responses),
      "4XX": problemAnswer("why it was refused", components),
      "5XX": problemAnswer("why it failed", components),
    },
  };
}

const anyBody = { required: true, content: { "application/octet-stream": {} } };

function jsonBody(schema: TSchema, components: Components): object {
  return { required: true, content: { "application/json": { schema: components.refer(schema) } } };
}

function problemAnswer(description: string, components: Components): object {
  return { description, content: { "application/problem+json": { schema: components.refer(problemSchema) } } };
}

function described({ summary, schema, types = ["application/json"] }: RouteAnswer, components: Components): object {
  if (schema === undefined) return { description: summary };
  const content = types.map((type) => [type, { schema: components.refer(schema) }]);
  return { description: summary, content: Object.fromEntries(content) };
}

function queryParameters(query: TSchema | undefined, components: Components): object[] {
  if (query === undefined || !KindGuard.IsObject(query)) return [];
  const required = new Set(query.required ?? []);
  return Object.entries(query.properties).map(([name, schema]) => {
    return { name, in: "query", required: required.has(name) || undefined, schema: components.refer(schema) };
  });
}
