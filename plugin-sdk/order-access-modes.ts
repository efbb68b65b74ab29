import type { AccessMode } from "./access-modes.ts";

const typeOrder: readonly AccessMode["type"][] = ["subscription", "api", "local"];

/** Enabled modes in the order in which they are tried. */
export function orderAccessModes(modes: readonly AccessMode[]): AccessMode[] {
  return modes.filter(({ enabled }) => enabled).sort(compareAccessModes);
}

/** Which of two modes is tried first, as for sorting; 0 where neither goes before. */
export function compareAccessModes(a: AccessMode, b: AccessMode): number {
  if (a.priority !== undefined || b.priority !== undefined) {
    return a.priority === b.priority ? 0 : (a.priority ?? Infinity) - (b.priority ?? Infinity);
  }
  return typeOrder.indexOf(a.type) - typeOrder.indexOf(b.type);
}
