import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { RequestSource } from "../../ground/platform/net/http-server.ts";

/**
 * Refuses requests from foreign web pages. Such a page reaches this host only through a domain that resolves to it
 * (then `Host` shows it), or across origins (then the browser's headers show it).
 * @throws {BulkheadError} `forbidden`
 */
export function checkOrigin(request: Request, from: RequestSource, hosts: readonly string[]): void {
  const { headers } = request;
  const host = headers.get("host");
  const site = headers.get("sec-fetch-site");
  const allowed = from.kind === "unix" ? ["localhost"] : hosts;
  const isOurs = host !== null && allowed.includes(host.toLowerCase());
  if (!isOurs && !(from.kind === "tcp" && site !== null && loopback.test(host ?? ""))) {
    throw refused(`its Host header is ${host === null ? "missing" : "not this server's"}`, { allowed });
  }
  const origin = headers.get("origin");
  if (origin !== null && (from.kind === "unix" || origin !== `http://${host?.toLowerCase()}`)) {
    throw refused("it comes from another origin");
  }
  if (site !== null && site !== "same-origin" && site !== "none") throw refused("a page of another site made it");
}

/**
 * Address of a forwarded port, as of `ssh -L`. Served to browsers only, which no foreign page makes name it: a program
 * needs an address that the operator has named, else another program at the port could pass its requests on.
 */
const loopback = /^(?:127\.0\.0\.1|localhost|\[::1\]):\d{1,5}$/i;

/** Whether this server may prove itself as a host: as its socket, and where only it or a named one listens. */
export function isProvable(host: string, hosts: readonly string[]): boolean {
  return host === "localhost" || (hosts.includes(host) && !host.startsWith("localhost:"));
}

function refused(why: string, details?: Record<string, unknown>): BulkheadError {
  return new BulkheadError("forbidden", `Cannot serve the request: ${why}.`, {
    hint: "Call the API from a program, at the address that the host prints, or at one of daemon.addresses.",
    details,
  });
}
