import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { effectivePermissions } from "../../packages/permissions/effective-permissions.ts";
import { type PermissionLists, type Rights, rightsOf } from "../../packages/permissions/decide.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import { hasHidden } from "../../packages/permissions/shown-permissions.ts";
import { requestedPermissions } from "../../packages/permissions/requested-permissions.ts";

/** Permissions in one working directory. */
interface PermissionsThere {
  /** Decides each call. */
  rights: Rights;
  /** Permissions that are allowed as a whole. */
  effective: Permissions;
  /** The same if a person grants all that the manifest asks for. */
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

  /** A row with an argument that must not be shown goes by its program: what a denial names is kept and printed. */
  #rightsOf(lists: PermissionLists): Rights {
    const { hidden_texts = [] } = this.#plugin;
    const rights = rightsOf(lists);
    const rowOf: Rights["rowOf"] = (call) => {
      const row = rights.rowOf(call);
      return hasHidden(row, hidden_texts) ? call.binary : row;
    };
    return { ...rights, rowOf };
  }

  /** Returns the permissions in a working directory, as far as a session narrows them. */
  in(workdir: string, narrowed?: Permissions): PermissionsThere {
    if (this.#last?.workdir === workdir && narrowed === undefined) return this.#last;
    const { grant, manifest, deny, folder } = this.#plugin;
    const requested = requestedPermissions(manifest);
    const lists = { requested, grant, deny, request: narrowed };
    const places = { workdir, plugin: folder, data: this.#dataDir };
    const shared = (granted: Permissions) =>
      freezeAll(structuredClone(effectivePermissions({ ...lists, grant: granted, places })));
    const found = { workdir, rights: this.#rightsOf(lists), effective: shared(grant), ceiling: shared(requested) };
    if (narrowed === undefined) this.#last = found;
    return found;
  }
}

/** Freezes a value that several sessions share, so that none changes it for the others. */
function freezeAll<T extends object>(value: T): T {
  for (const held of Object.values(value)) if (typeof held === "object" && held !== null) freezeAll(held);
  return Object.freeze(value);
}
