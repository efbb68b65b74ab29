import type { Manifest } from "../../../../../plugin-sdk/manifest.ts";
import type { LockedPlugin } from "../../../../packages/manifest/lock-format.ts";
import { optionChoices } from "../../../../packages/manifest/option-choices.ts";
import { readLockEntries } from "../../../../packages/manifest/plugin-lock.ts";
import { readManifest } from "../../../../packages/manifest/read-manifest.ts";
import type { ExplainedPlugin } from "../../../../../plugin-sdk/plugin-report.ts";
import { type Invocation, tell } from "../../command.ts";
import { openPlugins } from "../../open-plugins.ts";
import { safeLine } from "../../render/agent-text.ts";
import { originLines, waitingLines } from "../../render/install-lines.ts";
import { createPaint, type Paint } from "../../render/paint.ts";
import { askedLines, choiceLines } from "../../render/permission-words.ts";
import { drawingColumns } from "../../show-session.ts";

/** `bulkhead plugin info <id>`. */
export async function pluginInfo(call: Invocation): Promise<number> {
  await using opened = await openPlugins(call);
  const plugin = await opened.facts.explain(call.args[0] ?? "");
  const { manifest, folder, origin } = plugin;
  const file = opened.manifest?.file;
  const lock = file === undefined ? null : (await readLockEntries(file)).plugins;
  const locked = lock !== null && Object.hasOwn(lock, manifest.id) ? lock[manifest.id]! : null;
  // Read the manifest as written: the loaded one has the plugin's options filled in.
  const written = origin === "inline" ? manifest : await readManifest(folder);
  const { terminal } = call;
  const choices = choiceLines(plugin.id, optionChoices(written, { id: plugin.id, hostManifest: opened.manifest }));
  const paint = createPaint(terminal.colours.stdout);
  const lines = infoLines(plugin, { locked, choices, paint, columns: drawingColumns(terminal) });
  return await tell(call, infoData(plugin, written, locked), lines.join("\n"));
}

function infoData(plugin: ExplainedPlugin, manifest: Manifest, locked: LockedPlugin | null): object {
  const { id, instance_of, folder, origin, enabled, blocked, permissions: rows, waiting_update } = plugin;
  const permissions = rows.map(({ permission, target, granted, breadth }) => ({
    permission,
    target,
    granted,
    breadth,
  }));
  return { id, instance_of, manifest, folder, origin, enabled, blocked, locked, permissions, waiting_update };
}

interface InfoOptions {
  locked: LockedPlugin | null;
  choices: readonly string[];
  paint: Paint;
  columns: number;
}

function infoLines(plugin: ExplainedPlugin, { locked, choices, paint, columns }: InfoOptions): string[] {
  const { id, instance_of: base, folder, origin, blocked, permissions, waiting_update: waiting } = plugin;
  const { name, version, description, license } = plugin.manifest;
  const state = blocked !== null ? "blocked" : plugin.enabled ? "enabled" : "disabled";
  return [
    `${paint("bold", id)} ${safeLine(version)} · ${state} · ${JSON.stringify(safeLine(name))}`,
    paint("dim", `  ${JSON.stringify(safeLine(description))}`),
    ...(base === null ? [] : [`  of      ${safeLine(base)}, as an instance`]),
    `  licence ${safeLine(license)}`,
    `  folder  ${safeLine(folder)} (${origin})`,
    ...(blocked === null ? [] : [`  ${safeLine(blocked)}`]),
    ...(locked === null ? [] : originLines(locked)),
    ...(permissions.length === 0
      ? ["It asks for nothing."]
      : ["It asks to", ...askedLines(permissions, { paint, columns })]),
    ...choices,
    ...(waiting === null
      ? []
      : ["", ...waitingLines(id, waiting), ...askedLines(plugin.waiting_permissions, { paint, columns })]),
  ];
}
