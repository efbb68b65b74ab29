import { forgetPlugin, removePlugin } from "../../../packages/install/remove-plugin.ts";
import type { Invocation } from "../command.ts";
import { manifestToChange, stateFolder } from "../installing.ts";

/** `bulkhead plugin remove <id>`. */
export async function pluginRemove(call: Invocation): Promise<number> {
  const manifest = await manifestToChange(call);
  const id = call.args[0] ?? "";
  await removePlugin(manifest.file, id);
  await forgetPlugin(stateFolder(call, manifest), id);
  const { terminal, json } = call;
  await terminal.stdout.write(
    json
      ? `${JSON.stringify({ plugin_id: id, removed: true, file: manifest.file })}\n`
      : `Removed: ${id}, its grants, and what it had stored.\n`,
  );
  return 0;
}
