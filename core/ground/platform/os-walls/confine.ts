import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import {
  type Command,
  type Confinement,
  type OsWallName,
  osWallNames,
  type OsWallUses,
  type ProbedWall,
  type WrappedCommand,
} from "./os-wall.ts";
import { probeOsWalls } from "./probe.ts";

/** A command behind every wall that is there and wanted. */
export interface ConfinedCommand extends Required<WrappedCommand> {
  /** The walls around it, outermost first. */
  walls: OsWallName[];
}

/**
 * Puts the operating system's walls around a command.
 * @throws {BulkheadError} `unavailable` when one that is required is missing
 */
export async function confine(
  command: Command,
  confinement: Confinement,
  { uses, found }: { uses: OsWallUses; found?: ReadonlyMap<OsWallName, ProbedWall> },
): Promise<ConfinedCommand> {
  const known = found ?? await probeOsWalls();
  demandRequired(uses, known);
  const walls: OsWallName[] = [];
  const releases: (() => Promise<void>)[] = [];
  const release = async () => {
    for (const one of releases.splice(0)) await one();
  };
  let wrapped = command;
  // The innermost goes on first.
  for (const name of [...osWallNames].reverse()) {
    const wall = known.get(name);
    if (uses[name] === "off" || !wall?.active) continue;
    try {
      const more = await wall.wrap(wrapped, confinement);
      wrapped = more.command;
      walls.unshift(name);
      if (more.release) releases.push(more.release);
    } catch (cause) {
      if (uses[name] === "optional") continue;
      await release();
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new BulkheadError("unavailable", `Cannot put the required wall "${name}" around a plugin: ${why}.`, {
        cause,
      });
    }
  }
  return { command: wrapped, walls, release };
}

/**
 * Refuses when a required wall is missing on this machine.
 * @throws {BulkheadError} `unavailable`, with what helps as its hint
 */
export function demandRequired(uses: OsWallUses, found: ReadonlyMap<OsWallName, ProbedWall>): void {
  for (const name of osWallNames) {
    const wall = found.get(name);
    if (uses[name] !== "required" || wall?.active) continue;
    const reason = wall?.reason ?? "Nothing is known of it.";
    throw new BulkheadError(
      "unavailable",
      `The host manifest requires the wall "${name}", which is missing here: ${reason}`,
      {
        hint: `${wall?.remedy ?? ""}\nOr set os_walls.${name} to optional in bulkhead.yaml.`.trimStart(),
        details: { os_wall: name, reason },
      },
    );
  }
}
