import { errorCodes, type ErrorData, errorDataOf } from "../../../plugin-sdk/errors.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import { refusedBySystem } from "../../ground/errors/to-error-data.ts";
import { textResponse } from "./text-response.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { readGrantCommand } from "../../ground/config/grant-command.ts";

/** The request of a problem, for the log. */
interface ProblemPlace {
  writeLog(record: LogRecord): void;
  request: Request;
}

/** Preference (RFC 7240) of a client whose reader types commands: hints name these, not routes. */
export const commandHints = "hints=commands";

/** Errors after which a retry of the same request may succeed a little later. */
const passing: ReadonlySet<string> = new Set(["busy", "host_closed", "unavailable", "rate_limit", "limit_exceeded"]);

/** Turns anything thrown into a problem document (RFC 9457). A defect is told to the log alone. */
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

/** Commands that hints name, and the routes that do the same. */
const routes: readonly (readonly [command: RegExp, route: (...parts: string[]) => string])[] = [
  [/bulkhead plugin grant [a-z0-9-]+ (?:[^\s'"]+|'[^]*')/, (command) => grantRoute(command)],
  [/bulkhead plugin explain ([a-z0-9-]+)/, (_, id) => `GET /v1/plugins/${id}`],
  [/bulkhead plugin list/, () => "GET /v1/plugins"],
  [/bulkhead session interrupt ([\w-]+)/, (_, id) => `POST /v1/sessions/${id}/interrupt`],
  [/bulkhead session delete ([\w-]+)/, (_, id) => `DELETE /v1/sessions/${id}`],
  [/bulkhead session diff(?: ([0-9a-f-]{8,}))?/, (_, id) => `GET /v1/sessions/${id ?? "{id}"}/diff`],
  [/bulkhead session list/, () => "GET /v1/sessions"],
  [/bulkhead agents/, () => "GET /v1/agents"],
  [/bulkhead reload/, () => "POST /v1/reload"],
  [/bulkhead status/, () => "GET /health"],
];

/** Replaces commands in a hint with the routes that do the same; other commands are the operator's to run. */
export function withRoutes(hint: string): string {
  return routes.reduce((text, [command, route]) => text.replace(command, route), hint);
}

function grantRoute(command: string): string {
  const { pluginId, word } = readGrantCommand(command) ?? {};
  if (pluginId === undefined || word === undefined) return command;
  const [permission = "", ...target] = word.split(":");
  const body = { permission, target: target.length === 0 ? permission : target.join(":") };
  return `POST /v1/plugins/${pluginId}/grants ${JSON.stringify(body)}`;
}
