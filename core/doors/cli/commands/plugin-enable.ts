import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { HostManifest } from "../../../ground/config/host-manifest.ts";
import { changeManifest } from "../../../packages/install/manifest-transaction.ts";
import { blockedError } from "../../../packages/registry/blocked-plugins.ts";
import { type EntryValue, setEnabled, setInEntry } from "../../../packages/registry/edit-plugin-entry.ts";
import { checkId } from "../../../packages/registry/instances.ts";
import type { Plugin } from "../../../packages/registry/plugin.ts";
import { checkPluginConfig } from "../../../packages/registry/plugin-config.ts";
import type { Host } from "../../../sessions/host/host.ts";
import type { Invocation } from "../command.ts";
import { manifestToChange } from "../installing.ts";
import { openHost } from "../open-host.ts";
import { typedParams } from "../session-request.ts";
import { pluginOf } from "./plugin-explain.ts";

/** `bulkhead plugin enable <id>`, and with `--as` an instance of it. */
export async function pluginEnable(call: Invocation): Promise<number> {
  await using opened = await openHost(call);
  const plugin = pluginOf(opened.host, call.args[0] ?? "");
  if (plugin.blocked !== undefined) throw blockedError(plugin.id, plugin.blocked);
  const { as } = call.options;
  const id = typeof as === "string" ? instanceId(as, { plugin, host: opened.host }) : plugin.id;
  const source: EntryValue[] = id === plugin.id ? [] : [[["source"], plugin.id]];
  const values = [...source, ...optionValues(call, { id, plugin, manifest: opened.manifest })];
  return await change(call, { id, enabled: true, values });
}

/** `bulkhead plugin disable <id>`. One that cannot be loaded can be disabled as well. */
export async function pluginDisable(call: Invocation): Promise<number> {
  return await change(call, { id: call.args[0] ?? "", enabled: false, values: [] });
}

/** @throws {BulkheadError} `invalid_config`, `duplicate_plugin` */
function instanceId(id: string, { plugin, host }: { plugin: Plugin; host: Host }): string {
  checkId(id);
  const base = plugin.manifest.id;
  if (plugin.origin === "inline" || base !== plugin.id) {
    const what = plugin.origin === "inline" ? "a tool of the host manifest" : "an instance itself";
    throw new BulkheadError("invalid_config", `Cannot make an instance of "${plugin.id}": it is ${what}.`, {
      ...(plugin.origin === "inline" ? {} : { hint: `bulkhead plugin enable ${base} --as ${id}` }),
    });
  }
  const known = host.registry.get(id);
  if (known === undefined || (known.id !== base && known.manifest.id === base)) return id;
  throw new BulkheadError("duplicate_plugin", `Cannot name an instance "${id}": another plugin has that id.`, {
    hint: `Choose another id, ${id}-2 for example.`,
    details: { plugin_id: id },
  });
}

/** Reads `--option` flags; with those that are set already they must be what the plugin declares. */
function optionValues(
  { options }: Invocation,
  { id, plugin: { manifest: own }, manifest }: { id: string; plugin: Plugin; manifest: HostManifest | undefined },
): EntryValue[] {
  const given = typedParams(options["option"], own.config);
  const plugins = manifest?.plugins ?? {};
  const before = Object.hasOwn(plugins, id) ? plugins[id]!.config : {};
  checkPluginConfig(own.config, { ...before, ...given }, { where: ({ option }) => `--option ${option}` });
  return Object.entries(given).map(([option, value]): EntryValue => [["config", option], value]);
}

async function change(
  call: Invocation,
  { id, enabled, values }: { id: string; enabled: boolean; values: readonly EntryValue[] },
): Promise<number> {
  const { file } = await manifestToChange(call);
  const changed = await changeManifest(file, async ({ text, writeText }) => {
    const after = setEnabled(setInEntry(text, { pluginId: id, values, file }), { pluginId: id, enabled, file });
    if (after !== text) await writeText(after);
    return after !== text;
  });
  const { terminal, json } = call;
  const state = enabled ? "enabled" : "disabled";
  await terminal.stdout.write(
    json
      ? `${JSON.stringify({ plugin_id: id, enabled, changed, file })}\n`
      : `${id} is ${state}${changed ? "" : " already"} (${file}).\n`,
  );
  return 0;
}
