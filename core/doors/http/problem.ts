import { errorCodes, type ErrorData, errorDataOf } from "../../../plugin-sdk/errors.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import { refusedBySystem } from "../../ground/errors/to-error-data.ts";
import { withRoutes } from "./route-hints.ts";
import { textResponse } from "./text-response.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";

/** The request of a problem, for the log. */
interface ProblemPlace {
  writeLog(record: LogRecord): void;
  request: Request;
}

/** Preference (RFC 7240) of a client whose reader types commands: hints name these, not routes. */
export const commandHints = "hints=commands";

/** Errors after which a retry of the same request may succeed a little later. */
const passing: ReadonlySet<string> = new Set(["busy", "host_closed", "unavailable", "rate_limit", "limit_exceeded"]);

/**
 * Turns anything thrown into a problem document (RFC 9457). An error that is not ours is a defect: the client learns
 * only that, and the log gets the rest.
 */
export function problem(thrown: unknown, { writeLog, request }: ProblemPlace): Response {
  const told = errorDataOf(thrown) ?? refusedBySystem(thrown)?.toJSON() ?? null;
  const error = told === null || told.code === "internal" ? defect() : told;
  if (error.code === "internal") {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    writeLog({ level: "error", message: `The HTTP API failed: ${message}`, fields: placeOf(request) });
  }
  const { code, message, hint, details } = error;
  const status = errorTable[code].http_status;
  const headers: Record<string, string> = {};
  if (code === "unauthorized") headers["www-authenticate"] = 'Bearer realm="bulkhead"';
  const allowed = details?.["allowed"];
  if (code === "method_not_allowed" && Array.isArray(allowed)) headers["allow"] = allowed.join(", ");
  const wait = details?.["retry_after"];
  if (passing.has(code)) headers["retry-after"] = String(typeof wait === "number" ? wait : 1);
  const asksForCommands = request.headers.get("prefer") === commandHints;
  const body = {
    type: `urn:bulkhead:error:${code}`,
    title: errorCodes[code],
    status,
    detail: message,
    code,
    hint: hint === undefined || asksForCommands ? hint : withRoutes(hint),
    details: details && withoutStack(details),
  };
  return textResponse(JSON.stringify(body), { status, type: "application/problem+json", headers });
}

function placeOf({ method, url }: Request): { method: string; path: string } {
  return { method, path: new URL(url).pathname };
}

function defect(): ErrorData {
  const hint = "Its log says more; please report it.";
  return { code: "internal", message: "The host failed while it served the request.", hint };
}

/** Removes positions in files: only the files' author needs them, at the command line. */
function withoutStack({ stack: _, ...details }: Record<string, unknown>): Record<string, unknown> {
  return details;
}
