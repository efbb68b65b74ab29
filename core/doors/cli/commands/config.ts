import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { type EffectiveSetting, effectiveSettings } from "../../../ground/config/effective-settings.ts";
import type { HostManifest } from "../../../ground/config/host-manifest.ts";
import { hostManifestError, type ValueOrigin } from "../../../ground/config/host-manifest-places.ts";
import { createRegistry, type Registry } from "../../../packages/registry/registry.ts";
import { routingFaults } from "../../../packages/registry/routing-faults.ts";
import { grantNotes } from "../../../packages/permissions/unasked-grants.ts";
import { basename, dirname } from "../../../ground/platform/files/paths.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { loadManifest } from "../open-host.ts";
import { safeLine } from "../render/agent-text.ts";
import { createPaint } from "../render/paint.ts";
import { plural } from "../render/quantities.ts";
import { tableLines } from "../render/table.ts";
import { tableColumns } from "../show-session.ts";

/** `bulkhead config check|show`. */
export const defineConfig: DefineCommand = (command, bind) => {
  command.usage("<check|show> [flags]").addHelpText(
    "after",
    examples(
      ["bulkhead config check", "every fault of bulkhead.yaml at line and column"],
      ["bulkhead config show", "what is in force, and where each value comes from"],
    ),
  );
  command.command("check")
    .description("check bulkhead.yaml, its lock and the options of its plugins")
    .addHelpText("after", examples(["bulkhead config check --config ops/bulkhead.yaml", "before it is used"]))
    .action(bind(check));
  command.command("show")
    .description("show every setting that is in force, and where it comes from; what may be secret is hidden")
    .addHelpText("after", examples(["bulkhead config show --json", "one setting a line"]))
    .action(bind(show));
};

async function check(call: Invocation): Promise<number> {
  const manifest = await written(call);
  const registry = await createRegistry({ manifest, root: dirname(manifest.file) });
  const wrong = registry.problems.filter(({ unavailable }) => unavailable).map(({ error }) => error);
  // A plugin that cannot be used is no id of an enabled one: said once.
  const faults = routingFaults(manifest, [...registry.list(), ...stopped(registry)]);
  if (faults.length > 0) wrong.push(hostManifestError(manifest, faults));
  if (wrong.length > 0) throw oneOf(wrong);
  const plugins = registry.list().filter((plugin) => plugin.enabled);
  const enabled = plugins.map(({ id }) => id);
  const notes = plugins.flatMap((plugin) => grantNotes(plugin).map((one) => ({ plugin_id: plugin.id, ...one })));
  const blocked = registry.list().flatMap(({ id, blocked: why }) =>
    why !== undefined && Object.hasOwn(manifest.plugins, id) ? [{ id, why }] : []
  );
  const { terminal, json } = call;
  await terminal.stdout.write(
    json
      ? `${
        JSON.stringify({ file: manifest.file, valid: true, enabled, blocked: blocked.map(({ id }) => id), notes })
      }\n`
      : `${manifest.file} is valid. ${plural(enabled.length, "plugin")} enabled${
        enabled.length === 0 ? "" : `: ${enabled.join(", ")}`
      }.\n${blocked.map(({ id, why }) => `Not "${id}": ${safeLine(why)}.\n`).join("")}${
        notes.map(({ permission, target, note }) => `Note: ${safeLine(`${permission} ${target}`)}: ${note}\n`).join("")
      }`,
  );
  return 0;
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
  const settings = effectiveSettings(await written(call));
  const { terminal, json } = call;
  if (json) {
    for (const setting of settings) await terminal.stdout.write(`${JSON.stringify(setting)}\n`);
    return 0;
  }
  const rows = settings.map(({ key, origin, ...setting }) => [
    key,
    { text: originText(origin), tone: origin.from === "default" ? "dim" as const : "green" as const },
    valueText(setting),
  ]);
  const paint = createPaint(terminal.colours.stdout);
  const lines = tableLines(rows, { paint, columns: tableColumns(terminal), head: ["setting", "from", "value"] });
  await terminal.stdout.write(`${lines.join("\n")}\n`);
  return 0;
}

async function written(call: Invocation): Promise<HostManifest & { file: string }> {
  const manifest = await loadManifest(call);
  if (manifest?.file !== undefined) return manifest as HostManifest & { file: string };
  throw new BulkheadError("not_found", "There is no bulkhead.yaml here or above.", {
    hint: 'Write one with "bulkhead init".',
  });
}

function valueText({ value, hidden }: Pick<EffectiveSetting, "value" | "hidden">): string {
  return hidden ? "(hidden)" : safeLine(JSON.stringify(value) ?? "");
}

function originText(origin: ValueOrigin): string {
  if (origin.from === "default") return "default";
  const place = `${basename(origin.file)}:${origin.line}:${origin.column}`;
  return origin.from === "file" ? place : `${origin.names.map((name) => `$${name}`).join(", ")} in ${place}`;
}
