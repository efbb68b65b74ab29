import { broadPlaces } from "../permissions/broad-permissions.ts";
import type { ExplainedPermission, OpenGrants, ProgramWalls } from "../../../plugin-sdk/plugin-report.ts";
import type { Plugin } from "../manifest/plugin.ts";
import { openGrants } from "../permissions/open-grants.ts";
import { programWalls } from "../permissions/program-walls.ts";
import type { Registry } from "./registry.ts";
import { shownPermissions } from "../permissions/shown-permissions.ts";

/** A plugin's permissions with the decision about each, and the walls around its programs. */
interface Explanation {
  readonly permissions: readonly ExplainedPermission[];
  readonly programs: readonly ProgramWalls[];
}

/** Explains every manifest with its grants once, and keeps the answer while a plugin of the host has both. */
export class Explanations {
  readonly #registry: Pick<Registry, "list">;
  readonly #manifestFile: string | undefined;
  readonly #kept = new Map<string, Explanation>();
  readonly #grants = new WeakMap<Explanation, readonly OpenGrants[]>();

  /** @param manifestFile path of the host manifest */
  constructor(registry: Pick<Registry, "list">, { manifestFile }: { manifestFile: string | undefined }) {
    this.#registry = registry;
    this.#manifestFile = manifestFile;
  }

  of(plugin: Plugin): Explanation {
    const key = keyOf(plugin);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    this.#dropReplaced();
    const made = {
      permissions: shownPermissions(plugin, broadPlaces(this.#manifestFile)),
      programs: programWalls(plugin),
    };
    this.#kept.set(key, made);
    return made;
  }

  /** Returns the grants that are open; they take longer than the rest, so they wait until they are asked for. */
  openGrantsOf(plugin: Plugin): readonly OpenGrants[] {
    const explained = this.of(plugin);
    const rows = explained.permissions;
    const known = this.#grants.get(explained) ??
      openGrants(plugin, { rows, places: broadPlaces(this.#manifestFile) });
    this.#grants.set(explained, known);
    return known;
  }

  /** Holds as many explanations as the host has plugins, however often it reloads. */
  #dropReplaced(): void {
    const inUse = new Set(this.#registry.list().map(keyOf));
    for (const key of this.#kept.keys()) if (!inUse.has(key)) this.#kept.delete(key);
  }
}

/** All of a plugin that its explanation tells. */
function keyOf({ manifest, grant, deny, hidden_texts, os_walls, settings_of }: Plugin): string {
  return JSON.stringify([manifest, grant, deny, hidden_texts, os_walls, settings_of]);
}
