import { askForAll, notAsked } from "../../decide-grants.ts";
import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import type { HostManifest } from "../../../../ground/config/host-manifest.ts";
import { grantsCommand } from "../../../../ground/config/grant-command.ts";
import { grantsFor, grantWord, isSameGrant } from "../../../../packages/install/asked-permissions.ts";
import { changeManifest } from "../../../../packages/install/manifest-transaction.ts";
import { blockedError } from "../../../../packages/registry/blocked-plugins.ts";
import { addGrant, type NewGrant } from "../../../../packages/manifest/edit-host-manifest.ts";
import { type EntryValue, setEnabled, setInEntry } from "../../../../packages/manifest/edit-plugin-entry.ts";
import { checkId } from "../../../../packages/registry/instances.ts";
import type { Plugin } from "../../../../packages/manifest/plugin.ts";
import { checkPluginConfig } from "../../../../packages/manifest/plugin-config.ts";
import type { Host } from "../../../../sessions/host/host.ts";
import { type Invocation, tell } from "../../command.ts";
import { createPaint } from "../../render/paint.ts";
import { safeLine } from "../../render/agent-text.ts";
import { drawingColumns } from "../../show-session.ts";
import { type SetupSheet, setupSheet, sheetLines } from "../../setup/setup-sheet.ts";
import { manifestToAddTo } from "../../installing.ts";
import { errorOf, faultText, loadFaultAfter } from "../../load-fault.ts";
import { fileManifest, openHost } from "../../open-host.ts";
import { parseGrant } from "../../parse-grant.ts";
import { pinGranted } from "../../pin-granted.ts";
import { Questions } from "../../questions.ts";
import { typedParams } from "../../session-request.ts";
import { pluginOf } from "../../../../packages/registry/unknown-plugin.ts";
import { asTyped } from "../../render/as-typed.ts";

/** `bulkhead plugin enable <id>`, and with `--as` an instance of it. */
export async function pluginEnable(call: Invocation): Promise<number> {
  await using opened = await openHost(call);
  const plugin = pluginOf(opened.host.registry, call.args[0] ?? "");
  if (plugin.blocked !== undefined) throw blockedError(plugin.id, plugin.blocked);
  const { as } = call.options;
  const id = typeof as === "string" ? instanceId(as, { plugin, host: opened.host }) : plugin.id;
  const source: EntryValue[] = id === plugin.id ? [] : [[["source"], plugin.id]];
  const given = givenOptions(call, { id, plugin, manifest: opened.manifest });
  const values = [
    ...source,
    ...Object.entries(given).map(([option, value]): EntryValue => [["config", option], value]),
  ];
  const { grant = {}, config = {} } = opened.manifest?.plugins[id] ?? {};
  const asks = setupSheet({
    plugin: { ...plugin, id, grant, enabled: true, config: { ...plugin.config, ...config, ...given } },
  }, opened.manifest?.file);
  const grants = await decide(call, asks);
  if (grants !== null) return await change(call, { id, host: opened.host, values, asks, grants });
  await call.terminal.stdout.write("Nothing was changed.\n");
  return 0;
}

/** `bulkhead plugin disable <id>`. One that cannot be loaded can be disabled as well. */
export async function pluginDisable(call: Invocation): Promise<number> {
  return await change(call, { id: call.args[0] ?? "", host: null, values: [], grants: [] });
}

/**
 * Decides which grants go with it: those that `--grant` names, else the answer at the terminal; null to change nothing.
 * @throws {BulkheadError} `invalid_config` for a grant that is not asked for
 */
async function decide(call: Invocation, asks: SetupSheet): Promise<NewGrant[] | null> {
  const { terminal, json, options } = call;
  const named = options["grant"] as string[] | undefined;
  if (named !== undefined) return named.map((typed) => askedGrant(typed, asks));
  // An operator seldom wants to grant everything to a plugin for many programs.
  const { length } = asks.grants;
  if (length === 0 || length > shownGrants || json || !Questions.possible(terminal)) return [];
  await terminal.stdout.write(`${sheetOf(asks, call).join("\n")}\n`);
  return await askForAll(call, { question: "Enable it and grant all of this?", wanted: asks.grants });
}

function askedGrant(typed: string, { id, grants }: SetupSheet): NewGrant {
  const wanted = { pluginId: id, ...parseGrant(typed) };
  if (grants.some((one) => isSameGrant(one, wanted))) return wanted;
  throw notAsked(id, wanted, grants);
}

