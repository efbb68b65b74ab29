import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { addGrant, type Grantable, grantable } from "../../registry/edit-host-manifest.ts";
import { readFile, writeFile } from "../../runtime/files.ts";
import type { Invocation } from "../command.ts";
import { manifestFile } from "../open-host.ts";

/** `bulkhead plugin grant <id> <permission:target>`. */
export async function pluginGrant(call: Invocation): Promise<number> {
  const { terminal, json, args } = call;
  const [pluginId = "", typed = ""] = args;
  const { permission, target } = parseGrant(typed);
  const file = await manifestFile(call);
  if (file === undefined) {
    throw new BulkheadError("not_found", "There is no bulkhead.yaml here or above to write the grant to.", {
      hint: 'Write one with "bulkhead init".',
    });
  }
  const before = await readManifest(file);
  const after = addGrant(before, { pluginId, permission, target }, { file });
  if (after !== before) await writeFile(file, after);
  await terminal.stdout.write(
    json
      ? `${JSON.stringify({ plugin_id: pluginId, permission, target, file, changed: after !== before })}\n`
      : `${after === before ? "Granted already" : "Granted"}: ${pluginId} may ${permission} ${target} (${file}).\n`,
  );
  return 0;
}

/**
 * A grant as it is typed: `permission:target`, or `kv` alone.
 * @throws {BulkheadError} `invalid_config`
 */
export function parseGrant(typed: string): { permission: Grantable; target: string } {
  const split = typed.indexOf(":");
  const word = split === -1 ? typed : typed.slice(0, split);
  const target = split === -1 ? "" : typed.slice(split + 1);
  const permission = grantable.find((known) => known === word);
  if (permission === undefined || (permission !== "kv" && target === "")) {
    throw new BulkheadError("invalid_config", `"${typed}" is not a permission and its target.`, {
      hint: `Write permission:target, such as run:git or read:workdir. Permissions: ${grantable.join(", ")}.`,
    });
  }
  return { permission, target: permission === "kv" ? "kv" : target };
}

async function readManifest(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new BulkheadError("not_found", `Cannot read ${file}: it is missing or not a readable file.`, { cause });
  }
}
