import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { effectiveSettings } from "../../../ground/config/effective-settings.ts";
import type { BudgetSettings } from "../../../ground/config/budget-settings.ts";
import { hostManifestError, type ValueOrigin } from "../../../ground/config/host-manifest-places.ts";
import { createRegistry, type Registry } from "../../../packages/registry/registry.ts";
import { routingFaults } from "../../../packages/registry/routing-faults.ts";
import { grantNotes } from "../../../packages/permissions/unasked-grants.ts";
import { toolNotes } from "../../../packages/manifest/tool-faults.ts";
import { basename, dirname } from "../../../ground/platform/files/paths.ts";
import { type DefineCommand, examples, type Invocation, tell, tellEach } from "../command.ts";
import { fileManifest } from "../open-host.ts";
import { safeLine } from "../render/agent-text.ts";
import { createPaint } from "../render/paint.ts";
import { plural } from "../render/quantities.ts";
import { tableLines } from "../render/table.ts";
import { tableColumns } from "../show-session.ts";

/** `bulkhead config check|show`. */
export const defineConfig: DefineCommand = (command, bind) => {
  command.usage("<check|show> [flags]").addHelpText(...examples(
    ["bulkhead config check", "every fault of bulkhead.yaml at line and column"],
    ["bulkhead config show", "what is in force, and where each value comes from"],
  ));
  command.command("check")
    .description("check bulkhead.yaml, its lock and the options of its plugins")
    .addHelpText(...examples(["bulkhead config check --config ops/bulkhead.yaml", "before it is used"]))
    .action(bind(check));
  command.command("show")
    .description("show every setting that is in force, and where it comes from; what may be secret is hidden")
    .addHelpText(...examples(["bulkhead config show --json", "one setting a line"]))
    .action(bind(show));
};

async function check(call: Invocation): Promise<number> {
  const manifest = await fileManifest(call);
  const registry = await createRegistry({ manifest, root: dirname(manifest.file) });
  const wrong = registry.problems.filter(({ unavailable }) => unavailable).map(({ error }) => error);
  // A plugin that cannot be used is no id of an enabled one: said once.
  const faults = routingFaults(manifest, [...registry.list(), ...stopped(registry)]);
  if (faults.length > 0) wrong.push(hostManifestError(manifest, faults));
  if (wrong.length > 0) throw oneOf(wrong);
  const plugins = registry.list().filter((plugin) => plugin.enabled);
  const enabled = plugins.map(({ id }) => id);
  const notes = plugins.flatMap((plugin) => [
    ...grantNotes(plugin).map((one) => ({ plugin_id: plugin.id, ...one })),
    ...toolNotes(plugin.manifest).map((note) => ({
      plugin_id: plugin.id,
      permission: "run",
      target: `${plugin.id}: {prompt}`,
      note,
    })),
  ]);
  const blocked = registry.list().flatMap(({ id, blocked: why }) =>
    why !== undefined && Object.hasOwn(manifest.plugins, id) ? [{ id, why }] : []
  );
  const named = enabled.length === 0 ? "" : `: ${enabled.join(", ")}`;
  const lines = [
    `${manifest.file} is valid. ${plural(enabled.length, "plugin")} enabled${named}.`,
    ...Object.entries(manifest.budgets ?? {}).map((one) => budgetText(one, manifest.cluster !== undefined)),
    ...blocked.map(({ id, why }) => `Not "${id}": ${safeLine(why)}.`),
    ...notes.map(({ permission, target, note }) => `Note: ${safeLine(`${permission} ${target}`)}: ${note}`),
  ];
  const data = { file: manifest.file, valid: true, enabled, blocked: blocked.map(({ id }) => id), notes };
  return await tell(call, data, lines.join("\n"));
}

/** Says what a budget is, and whether it can be held. */
function budgetText([name, { labels = {}, per, cost, tokens }]: [string, BudgetSettings], inCluster: boolean): string {
  const most = [...(cost === undefined ? [] : [`${cost}`]), ...(tokens === undefined ? [] : [`${tokens} tokens`])];
  const words = Object.entries(labels).map(([key, value]) => safeLine(`${key}=${value}`));
  const whom = words.length === 0 ? "all sessions" : `sessions with the label ${words.join(" and ")}`;
  const text = `Budget "${name}": ${most.join(" and ")}${per === undefined ? " in all" : ` a ${per}`}, for ${whom}.`;
  return inCluster
    ? `${text} A cluster cannot hold it: those sessions are refused, unless they set best_effort.`
    : text;
}

/** Plugins that are told already, as if they were enabled. */
function stopped({ problems }: Pick<Registry, "problems">): { id: string; enabled: boolean }[] {
  return problems.flatMap(({ id, unavailable }) => unavailable ? [{ id, enabled: true }] : []);
}

function oneOf(errors: readonly BulkheadError[]): BulkheadError {
  const [first] = errors;
  if (first && errors.length === 1) return first;
  const details = { errors: errors.map((error) => error.toJSON()) };
  const message = errors.map((error) => error.message).join("\n");
  return new BulkheadError(first?.code ?? "internal", message, { hint: first?.hint, details });
}

async function show(call: Invocation): Promise<number> {
  const settings = effectiveSettings(await fileManifest(call));
  const { terminal } = call;
  const rows = settings.map(({ key, origin, ...setting }) => [
    key,
    { text: originText(origin), tone: origin.from === "default" ? "dim" as const : "green" as const },
    setting.hidden ? "(hidden)" : safeLine(JSON.stringify(setting.value) ?? ""),
  ]);
  const paint = createPaint(terminal.colours.stdout);
  const lines = tableLines(rows, { paint, columns: tableColumns(terminal), head: ["setting", "from", "value"] });
  return await tellEach(call, settings, () => lines.join("\n"));
}

function originText(origin: ValueOrigin): string {
  if (origin.from === "default") return "default";
  const place = `${basename(origin.file)}:${origin.line}:${origin.column}`;
  return origin.from === "file" ? place : `${origin.names.map((name) => `$${name}`).join(", ")} in ${place}`;
}
