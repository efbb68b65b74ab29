import type { SessionRequest } from "../../../plugin-sdk/request.ts";

/** Redacts the environment's values in a request: they may be credentials, and the journal outlives the session. */
export function recordedRequest(request: SessionRequest): SessionRequest {
  if (request.env === undefined) return request;
  return { ...request, env: Object.fromEntries(Object.keys(request.env).map((name) => [name, "[redacted]"])) };
}
