import type { RequestSource } from "../../ground/runtime/http-server.ts";
import { authenticate } from "./authenticate.ts";
import { callerSessions } from "./caller-sessions.ts";
import { callerWorkspaces } from "./caller-workspaces.ts";
import { checkOrigin } from "./check-origin.ts";
import { mountedStream } from "./mounted-stream.ts";
import { problem } from "./problem.ts";
import { createRouter } from "./router.ts";
import { StreamTokens } from "./stream-tokens.ts";
import { OneTimeCodes } from "./one-time-codes.ts";
import type { Caller } from "./scopes.ts";
import { hostClosed, Meters } from "./meters.ts";
import type { HttpDoorOptions, Mount } from "./door-options.ts";

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