/** @throws {BulkheadError} `invalid_config`, `duplicate_plugin` */
function instanceId(id: string, { plugin, host }: { plugin: Plugin; host: Host }): string {
  checkId(id);
  const base = plugin.manifest.id;
  if (plugin.origin === "inline" || base !== plugin.id) {
    const what = plugin.origin === "inline" ? "a tool of the host manifest" : "an instance itself";
    throw new BulkheadError("invalid_config", `Cannot make an instance of "${plugin.id}": it is ${what}.`, {
      hint: plugin.origin === "inline" ? undefined : `bulkhead plugin enable ${base} --as ${id}`,
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
function givenOptions(
  { options }: Invocation,
  { id, plugin: { manifest: own }, manifest }: { id: string; plugin: Plugin; manifest: HostManifest | undefined },
): Record<string, unknown> {
  const given = typedParams(options["option"], own.config);
  const plugins = manifest?.plugins ?? {};
  const before = Object.hasOwn(plugins, id) ? plugins[id]!.config : {};
  checkPluginConfig(own.config, { ...before, ...given }, { where: ({ option }) => `--option ${option}` });
  return given;
}

interface EntryChange {
  id: string;
  /** Host in which it is tried once it is enabled; null: it is disabled. */
  host: Host | null;
  values: readonly EntryValue[];
  /** Permissions that it asks for and is not granted. */
  asks?: SetupSheet;
  /** Permissions that this call grants. */
  grants: readonly NewGrant[];
}

async function change(
  call: Invocation,
  { id, host, values, asks, grants }: EntryChange,
): Promise<number> {
  const enabled = host !== null;
  const { file } = await (enabled ? manifestToAddTo(call) : fileManifest(call));
  const changed = await changeManifest(file, async ({ text, writeText }) => {
    let after = setEnabled(setInEntry(text, { pluginId: id, values, file }), { pluginId: id, enabled, file });
    for (const grant of grants) after = addGrant(after, grant, { file });
    if (after !== text) await writeText(after);
    return after !== text;
  });
  for (const { permission, target } of grants) {
    if (permission === "run") await pinGranted(call, { pluginId: id, binary: target });
  }
  const fault = enabled ? await loadFaultAfter(host, { call, id }) : null;
  const left = asks === undefined ? null : withoutGrants(asks, grants);
  const missing = left === null ? {} : { missing: left.grants.map(grantWord) };
  const state = `${id} is ${enabled ? "enabled" : "disabled"}${changed ? "" : " already"}`;
  const granted = grants.length === 0 ? "" : ` and may now: ${grants.map(grantWord).join(", ")}`;
  const asked = left === null ? "" : asksText(left, call);
  const text = `${state}${safeLine(granted)} (${file}).${faultText(fault)}${asked}`;
  return await tell(call, { plugin_id: id, enabled, changed, file, ...missing, ...errorOf(fault) }, text);
}

/** Leaves of a sheet only what is not granted yet. The lines about walls follow from grants, and it has not all of them. */
function withoutGrants(asks: SetupSheet, given: readonly NewGrant[]): SetupSheet {
  const isLeft = (grant: NewGrant) => !given.some((one) => isSameGrant(one, grant));
  const rows = asks.rows.filter((row) => grantsFor(asks.id, [row]).some(isLeft));
  return { ...asks, rows, grants: asks.grants.filter(isLeft), programs: [], pointed: [] };
}

const shownGrants = 8;

/** Shows what a plugin asks for and the commands that grant it; empty where nothing is missing. */
function asksText(asks: SetupSheet, call: Invocation): string {
  const count = asks.grants.length;
  if (count === 0) return "";
  // A plugin for many programs: granting all of it is seldom what the operator wants.
  if (count > shownGrants) {
    return asTyped(`\nIt asks for ${count} things that it may not yet: bulkhead plugin explain ${asks.id}`);
  }
  const command = `  ${safeLine(asTyped(grantsCommand(asks.id, asks.grants)))}`;
  const [, ...lines] = sheetOf(asks, call);
  return `\n\n${["It may not yet:", ...lines, "To grant that:", command].join("\n")}`;
}

function sheetOf(asks: SetupSheet, { terminal }: Invocation): string[] {
  const paint = createPaint(terminal.colours.stdout);
  return sheetLines(asks, { program: null }, { paint, columns: drawingColumns(terminal) });
}
