import type { SessionRequest } from "../../../plugin-sdk/request.ts";

/** A request as it is recorded: what it sets in the environment may be a credential, and the journal outlives it. */
export function recordedRequest(request: SessionRequest): SessionRequest {
  if (request.env === undefined) return request;
  return { ...request, env: Object.fromEntries(Object.keys(request.env).map((name) => [name, "[redacted]"])) };
}
