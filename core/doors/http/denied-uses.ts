import { readGrantCommand } from "../../ground/config/grant-command.ts";
import type { PastUse } from "../../packages/permissions/try-grant.ts";
import type { PermissionUse } from "../../records/history/history-queries.ts";
import type { DenialStanding, PluginFacts } from "./plugin-facts.ts";

/** Reads a use in the history as a grant is tried on it. A denial has its target in the words of a grant as well. */
export function pastUse({ session_id, event }: PermissionUse, workdirs?: ReadonlyMap<string, string>): PastUse {
  const { permission, target, grant_command } = event;
  const [kind, ...word] = readGrantCommand(grant_command ?? "")?.word.split(":") ?? [];
  const inWords = kind === permission && word.length > 0 ? { word: word.join(":") } : {};
  return { permission, target, ...inWords, workdir: workdirs?.get(session_id) };
}

/** Tells how denied uses stand now, like ones once. */
export class Standings {
  readonly #plugins: Pick<PluginFacts, "standing">;
  readonly #known = new Map<string, DenialStanding>();

  constructor(plugins: Pick<PluginFacts, "standing">) {
    this.#plugins = plugins;
  }

  of(denied: PermissionUse): DenialStanding {
    const use = pastUse(denied);
    const key = JSON.stringify([denied.adapter_id, use.permission, use.target, use.word]);
    const standing = this.#known.get(key) ?? this.#plugins.standing(denied.adapter_id, use);
    this.#known.set(key, standing);
    return standing;
  }
}
