import { optionChoices } from "../../../packages/registry/option-choices.ts";
import { readLock } from "../../../packages/registry/plugin-lock.ts";
import { readManifest } from "../../../packages/registry/read-manifest.ts";
import type { Invocation } from "../command.ts";
import { openPlugins } from "../open-plugins.ts";
import { safeLine } from "../render/agent-text.ts";
import { originLines } from "../render/install-lines.ts";
import { createPaint } from "../render/paint.ts";
import { askedLines, choiceLines } from "../render/permission-words.ts";
import { waitingLines } from "../render/waiting-lines.ts";

/** `bulkhead plugin info <id>`. */
export async function pluginInfo(call: Invocation): Promise<number> {
  await using opened = await openPlugins(call);
  const plugin = await opened.facts.explain(call.args[0] ?? "");
  const {
    id,
    instance_of: base,
    manifest,
    folder,
    origin,
    enabled,
    blocked,
    permissions: rows,
    waiting_update: waiting,
  } = plugin;
  const file = opened.manifest?.file;
  const lock = file === undefined ? null : (await readLock(file)).plugins;
  const locked = lock !== null && Object.hasOwn(lock, manifest.id) ? lock[manifest.id]! : null;
  // Read the manifest as written: the loaded one has the plugin's options filled in.
  const written = origin === "inline" ? manifest : await readManifest(folder);
  const choices = optionChoices(written, { id, hostManifest: opened.manifest });
  const { terminal } = call;
  if (call.json) {
    const permissions = rows.map(({ permission, target, granted, breadth }) => ({
      permission,
      target,
      granted,
      breadth,
    }));
    await terminal.stdout.write(
      `${
        JSON.stringify({
          id,
          instance_of: base,
          manifest: written,
          folder,
          origin,
          enabled,
          blocked,
          locked,
          permissions,
          waiting_update: waiting,
        })
      }\n`,
    );
    return 0;
  }
  const paint = createPaint(terminal.colours.stdout);
  const { name, version, description, license } = manifest;
  const state = blocked !== null ? "blocked" : enabled ? "enabled" : "disabled";
  await terminal.stdout.write(`${
    [
      `${paint("bold", id)} ${safeLine(version)} · ${state} · ${JSON.stringify(safeLine(name))}`,
      paint("dim", `  ${JSON.stringify(safeLine(description))}`),
      ...(base === null ? [] : [`  of      ${safeLine(base)}, as an instance`]),
      `  licence ${safeLine(license)}`,
      `  folder  ${safeLine(folder)} (${origin})`,
      ...(blocked === null ? [] : [`  ${safeLine(blocked)}`]),
      ...(locked === null ? [] : originLines(locked)),
      ...(rows.length === 0 ? ["It asks for nothing."] : ["It asks to", ...askedLines(rows, paint)]),
      ...choiceLines(id, choices),
      ...(waiting === null ? [] : ["", ...waitingLines(id, waiting), ...askedLines(plugin.waiting_permissions, paint)]),
    ].join("\n")
  }\n`);
  return 0;
}
