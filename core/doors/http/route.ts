import type { TSchema } from "@sinclair/typebox";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { SchemaOf } from "../../../plugin-sdk/schema.ts";
import type { HostWorkspaces } from "../../sessions/host/workspaces.ts";
import type { CallerSessions } from "./caller-sessions.ts";
import type { HttpDoorOptions } from "./door-options.ts";
import type { Meters } from "./meters.ts";
import { textResponse } from "./text-response.ts";
import type { Caller, TokenScope } from "./scopes.ts";

/** Collaborators of routes beside their caller's view: no route gets all sessions or worktrees. */
export interface ApiRouteDeps extends Pick<HttpDoorOptions, "tokens" | "limits"> {
  facts: Omit<HttpDoorOptions["facts"], "workspaces">;
  writeLog(record: LogRecord): void;
  meters: Meters;
}

/** One request to a route, checked. */
export interface Call<Q = unknown, B = unknown> {
  caller: Caller;
  /** Sessions as this caller may see and handle them. */
  sessions: CallerSessions;
  /** Worktrees as this caller may see and handle them. */
  workspaces: HostWorkspaces;
  /** Parts of the path, by name. */
  params: Readonly<Record<string, string>>;
  query: Q;
  body: B;
  headers: Headers;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
}

/** Answer of a route, for the OpenAPI document. */
export interface RouteAnswer {
  summary: string;
  /** Absent: no body. */
  schema?: TSchema;
  /** Default: `application/json`. */
  types?: readonly string[];
}

/** One route: a line in the OpenAPI document, and what it does. */
export interface ApiRoute<Q = unknown, B = unknown> {
  /** Name of the operation. */
  id: string;
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** With parts such as `{id}`. */
  path: string;
  summary: string;
  /** Scope that a token needs; `own`: `read`, or `run` for the token's own sessions; `public`: no token at all. */
  scope: TokenScope | "own" | "any" | "public";
  query?: SchemaOf<Q>;
  /** Header names that count. */
  heads?: readonly { name: string; summary: string }[];
  body?: SchemaOf<B>;
  answers: Readonly<Record<number, RouteAnswer>>;
  handle(call: Call<Q, B>, deps: ApiRouteDeps): Promise<Response> | Response;
}

/** A route whose query and body are what its schemas let through: the router checks them before it is called. */
export function route<Q = unknown, B = unknown>(one: ApiRoute<Q, B>): ApiRoute {
  return one as unknown as ApiRoute;
}

/** A JSON answer. */
export function json(value: unknown, { status = 200, headers = {} }: {
  status?: number;
  headers?: Record<string, string>;
} = {}): Response {
  return textResponse(JSON.stringify(value), { status, type: "application/json", headers });
}
