import type { BroadPermission } from "../../../packages/registry/explain-permissions.ts";
import { safeLine } from "./agent-text.ts";
import type { Paint } from "./paint.ts";

/** Lines that name the permissions which amount to more than they seem; none when there are none. */
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
