import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";

/** Place of an item that may name an option of the manifest, as `{config.command}` does. */
export type ItemPlace =
  | "run.binary"
  | "run.args"
  | "run.env"
  | "net"
  | "env"
  | "secrets.name"
  | "secrets.env"
  | "secrets.hosts"
  | "mcp_servers";

/**
 * Replaces each item that may name an option by what `replace` returns: itself, others, or none. An entry of `run` or
 * `secrets` comes once for each of its new names.
 */
export function replaceItems(
  permissions: Permissions,
  replace: (item: string, place: ItemPlace) => readonly string[],
): Permissions {
  const { run, net, env, secrets, mcp_servers } = permissions;
  const each = (items: readonly string[] | undefined, place: ItemPlace) =>
    items?.flatMap((item) => replace(item, place));
  return {
    ...permissions,
    ...omitUndefined({
      run: run?.flatMap((entry) => {
        const lists = omitUndefined({ args: each(entry.args, "run.args"), env: each(entry.env, "run.env") });
        return replace(entry.binary, "run.binary").map((binary) => ({ ...entry, ...lists, binary }));
      }),
      net: each(net, "net"),
      env: each(env, "env"),
      secrets: secrets?.flatMap((entry) => {
        const lists = omitUndefined({ env: each(entry.env, "secrets.env"), hosts: each(entry.hosts, "secrets.hosts") });
        return replace(entry.name, "secrets.name").map((name) => ({ ...entry, ...lists, name }));
      }),
      mcp_servers: each(mcp_servers, "mcp_servers"),
    }),
  };
}
