import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { RequestSource } from "../../ground/runtime/http-server.ts";

/**
 * Refuses requests from foreign web pages. Such a page reaches this host only through a domain that resolves to it
 * (then `Host` shows it), or across origins (then the browser's headers show it).
 * @throws {BulkheadError} `forbidden`
 */
export function checkOrigin(request: Request, from: RequestSource, hosts: readonly string[]): void {
  const { headers } = request;
  const host = headers.get("host");
  const allowed = from.kind === "unix" ? ["localhost"] : hosts;
  if (host === null || !allowed.includes(host.toLowerCase())) {
    throw refused(`its Host header is ${host === null ? "missing" : "not this server's"}`, { allowed });
  }
  const origin = headers.get("origin");
  if (origin !== null && (from.kind === "unix" || !hosts.some((name) => origin === `http://${name}`))) {
    throw refused("it comes from another origin");
  }
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") throw refused("a page of another site made it");
}

function refused(why: string, details?: Record<string, unknown>): BulkheadError {
  return new BulkheadError("forbidden", `Cannot serve the request: ${why}.`, {
    hint: "Call the API from a program, at the address that the host prints.",
    details,
  });
}
