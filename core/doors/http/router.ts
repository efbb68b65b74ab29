import { Hono } from "hono";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { callerSessions } from "./caller-sessions.ts";
import { callerWorkspaces } from "./caller-workspaces.ts";
import { checkInput, readQuery } from "./check-input.ts";
import { readBody, readPieces } from "./read-body.ts";
import type { HttpDoorOptions } from "./door-options.ts";
import type { ApiRoute, ApiRouteDeps } from "./route.ts";
import { routes } from "./routes/all.ts";
import { type Caller, demandScope } from "./scopes.ts";

type RouterDeps = ApiRouteDeps & Pick<HttpDoorOptions, "facts" | "sessions" | "owners">;

/** Finds the route of a request and calls it with what its schemas let through. */
interface Router {
  /** Whether a request needs no caller. */
  openTo(request: Request): boolean;
  /** @throws {BulkheadError} what the route throws; `not_found`, `method_not_allowed`, `forbidden`, `invalid_request` */
  fetch(request: Request, caller: Caller | null): Promise<Response>;
}

interface Bindings {
  caller: Caller | null;
}

/** View of a request that needs no token: it sees no session. */
const anonymous: Caller = { id: "", scopes: [] };

/** Makes the router of a door. */
export function createRouter(deps: RouterDeps): Router {
  const app = new Hono<{ Bindings: Bindings }>({ strict: true });
  const open = new Set(routes.filter(({ scope }) => scope === "public").map(({ method, path }) => `${method} ${path}`));
  const checks = new Map(routes.map((one) => [one, inputChecks(one)]));
  for (const one of routes) {
    app.on(one.method, one.path.replaceAll(/\{(\w+)\}/g, ":$1"), async ({ req, env }) => {
      const caller = env.caller ?? anonymous;
      allow(one, caller);
      const { checkQuery, checkBody } = checks.get(one)!;
      return await one.handle({
        caller,
        sessions: callerSessions(caller, deps),
        workspaces: callerWorkspaces(caller, { workspaces: deps.facts.workspaces, owners: deps.owners }),
        params: req.param(),
        query: checkQuery(new URL(req.url).searchParams),
        body: checkBody === null ? undefined : checkBody(await readBody(req.raw, deps.limits)),
        bytes: readPieces(req.raw, one.maxBytes ?? 0),
        headers: req.raw.headers,
        signal: req.raw.signal,
      }, deps);
    });
  }
  for (const path of new Set(routes.map((one) => one.path))) {
    app.all(path.replaceAll(/\{(\w+)\}/g, ":$1"), ({ req }) => wrongMethod(req.method, path));
  }
  app.notFound(({ req }) => {
    throw new BulkheadError("not_found", `There is nothing at ${req.path.slice(0, 256)}.`, {
      hint: '"GET /v1/openapi.json" lists what there is.',
    });
  });
  app.onError((error) => {
    throw error;
  });
  return {
    openTo: ({ method, url }) => open.has(`${method === "HEAD" ? "GET" : method} ${new URL(url).pathname}`),
    fetch: async (request, caller) => await app.fetch(request, { caller }),
  };
}

function inputChecks({ query, body }: ApiRoute) {
  return {
    checkQuery: (params: URLSearchParams) => readQuery(query, params),
    checkBody: body === undefined ? null : (value: unknown) => checkInput(body, value, "The body"),
  };
}

/** @throws {BulkheadError} `forbidden` */
function allow({ scope, summary }: ApiRoute, caller: Caller): void {
  if (scope === "public") return;
  const needed = scope === "own" || scope === "any" ? (["read", "run"] as const) : [scope];
  demandScope(caller, { needed, act: summary });
}

function wrongMethod(method: string, path: string): never {
  const allowed = routes.filter((one) => one.path === path).map((one) => one.method);
  throw new BulkheadError("method_not_allowed", `${path} does not take ${method.slice(0, 32)}.`, {
    hint: `It takes ${allowed.join(", ")}.`,
    details: { allowed },
  });
}
