import { changeManifest } from "../../../packages/install/manifest-transaction.ts";
import { removeGrant } from "../../../packages/registry/edit-plugin-entry.ts";
import type { Invocation } from "../command.ts";
import { manifestToChange } from "../installing.ts";
import { parseGrant } from "../parse-grant.ts";

/** `bulkhead plugin revoke <id> <permission:target>`. */
export async function pluginRevoke(call: Invocation): Promise<number> {
  const { file } = await manifestToChange(call);
  const [pluginId = "", typed = ""] = call.args;
  const { permission, target } = parseGrant(typed);
  const changed = await changeManifest(file, async ({ text, writeText }) => {
    const after = removeGrant(text, { pluginId, permission, target }, { file });
    if (after !== text) await writeText(after);
    return after !== text;
  });
  const { terminal, json } = call;
  const words = changed ? "Revoked" : "Nothing to revoke";
  await terminal.stdout.write(
    json
      ? `${JSON.stringify({ plugin_id: pluginId, permission, target, file, changed })}\n`
      : `${words}: ${pluginId} may not ${permission} ${target} (${file}).\n`,
  );
  return 0;
}
