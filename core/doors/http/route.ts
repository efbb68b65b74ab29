import type { TSchema } from "@sinclair/typebox";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { SchemaOf } from "../../../plugin-sdk/schema.ts";
import type { HostWorkspaces } from "../../sessions/host/state/workspaces.ts";
import type { CallerSessions } from "./caller-sessions.ts";
import type { HttpDoorOptions } from "./door-options.ts";
import type { Meters } from "./meters.ts";
import type { OneTimeCodes } from "./one-time-codes.ts";
import type { StreamTokens } from "./stream-tokens.ts";
import { textResponse } from "./text-response.ts";
import type { Caller, TokenScope } from "./scopes.ts";

/** Collaborators of routes. They exclude the unfiltered sessions and worktrees: a route gets its caller's only. */
export interface ApiRouteDeps extends Pick<HttpDoorOptions, "tokens" | "limits" | "hosts"> {
  facts: Omit<HttpDoorOptions["facts"], "workspaces">;
  writeLog(record: LogRecord): void;
  meters: Meters;
  streamTokens: StreamTokens;
  codes: OneTimeCodes;
}

/** One request to a route, after its checks. */
export interface Call<Q = unknown, B = unknown> {
  caller: Caller;
  /** Sessions, restricted to what this caller may see and control. */
  sessions: CallerSessions;
  /** Worktrees, restricted to what this caller may see and control. */
  workspaces: HostWorkspaces;
  /** Parts of the path, by name. */
  params: Readonly<Record<string, string>>;
  query: Q;
  body: B;
  /** The bytes of a body that is no JSON, as they come. */
  bytes: AsyncIterable<Uint8Array>;
  headers: Headers;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
}

/** An answer of a route, for the OpenAPI document. */
export interface RouteAnswer {
  summary: string;
  /** Absent: no body. */
  schema?: TSchema;
  /** Default: `application/json`. */
  types?: readonly string[];
}

/** One route: its entry in the OpenAPI document, and its handler. */
export interface ApiRoute<Q = unknown, B = unknown> {
  /** Name of the operation. */
  id: string;
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** May have parts like `{id}`. */
  path: string;
  summary: string;
  /** Required scope; `own`: `read`, or `run` for the token's own sessions; `public`: no token at all. */
  scope: TokenScope | "own" | "any" | "public";
  query?: SchemaOf<Q>;
  /** Names of headers that the route reads. */
  heads?: readonly { name: string; summary: string }[];
  body?: SchemaOf<B>;
  /** Takes a body of any type, of this many bytes at most, instead of JSON. */
  maxBytes?: number;
  answers: Readonly<Record<number, RouteAnswer>>;
  handle(call: Call<Q, B>, deps: ApiRouteDeps): Promise<Response> | Response;
}

/** A route as its file writes it, with method and path in one text such as `GET /v1/sessions/{id}`. */
interface WrittenRoute<Q, B> extends Omit<ApiRoute<Q, B>, "method" | "path"> {
  at: `${ApiRoute["method"]} /${string}`;
}

/** Creates a route that gets its query and body as its schemas say: the router checks both before the call. */
export function route<Q = unknown, B = unknown>({ at, ...rest }: WrittenRoute<Q, B>): ApiRoute {
  const [method, path] = at.split(" ");
  return { ...rest, method, path } as unknown as ApiRoute;
}

/** Answers of a route that has one. */
export function ok(summary: string, schema?: TSchema): ApiRoute["answers"] {
  return { 200: { summary, ...(schema === undefined ? {} : { schema }) } };
}

/** Creates a JSON answer. */
export function json(value: unknown, { status = 200, headers = {} }: {
  status?: number;
  headers?: Record<string, string>;
} = {}): Response {
  return textResponse(JSON.stringify(value), { status, type: "application/json", headers });
}
