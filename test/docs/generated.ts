import { defaultLimits } from "../../core/ground/config/limits.ts";
import { errorTable } from "../../core/ground/errors/error-table.ts";
import { exitCodeRows } from "../../core/ground/errors/exit-codes.ts";
import { commandGroups } from "../../core/doors/cli/commands.ts";
import { routes } from "../../core/doors/http/routes/all.ts";
import { bulkheadSurface, type SurfaceDeps } from "../../core/doors/mcp/bulkhead-surface.ts";
import { hostEventTypes } from "../../plugin-sdk/envelope.ts";
import { errorCodes } from "../../plugin-sdk/errors.ts";
import { adapterEventTypes } from "../../plugin-sdk/events.ts";
import { neutralKinds } from "../../plugin-sdk/normalise.ts";
import { stopReasons } from "../../plugin-sdk/result.ts";
import { keptReport, peersTables } from "../bench/peers/peers-table.ts";
import { type Interface, interfacesOf, type Member } from "./members.ts";

const commands = commandGroups.flatMap((group) => group.commands);

/** The parts of the documents that are made from the code, by the name in their marker. */
export const generated: { readonly [name: string]: () => string } = {
  limits: limitsTable,
  errors: errorsTable,
  "exit-codes": exitCodesTable,
  "stop-reasons": stopReasonsTable,
  routes: routesTable,
  "mcp-tools": mcpToolsTable,
  commands: commandsTable,
  "event-kinds": eventKindsTable,
  "adapter-events": () => eventSections("plugin-sdk/events.ts", adapterEventTypes),
  "host-events": () => eventSections("plugin-sdk/envelope.ts", hostEventTypes),
  context: contextSections,
  request: () => fieldList(interfaceOf("plugin-sdk/request.ts", "SessionRequest")),
  peers: () => peersTables(keptReport()),
  result: () => fieldList(interfaceOf("plugin-sdk/result.ts", "SessionResult")),
};

function limitsTable(): string {
  const says = new Map(
    interfaceOf("core/ground/config/limits.ts", "Limits").members.map((one) => [one.name, one.says]),
  );
  const rows = Object.entries(defaultLimits).map(([name, value]) => [
    code(name),
    value.toLocaleString("en-US"),
    says.get(name) ?? "",
  ]);
  return table(["Limit", "Default", "What it bounds"], rows);
}

function errorsTable(): string {
  const rows = Object.entries(errorTable).map(([name, { http_status, exit_code, json_rpc_code }]) => [
    code(name),
    errorCodes[name as keyof typeof errorCodes],
    String(http_status),
    String(exit_code),
    String(json_rpc_code),
  ]);
  return table(["Code", "Meaning", "HTTP", "Exit", "JSON-RPC"], rows);
}

function exitCodesTable(): string {
  const rows = exitCodeRows().map(({ exit_code, meaning, stop_reasons, errors }) => [
    String(exit_code),
    meaning,
    [...new Set([...stop_reasons, ...errors])].map(code).join(", "),
  ]);
  return table(["Exit code", "Meaning", "Stop reasons and errors"], rows);
}

function stopReasonsTable(): string {
  const rows = Object.entries(stopReasons).map(([outcome, reasons]) => [code(outcome), reasons.map(code).join(", ")]);
  return table(["Outcome", "Stop reasons"], rows);
}

function routesTable(): string {
  const rows = routes.map(({ method, path, scope, summary }) => [code(`${method} ${path}`), scope, summary]);
  return table(["Route", "Scope", "What it does"], rows);
}

function mcpToolsTable(): string {
  // The tools are only described here; none of them is called.
  const { tools } = bulkheadSurface({} as SurfaceDeps);
  return table(["Tool", "What it does"], tools.map(({ name, description }) => [code(name), description ?? ""]));
}

function commandsTable(): string {
  return table(
    ["Command", "What it does"],
    commands.filter(({ hidden }) => hidden !== true).map(({ name, summary }) => [code(`bulkhead ${name}`), summary]),
  );
}

function eventKindsTable(): string {
  const rows = adapterEventTypes.map((type): string[] => [code(type), neutralKinds[type] ?? ""]);
  return table(["Event", "Neutral kind"], rows);
}

function eventSections(path: string, types: readonly string[]): string {
  const interfaces = [...interfacesOf(path).values()];
  return types.map((type) => {
    const found = interfaces.find(({ members }) => typeOf(members) === type);
    if (found === undefined) throw new Error(`Cannot document the event "${type}": ${path} has no interface of it.`);
    const fields = found.members.filter(({ name }) => name !== "type");
    return [`### ${code(type)}`, "", found.says, ...(fields.length === 0 ? [] : ["", fieldLines(fields)])].join("\n");
  }).join("\n\n");
}

function typeOf(members: readonly Member[]): string | undefined {
  return members.find(({ name }) => name === "type")?.type.replaceAll('"', "");
}

/** What `ctx` offers: its own members first, then those of the objects in it. */
function contextSections(): string {
  const file = "plugin-sdk/context.ts";
  const own = interfaceOf(file, "AdapterContext").members;
  const isGroup = ({ type, members }: Member) => members.length > 0 || interfacesOf(file).has(type);
  const groups = own.filter(isGroup).map((group) => {
    const { members, says } = group.members.length > 0 ? group : interfaceOf(file, group.type);
    return [`### ${code(`ctx.${group.name}`)}`, "", ...(says === "" ? [] : [says, ""]), callLines(members, group.name)]
      .join("\n");
  });
  return [callLines(own.filter((member) => !isGroup(member))), ...groups].join("\n\n");
}

function callLines(members: readonly Member[], group?: string): string {
  const prefix = group === undefined ? "ctx" : `ctx.${group}`;
  return members.map(({ name, type, says, throws }) => {
    const signature = type.startsWith("(") ? `${prefix}.${name}${type}` : `${prefix}.${name}: ${type}`;
    const thrown = throws.length === 0 ? "" : ` Throws ${throws.map(code).join(", ")}.`;
    return `- ${code(signature)}${says === "" && thrown === "" ? "" : `<br>${says}${thrown}`}`;
  }).join("\n");
}

function fieldList({ members }: Interface): string {
  return fieldLines(members);
}

function fieldLines(members: readonly Member[]): string {
  return members.map(({ name, type, optional, says }) =>
    `- ${code(`${name}${optional ? "?" : ""}: ${type}`)}${says === "" ? "" : `: ${says}`}`
  ).join("\n");
}

function interfaceOf(path: string, name: string): Interface {
  const found = interfacesOf(path).get(name);
  if (found === undefined) throw new Error(`Cannot document "${name}": ${path} exports no such interface.`);
  return found;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}
