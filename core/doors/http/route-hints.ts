import { readGrantCommand } from "../../ground/config/grant-command.ts";

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
