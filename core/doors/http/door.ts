import type { RequestSource } from "../../ground/platform/net/http-server.ts";
import { callerSessions } from "./caller-sessions.ts";
import { callerWorkspaces } from "./caller-workspaces.ts";
import { checkOrigin } from "./check-origin.ts";
import { problem } from "./problem.ts";
import { createRouter } from "./router.ts";
import { StreamTokens } from "./stream-tokens.ts";
import { OneTimeCodes } from "./one-time-codes.ts";
import type { Caller } from "./scopes.ts";
import { hostClosed, Meters } from "./meters.ts";
import type { HttpDoorOptions, Mount } from "./door-options.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { TokenStore } from "./tokens.ts";

/** The HTTP API, independent of the server that takes its requests. */
export interface HttpDoor {
  /** Answers a request; never rejects. */
  fetch(request: Request, from: RequestSource): Promise<Response>;
  /** Ends all streams and refuses further requests. */
  close(): void;
}

/** Creates the HTTP API of a host. */
export function createHttpDoor(options: HttpDoorOptions): HttpDoor {
  const { limits, tokens, writeLog = () => {} } = options;
  let closed = false;
  const meters = new Meters(limits);
  const streamTokens = new StreamTokens(tokens);
  const router = createRouter({ ...options, writeLog, meters, streamTokens, codes: new OneTimeCodes() });

  return {
    fetch: async (request, from) => {
      try {
        return secure(await answer(request, from));
      } catch (error) {
        return secure(problem(error, { writeLog, request }));
      }
    },
    close() {
      closed = true;
      meters.endStreams();
    },
  };

  async function answer(request: Request, from: RequestSource): Promise<Response> {
    checkOrigin(request, from, options.hosts());
    if (closed) throw hostClosed();
    const page = await options.pages?.(request);
    if (page) return page;
    const open = router.openTo(request);
    if (open) return await router.fetch(request, null);
    const caller = await authenticate(request, { from, tokens, meters });
    meters.count(caller);
    const { pathname } = new URL(request.url);
    const mount = options.mounts?.find(({ path }) => path === pathname);
    if (mount === undefined) return await router.fetch(request, caller);
    const answer = await mount.handle(request, mountCaller(caller, options));
    return mountedStream(answer, { caller, meters, streamTokens, counts: request.method === "GET" });
  }
}

/** Gives another protocol what one caller may see and control, by the same rules as the routes. */
function mountCaller(
  caller: Caller,
  { sessions, facts: { workspaces }, owners }: HttpDoorOptions,
): Parameters<Mount["handle"]>[1] {
  return {
    client: caller.id,
    sessions: callerSessions(caller, { sessions, owners }),
    workspaces: callerWorkspaces(caller, { workspaces, owners }),
  };
}

/** Headers of every answer. They tell a browser not to render, cache or share it. */
const alwaysSent: readonly (readonly [name: string, value: string])[] = [
  ["cache-control", "no-store"],
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
  ["cross-origin-resource-policy", "same-origin"],
  ["referrer-policy", "no-referrer"],
  ["x-content-type-options", "nosniff"],
];

/** Adds the headers that every answer must have; a page has a policy of its own. */
function secure(response: Response): Response {
  for (const [name, value] of alwaysSent) {
    if (name !== "content-security-policy" || !response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}

/**
 * Identifies a request's caller by its bearer token, over TCP and over the unix socket alike. Access to the socket
 * proves nothing: a plugin's process may be able to connect to it, yet unable to read the token's file.
 * @throws {BulkheadError} `unauthorized`; `limit_exceeded` for an address that fails too often
 */
async function authenticate(
  request: Request,
  { from, tokens, meters }: { from: RequestSource; tokens: TokenStore; meters: Meters },
): Promise<Caller> {
  const header = request.headers.get("authorization");
  const token = header === null ? null : /^Bearer ([\w-]{1,256})$/i.exec(header)?.[1] ?? null;
  const caller = token === null ? null : await check(tokens, token);
  if (caller !== null) return caller;
  // Count only failures: guessing must never shut out a valid token.
  meters.countRefusal(from.address ?? from.kind);
  const why = header === null ? "it carries no token" : "its token is unknown, revoked or expired";
  throw new BulkheadError("unauthorized", `Cannot serve the request: ${why}.`, {
    hint:
      'Send "Authorization: Bearer <token>"; "bulkhead token create" makes one, and http/token in the state folder ' +
      "holds the operator's.",
  });
}

/** Hides errors of the token file from a caller without a token: they go to the log. */
async function check(tokens: TokenStore, token: string): Promise<Caller | null> {
  try {
    return await tokens.check(token);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`no token can be checked. ${why}`, { cause });
  }
}

interface MountedStreamOptions {
  caller: Caller;
  meters: Meters;
  streamTokens: StreamTokens;
  /** Whether it counts as a stream of events: one that only carries an answer does not. */
  counts: boolean;
}

/**
 * Applies the rules of the API's own streams to another protocol's answer: it ends when its token does, or when the
 * door closes.
 * @throws {BulkheadError} `limit_exceeded`, `host_closed`
 */
function mountedStream(response: Response, options: MountedStreamOptions): Response {
  const { caller, meters, streamTokens, counts } = options;
  const { body } = response;
  if (body === null || !response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
  const reader = body.getReader();
  let closeStream = (): void => {};
  const end = (): void => {
    unwatch();
    closeStream();
    void reader.cancel().catch(() => {});
  };
  const unwatch = streamTokens.watch(caller, end);
  try {
    if (counts) closeStream = meters.openStream(caller, end);
  } catch (error) {
    end();
    throw error;
  }
  const held = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await reader.read().catch((error: unknown) => {
        end();
        throw error;
      });
      if (!next.done) return controller.enqueue(next.value);
      end();
      controller.close();
    },
    cancel: end,
  }, { highWaterMark: 0 });
  return new Response(held, response);
}
