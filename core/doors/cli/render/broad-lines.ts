import type { BroadPermission } from "../../../packages/registry/explain-permissions.ts";
import { safeLine } from "./agent-text.ts";
import { weighedLines } from "./permission-words.ts";
import type { WallLineOptions } from "./wall-lines.ts";

/** Lists the permissions that allow more than they seem to; no lines when there are none. */
export function broadLines(permissions: readonly BroadPermission[], options: WallLineOptions): string[] {
  const lines = permissions.flatMap(({ permission, target, breadth, broad_because }) => {
    if (breadth === "bounded") return [];
    const reasons = broad_because === undefined ? [] : [broad_because];
    return weighedLines(safeLine(`${permission} ${target}`), { ...options, breadth, reasons });
  });
  return lines.length === 0 ? [] : ["", "Look twice at:", ...lines];
}
