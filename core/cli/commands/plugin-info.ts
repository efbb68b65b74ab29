import { broadPlaces } from "../../registry/broad-permissions.ts";
import { explainPermissions } from "../../registry/explain-permissions.ts";
import { readLock } from "../../registry/plugin-lock.ts";
import { requestedPermissions } from "../../registry/requested-permissions.ts";
import type { Invocation } from "../command.ts";
import { openHost } from "../open-host.ts";
import { safeLine } from "../render/agent-text.ts";
import { originLines } from "../render/install-lines.ts";
import { createPaint } from "../render/paint.ts";
import { askedLines } from "../render/permission-words.ts";
import { pluginOf } from "./plugin-explain.ts";

/** `bulkhead plugin info <id>`. */
export async function pluginInfo(call: Invocation): Promise<number> {
  await using opened = await openHost(call);
  const plugin = pluginOf(opened.host, call.args[0] ?? "");
  const { id, manifest, folder, origin, enabled } = plugin;
  const file = opened.manifest?.file;
  const lock = file === undefined ? null : (await readLock(file)).plugins;
  const locked = lock !== null && Object.hasOwn(lock, id) ? lock[id]! : null;
  const rows = explainPermissions(
    { requested: requestedPermissions(manifest), grant: plugin.grant, deny: plugin.deny },
    broadPlaces(file),
  );
  const { terminal } = call;
  if (call.json) {
    const permissions = rows.map(({ permission, target, granted, breadth }) => ({
      permission,
      target,
      granted,
      breadth,
    }));
    await terminal.stdout.write(`${JSON.stringify({ id, manifest, folder, origin, enabled, locked, permissions })}\n`);
    return 0;
  }
  const paint = createPaint(terminal.colours.stdout);
  const { name, version, description, license } = manifest;
  await terminal.stdout.write(`${
    [
      `${paint("bold", id)} ${safeLine(version)} · ${enabled ? "enabled" : "disabled"} · ${
        JSON.stringify(safeLine(name))
      }`,
      paint("dim", `  ${JSON.stringify(safeLine(description))}`),
      `  licence ${safeLine(license)}`,
      `  folder  ${safeLine(folder)} (${origin})`,
      ...(locked === null ? [] : originLines(locked)),
      ...(rows.length === 0 ? ["It asks for nothing."] : ["It asks to", ...askedLines(rows, paint)]),
    ].join("\n")
  }\n`);
  return 0;
}
