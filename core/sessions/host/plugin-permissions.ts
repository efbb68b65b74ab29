import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { effectivePermissions } from "../../packages/permissions/effective-permissions.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import { requestedPermissions } from "../../packages/permissions/requested-permissions.ts";

/** Permissions in one working directory. */
export interface PermissionsThere {
  effective: Permissions;
  /** The most that a grant given during a session could allow. */
  ceiling: Permissions;
}

/** One plugin's permissions. Keeps those in the last working directory, for sessions that do not narrow them. */
export class PluginPermissions {
  readonly #plugin: Plugin;
  readonly #dataDir: string;
  #last: (PermissionsThere & { workdir: string }) | null = null;

  constructor(plugin: Plugin, { dataDir }: { dataDir: string }) {
    this.#plugin = plugin;
    this.#dataDir = dataDir;
  }

  /** Returns the permissions in a working directory, as far as a session narrows them. */
  in(workdir: string, narrowed?: Permissions): PermissionsThere {
    if (this.#last?.workdir === workdir && narrowed === undefined) return this.#last;
    const { grant, manifest } = this.#plugin;
    const shared = (granted: Permissions) => freezeAll(structuredClone(this.#of(granted, { workdir, narrowed })));
    const found = { workdir, effective: shared(grant), ceiling: shared(requestedPermissions(manifest)) };
    if (narrowed === undefined) this.#last = found;
    return found;
  }

  #of(grant: Permissions, { workdir, narrowed }: { workdir: string; narrowed: Permissions | undefined }): Permissions {
    const { manifest, deny, folder } = this.#plugin;
    return effectivePermissions({
      requested: requestedPermissions(manifest),
      grant,
      deny,
      request: narrowed,
      places: { workdir, plugin: folder, data: this.#dataDir },
    });
  }
}

/** Freezes a value that several sessions share, so that none changes it for the others. */
function freezeAll<T extends object>(value: T): T {
  for (const held of Object.values(value)) if (typeof held === "object" && held !== null) freezeAll(held);
  return Object.freeze(value);
}
