import { changeManifest } from "../../../packages/install/manifest-transaction.ts";
import { blockedError } from "../../../packages/registry/blocked-plugins.ts";
import { setEnabled } from "../../../packages/registry/edit-plugin-entry.ts";
import type { Invocation } from "../command.ts";
import { manifestToChange } from "../installing.ts";
import { openHost } from "../open-host.ts";
import { pluginOf } from "./plugin-explain.ts";

/** `bulkhead plugin enable <id>`. */
export async function pluginEnable(call: Invocation): Promise<number> {
  await using opened = await openHost(call);
  const { id, blocked } = pluginOf(opened.host, call.args[0] ?? "");
  if (blocked !== undefined) throw blockedError(id, blocked);
  return await change(call, true);
}

/** `bulkhead plugin disable <id>`. One that cannot be loaded can be disabled as well. */
export async function pluginDisable(call: Invocation): Promise<number> {
  return await change(call, false);
}

async function change(call: Invocation, enabled: boolean): Promise<number> {
  const { file } = await manifestToChange(call);
  const id = call.args[0] ?? "";
  const changed = await changeManifest(file, async ({ text, writeText }) => {
    const after = setEnabled(text, { pluginId: id, enabled, file });
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
