import type { Invocation } from "../command.ts";
import { openHost } from "../open-host.ts";
import { pluginOf } from "../../../packages/registry/unknown-plugin.ts";

/** `bulkhead plugin release <id>`. */
export async function pluginRelease(call: Invocation): Promise<number> {
  await using opened = await openHost(call);
  const { terminal, json, args } = call;
  const id = args[0] ?? "";
  const released = await opened.host.release(id);
  // A record may outlive its plugin; a name that is neither is a typing error.
  if (!released) pluginOf(opened.host.registry, id);
  await terminal.stdout.write(
    json
      ? `${JSON.stringify({ plugin_id: id, released })}\n`
      : released
      ? `Released: ${id} may run again.\n`
      : `Nothing to release: ${id} has no crashes on record.\n`,
  );
  return 0;
}
