import type { BroadPermission } from "../../../packages/registry/explain-permissions.ts";
import { safeLine } from "./agent-text.ts";
import type { Paint } from "./paint.ts";

/** Lists the permissions that allow more than they seem to; no lines when there are none. */
export function broadLines(permissions: readonly BroadPermission[], paint: Paint): string[] {
  const lines = permissions.flatMap(({ permission, target, breadth, broad_because }) => {
    if (breadth === "bounded") return [];
    const mark = breadth === "everything"
      ? paint("red", "amounts to everything")
      : paint("yellow", "more than it seems");
    return [`  ! ${safeLine(`${permission} ${target}`)}: ${mark}. ${paint("dim", safeLine(broad_because ?? ""))}`];
  });
  return lines.length === 0 ? [] : ["", "Look twice at:", ...lines];
}
